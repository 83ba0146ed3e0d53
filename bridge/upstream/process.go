package upstream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"dragoman/core/child"
	"dragoman/core/display"
)

const (
	// politeFor is the time that a child may take to end: half of it after its input has ended,
	// the rest after a request to end.
	politeFor = 2 * time.Second
	// tailSize limits the stored part of a child's standard error.
	tailSize = 16 << 10
	// maxWhy limits the part of that in a reason, in bytes.
	maxWhy = 500
)

// command is a program to start. Env is the whole environment.
type command struct {
	path string // a path, or a name to look up in PATH of env
	args []string
	env  []string
	dir  string              // "": the current folder
	line func(string)        // receives each line of standard error; nil: none does
	hide func(string) string // removes secrets from the description of its end; nil: removes nothing

	guard *child.Guard
}

// process is a child with one owner, who calls close. Its group ends with it, even if we are
// killed.
type process struct {
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *tail

	group *child.Group
	how   child.Ending  // set before done is closed
	done  chan struct{} // closed when the child has ended, and its group with it
	said  chan struct{} // closed when its standard error has ended

	stderrEnd io.Closer
	owned     sync.WaitGroup
	once      sync.Once
}

// start starts a program. close must follow.
func (c command) start() (*process, error) {
	path, err := c.find()
	if err != nil {
		return nil, err
	}
	var ends [6]*os.File // stdin, stdout, stderr: the reading and the writing end of each
	for i := 0; i < len(ends); i += 2 {
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			closeAll(ends[:])
			return nil, fmt.Errorf("start %s: %v", c.path, err)
		}
	}
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{c.path}, c.args...), Env: c.env, Dir: c.dir,
		Stdin: ends[0], Stdout: ends[3], Stderr: ends[5],
	}
	group, err := c.guard.Start(cmd)
	closeAll([]*os.File{ends[0], ends[3], ends[5]})
	if err != nil {
		closeAll([]*os.File{ends[1], ends[2], ends[4]})
		return nil, fmt.Errorf("start %s: %v", c.path, err)
	}
	p := &process{
		group: group, stdin: ends[1], stdout: ends[2], stderr: &tail{line: c.line, hide: c.hide},
		stderrEnd: ends[4], done: make(chan struct{}), said: make(chan struct{}),
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

// find looks the program up in the PATH that it will have itself.
func (c command) find() (string, error) {
	if c.path == "" {
		return "", errors.New("no program is named")
	}
	if strings.ContainsRune(c.path, filepath.Separator) || strings.ContainsRune(c.path, '/') {
		path := c.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.dir, path)
		}
		path, err := exec.LookPath(path)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return "", fmt.Errorf("start %s: %v", c.path, errors.Unwrap(err))
		}
		return filepath.Abs(path)
	}
	for _, dir := range filepath.SplitList(lookup(c.env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue // a folder relative to our own may be the workspace's
		}
		if path, err := exec.LookPath(filepath.Join(dir, c.path)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("start %s: there is no such program in PATH", c.path)
}

// wait waits for the child, and ends the rest of its group.
func (p *process) wait() {
	p.group.Await()
	p.how = p.group.Close()
	awaited(p.said, politeFor) // its last words; a process that left the group may hold the pipe
	close(p.done)
}

// close ends the child: it closes its input, waits, asks it to end, waits, and ends it. It blocks
// until the child, its group and all of our goroutines for them have ended, at most a little
// longer than 2*politeFor. Any goroutine may call it, more than once.
func (p *process) close() {
	p.once.Do(func() {
		p.stdin.Close()
		if !awaited(p.done, politeFor/2) {
			p.group.Terminate()
			if !awaited(p.done, politeFor/2) {
				p.group.Kill()
			}
		}
		<-p.done
		p.stdout.Close()
		p.stderrEnd.Close() // a process that left the group may hold the other end for ever
	})
	p.owned.Wait()
}

func awaited(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// why describes the end of the child, with its last error output. It is called after done.
func (p *process) why() string {
	var s strings.Builder
	if p.how.Signal != "" {
		fmt.Fprintf(&s, "the program was ended by signal: %s", p.how.Signal)
	} else {
		fmt.Fprintf(&s, "the program ended with exit code %d", p.how.Code)
	}
	if last := p.stderr.last(3); last != "" {
		s.WriteString("; it said: " + last)
	}
	return s.String()
}

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
