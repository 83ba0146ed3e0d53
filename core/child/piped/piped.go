package piped

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"dragoman/core/child"
	"dragoman/core/display"
)

const (
	// tailSize limits the stored part of a program's standard error.
	tailSize = 16 << 10
	// maxWhy limits the part of that in a reason, in bytes.
	maxWhy = 500
	// lastWords is the time for the end of standard error to arrive after the program's group
	// has ended; a process that left the group may hold the pipe.
	lastWords = 2 * time.Second
)

// Command is a program to start. Env is the whole environment (see [Env]).
type Command struct {
	Path string // a path, or a name to look up in PATH of Env
	Args []string
	Env  []string
	Dir  string              // "": the current folder
	Line func(string)        // receives each line of standard error, from one goroutine; nil: none does
	Hide func(string) string // removes secrets from the description of its end; nil: removes nothing

	Guard *child.Guard
}

// Process is a running program with one owner, who calls Close. Its group ends with it, even if we
// are killed.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	Done   <-chan struct{} // closed when the program has ended, and its group with it

	stderr *tail
	group  *child.Group
	how    child.Ending  // set before done is closed
	done   chan struct{} // Done
	said   chan struct{} // closed when its standard error has ended

	stderrEnd io.Closer
	owned     sync.WaitGroup
	once      sync.Once
}

// Start starts the program. Close must follow.
func (c Command) Start() (*Process, error) {
	path, err := child.Find(c.Path, c.Env, c.Dir)
	if err != nil {
		return nil, fmt.Errorf("start %w", err)
	}
	var ends [6]*os.File // stdin, stdout, stderr: the reading and the writing end of each
	for i := 0; i < len(ends); i += 2 {
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			closeAll(ends[:])
			return nil, fmt.Errorf("start %s: %v", c.Path, err)
		}
	}
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{c.Path}, c.Args...), Env: c.Env, Dir: c.Dir,
		Stdin: ends[0], Stdout: ends[3], Stderr: ends[5],
	}
	group, err := c.Guard.Start(cmd)
	closeAll([]*os.File{ends[0], ends[3], ends[5]})
	if err != nil {
		closeAll([]*os.File{ends[1], ends[2], ends[4]})
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	done := make(chan struct{})
	p := &Process{
		Stdin: ends[1], Stdout: ends[2], Done: done,
		stderr: &tail{line: c.Line, hide: c.Hide}, group: group, done: done, said: make(chan struct{}),
		stderrEnd: ends[4],
	}
	p.owned.Go(p.wait)
	p.owned.Go(func() {
		_, _ = io.Copy(p.stderr, ends[4])
		close(p.said)
	})
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// wait waits for the program, and ends the rest of its group.
func (p *Process) wait() {
	p.group.Await()
	p.how = p.group.Close()
	Within(lastWords, p.said)
	close(p.done)
}

// Close ends the program. It closes the input and gives the program the time alone to end by
// itself, asks the group to end and gives it the time asked, and kills what is left. It blocks
// until the program, its group and all of our goroutines for them have ended, at most a little
// longer than both times and the 2 seconds for standard error. Any goroutine may call it, more
// than once; the times of the first call hold.
func (p *Process) Close(alone, asked time.Duration) {
	p.once.Do(func() {
		p.Stdin.Close()
		if !Within(alone, p.done) {
			p.group.Terminate()
			if !Within(asked, p.done) {
				p.group.Kill()
			}
		}
		<-p.done
		p.Stdout.Close()
		p.stderrEnd.Close() // a process that left the group may hold the other end for ever
	})
	p.owned.Wait()
}

// Within waits until done is closed, at most for d, and reports whether it was closed.
func Within(d time.Duration, done <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// Ending returns how the program ended. It is called after Done.
func (p *Process) Ending() child.Ending { return p.how }

// Why describes the end of the program, with its last error output. It is called after Done.
func (p *Process) Why() string {
	var s strings.Builder
	if p.how.Signal != "" {
		fmt.Fprintf(&s, "the program was ended by signal: %s", p.how.Signal)
	} else {
		fmt.Fprintf(&s, "the program ended with exit code %d", p.how.Code)
	}
	if last := p.Last(3); last != "" {
		s.WriteString("; it said: " + last)
	}
	return s.String()
}

// Last returns the last n lines of standard error that are not empty, as one line of at most 500
// bytes, without what Hide removes. It may be called at any time.
func (p *Process) Last(n int) string { return p.stderr.last(n) }

// tail keeps the end of the output written to it, and passes on whole lines.
type tail struct {
	line func(string)
	hide func(string) string

	mu   sync.Mutex // guards the fields below
	text []byte
	rest []byte // an unfinished line; only for the writer
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	t.mu.Unlock()
	if t.line != nil {
		t.lines(b)
	}
	return len(b), nil
}

// lines passes on whole lines; a line longer than tailSize bytes in pieces.
func (t *tail) lines(b []byte) {
	for _, c := range b {
		if c != '\n' && len(t.rest) < tailSize {
			t.rest = append(t.rest, c)
			continue
		}
		if s := strings.TrimRight(strings.ToValidUTF8(string(t.rest), "\uFFFD"), " \t\r"); s != "" {
			t.line(s)
		}
		t.rest = t.rest[:0]
		if c != '\n' {
			t.rest = append(t.rest, c)
		}
	}
}

// last returns the last n lines that are not empty, as one line of at most maxWhy bytes.
func (t *tail) last(n int) string {
	t.mu.Lock()
	text := strings.ToValidUTF8(string(t.text), "\uFFFD")
	t.mu.Unlock()
	if t.hide != nil {
		text = t.hide(text)
	}
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	s := display.Plain(strings.Join(lines[max(0, len(lines)-n):], " | "))
	if len(s) > maxWhy {
		s = "…" + display.CutEnd(s, maxWhy)
	}
	return s
}
