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
	// politeFor is how long a child may take to end after its input has ended, and
	// then again after it was asked to.
	politeFor = 2 * time.Second
	// tailSize is how much of a child's standard error is kept.
	tailSize = 16 << 10
	// maxWhy is how much of that a reason says, in bytes.
	maxWhy = 500
)

// command is a program to start. Env is the whole environment.
type command struct {
	path string // a path, or a name that is looked for in PATH of env
	args []string
	env  []string
	dir  string              // "": the current folder
	line func(string)        // is told each line of standard error; nil: nobody is
	hide func(string) string // takes secrets out of what is said of its end; nil: nothing does

	guard *child.Guard
}

// process is a child with one owner, who calls close. With it ends its group, also
// when we are killed.
type process struct {
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *tail

	group *child.Group
	how   child.Ending  // once done is closed
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
			continue // a folder that depends on where we stand may be the workspace's
		}
		if path, err := exec.LookPath(filepath.Join(dir, c.path)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("start %s: there is no such program in PATH", c.path)
}

// wait waits for the child, and ends what it leaves behind in its group.
func (p *process) wait() {
	p.group.Await()
	p.how = p.group.Close()
	awaited(p.said, politeFor) // its last words; somebody who left the group may hold the pipe
	close(p.done)
}

// close ends the child: it closes its input, waits, asks it to end, waits, and
// ends it. It blocks until the child, its group and all of ours that serves them
// have ended, at most a little longer than 2*politeFor. Any goroutine may call it,
// more than once.
func (p *process) close() {
	p.once.Do(func() {
		p.stdin.Close()
		if !awaited(p.done, politeFor) {
			p.group.Terminate()
			if !awaited(p.done, politeFor) {
				p.group.Kill()
			}
		}
		<-p.done
		p.stdout.Close()
		p.stderrEnd.Close() // whoever left the group may hold the other end for ever
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

// why says how the child ended and what it complained of last. It is called after
// done.
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

// tail keeps the end of what is written to it, and hands on whole lines.
type tail struct {
	line func(string)
	hide func(string) string

	mu   sync.Mutex // guards the fields below
	text []byte
	rest []byte // of a line that has not ended; used by the writer only
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

// lines hands whole lines on; one that does not end in tailSize bytes in pieces.
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

// last is the last n lines that are not empty, in one line of at most maxWhy bytes.
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
