package agent

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
)

// output is what an agent sends, as messages. A line that is too long to be one is dropped and
// reported. If it is an answer, its request fails.
type output struct {
	io.ReadCloser
	frames  wire.Framer
	dropped func(why error) // is called by who reads
}

// Next implements wire.Framer.
func (o *output) Next() ([]byte, error) {
	line, err := o.frames.Next()
	fault, ok := errors.AsType[*wire.FrameError](err)
	if !ok || fault.Head == nil {
		return line, err
	}
	o.dropped(fault)
	if m := answerHead().FindSubmatch(fault.Head); m != nil {
		return wire.AppendAnswer(nil, json.RawMessage(m[1]), nil, jrpc2.Errorf(jrpc2.InternalError, "the answer was dropped: %v", fault)), nil
	}
	return nil, err
}

// answerHead matches the beginning of an answer to a request of ours, whose ids are numbers.
var answerHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]+)\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"`)
})

// dropped tells the users of the program's sessions of a message that was dropped.
func (p *peer) dropped(why error) {
	told := map[*conversation]bool{}
	p.mu.Lock()
	for _, r := range p.talks {
		told[r.c] = true
	}
	p.mu.Unlock()
	for c := range told {
		c.notice(core.Warning, "a message of it was dropped: "+why.Error())
	}
}

const (
	// maxBeginning limits the part of a program's output that is kept, in bytes.
	maxBeginning = 1 << 10
	// maxStray limits the quoted part of it, in characters.
	maxStray = 200
)

// beginning keeps the first bytes of what a program prints.
type beginning struct {
	io.Reader

	mu   sync.Mutex // guards the fields below
	text []byte
}

// Read implements io.Reader.
func (b *beginning) Read(to []byte) (int, error) {
	n, err := b.Reader.Read(to)
	b.mu.Lock()
	b.text = append(b.text, to[:min(n, maxBeginning-len(b.text))]...)
	b.mu.Unlock()
	return n, err
}

// stray returns the first line of a program that prints something else than messages, without what
// hide removes, for the error of a failed start. A program that asks at a prompt may not have ended the
// line. "": it has printed nothing, or a message.
func (b *beginning) stray(hide func(string) string) string {
	b.mu.Lock()
	text := strings.TrimLeft(string(b.text), "\r\n\t ")
	b.mu.Unlock()
	line, _, whole := strings.Cut(text, "\n")
	if strings.HasPrefix(line, "{") && !whole { // it may still become a message
		return ""
	}
	if m, err := wire.Parse([]byte(line)); err == nil && (m.Method != "" || m.Kind() == wire.Response) {
		return ""
	}
	if hide != nil {
		line = hide(line)
	}
	return display.Line(strings.ToValidUTF8(line, ""), maxStray)
}
