package tools

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

const (
	headBytes, headLines = 10 << 10, 400  // shown from the beginning of a long output
	tailBytes, tailLines = 40 << 10, 1600 // and from its end; together maxBytes and maxLines
	maxSpill             = 64 << 20       // kept of the whole output, by default
)

// capture keeps the output of a command: all of it while it is short, else its
// beginning and its end, and the whole in a file. It is used by one goroutine at a
// time.
type capture struct {
	spills core.Spills // for the file; nil: no file is written
	most   int64       // maximum size of the file in bytes

	head  []byte // the whole output, until it is too long
	tail  []byte // the end, once head is cut
	bytes int64
	lines int // line ends seen
	long  bool
	file  io.WriteCloser
	ref   string // of the file
	kept  int64
	err   error // why the file is incomplete
}

func newCapture(spills core.Spills, most int64) *capture { return &capture{spills: spills, most: most} }

func (c *capture) write(text string) {
	c.bytes += int64(len(text))
	c.lines += strings.Count(text, "\n")
	if c.long {
		c.keep([]byte(text))
		c.tail = append(c.tail, text...)
		if len(c.tail) > 2*tailBytes {
			c.tail = append(c.tail[:0], c.tail[len(c.tail)-tailBytes:]...)
		}
		return
	}
	c.head = append(c.head, text...)
	if len(c.head) <= maxBytes && c.lines <= maxLines {
		return
	}
	c.long = true
	c.spill()
	c.keep(c.head)
	cut := firstLines(c.head, headLines, headBytes)
	c.tail = bytes.Clone(c.head[cut:])
	c.head = c.head[:cut]
}

// spill starts the file for the whole output.
func (c *capture) spill() {
	c.file, c.ref, c.err = newSpill(c.spills)
}

// newSpill makes a file for output.
func newSpill(spills core.Spills) (io.WriteCloser, string, error) {
	if spills == nil {
		return nil, "", errors.New("there is no place for it")
	}
	return spills.Spill("output-" + rand.Text() + ".txt")
}

// keep writes to the file, as long as there is room.
func (c *capture) keep(b []byte) {
	if c.file == nil || c.err != nil {
		return
	}
	if room := c.most - c.kept; int64(len(b)) > room {
		b = display.Cut(b, int(room))
		c.err = fmt.Errorf("it is larger than %d MB", c.most>>20)
	}
	n, err := c.file.Write(b)
	c.kept += int64(n)
	if err != nil {
		c.err = err
	}
}

// discard drops all output.
func (c *capture) discard() {
	if c.file != nil {
		_ = c.file.Close()
		_ = c.spills.Unspill(c.ref)
	}
}

// result returns the text for the model. An error explains why the whole output was
// not kept; the text is valid nevertheless.
func (c *capture) result() (string, error) {
	if !c.long {
		return strings.TrimSuffix(string(c.head), "\n"), nil
	}
	var b strings.Builder
	b.Write(c.head)
	tail := lastLines(c.tail, tailLines, tailBytes)
	out := c.bytes - int64(len(c.head)) - int64(len(tail))
	where := ""
	if c.file != nil {
		if err := c.file.Close(); c.err == nil {
			c.err = err
		}
		where = "; whole output: " + c.ref
		if c.err != nil {
			where = "; its beginning: " + c.ref
		}
		where += ", for read_file and grep"
	}
	if len(c.head) > 0 && c.head[len(c.head)-1] != '\n' {
		b.WriteByte('\n')
	}
	left := c.lines - bytes.Count(c.head, []byte{'\n'}) - bytes.Count(tail, []byte{'\n'})
	fmt.Fprintf(&b, "[… %d lines, %d bytes left out%s]\n", max(left, 0), out, where)
	b.Write(bytes.TrimSuffix(tail, []byte{'\n'}))
	return b.String(), c.err
}

// firstLines returns the length of the first lines of b: at most n lines and most
// bytes, whole lines where possible, else whole characters.
func firstLines(b []byte, n, most int) int {
	end := min(len(b), most)
	at := 0
	for range n {
		i := bytes.IndexByte(b[at:end], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	if at > 0 {
		return at
	}
	return len(display.Cut(b, end))
}

// lastLines returns the end of b within the same limits.
func lastLines(b []byte, n, most int) []byte {
	cut := len(b) > most
	b = display.CutEnd(b, most)
	at := len(bytes.TrimSuffix(b, []byte{'\n'}))
	for range n {
		i := bytes.LastIndexByte(b[:at], '\n')
		if i < 0 {
			at = -1
			break
		}
		at = i
	}
	if at >= 0 {
		return b[at+1:]
	}
	if !cut {
		return b
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i+1 < len(b) {
		return b[i+1:]
	}
	return b
}
