package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long anything may take that should take no time. It only ends
// tests that fail; machines may be slow and busy.
const patience = 60 * time.Second

// peer is the binary as a child process in a process group of its own, seen from
// the other end of its pipes. Nothing reads them but next: not to call it is to be
// a client that does not read.
type peer struct {
	t      testing.TB
	cmd    *exec.Cmd
	framed bool // by Content-Length; else by line feeds
	in     *os.File
	out    *os.File
	r      *bufio.Reader
	log    string // a file with its standard error; "" when that goes elsewhere
	exited chan struct{}
	last   []string // of the messages, for reports
	ids    int
	ahead  *ahead // nil: nothing is read before it is wanted
	keeps  bool   // all messages
	kept   []message

	began    time.Time // when the process was started
	answered time.Time // when its first message had come
}

// message is one JSON-RPC message as it stood on the wire.
type message struct {
	at     time.Time
	raw    []byte
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *rpcError) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data))
}

// launch are the circumstances of a peer. The zero value is a plain one.
type launch struct {
	binary string   // another one than the one under test
	stderr *os.File // where its log goes; nil: into a file
	stdout *os.File // where its output goes instead of to this peer
	// run starts it, says how that went, and waits for its end; nil: as usual.
	run func(cmd *exec.Cmd, started chan<- error)
}

// start starts the binary. Whatever is left of it at the end of the test is
// killed.
func (p *place) start(t testing.TB, l launch, framed bool, args ...string) *peer {
	t.Helper()
	path := binary
	if l.binary != "" {
		path = l.binary
	}
	c := &peer{t: t, cmd: exec.Command(path, args...), framed: framed, exited: make(chan struct{})}
	c.cmd.Env, c.cmd.Dir = p.env, p.work
	ownGroup(c.cmd)
	theirIn, in := pipe(t)
	out, theirOut := pipe(t)
	c.in, c.out, c.r = in, out, bufio.NewReaderSize(out, 64<<10)
	if l.stderr == nil {
		f, err := os.CreateTemp(t.TempDir(), "stderr-")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		l.stderr, c.log = f, f.Name()
	}
	if l.stdout != nil {
		theirOut.Close()
		theirOut = l.stdout
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirIn, theirOut, l.stderr
	if l.run == nil {
		l.run = toItsEnd
	}
	started := make(chan error, 1)
	c.began = time.Now()
	go func() {
		defer close(c.exited)
		l.run(c.cmd, started)
	}()
	err := <-started
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	return c
}

// toItsEnd is launch.run for a plain child process.
func toItsEnd(cmd *exec.Cmd, started chan<- error) {
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait() // what became of it is in ProcessState
	}
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// end kills what is left, and fails the test if the process has had a data race or
// has panicked.
func (c *peer) end() {
	killGroup(c.cmd)
	<-c.exited
	c.in.Close()
	c.out.Close()
	if c.ahead != nil {
		<-c.ahead.over
	}
	if log := c.stderr(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		c.t.Errorf("%v: standard error says\n%.6000s", c.cmd.Args[1:], log)
	}
}

// stop closes the process's input and waits for its end, whatever it says.
func (c *peer) stop() {
	c.t.Helper()
	c.in.Close()
	c.left(patience)
	c.out.Close()
}

// stderr is what the process has logged.
func (c *peer) stderr() string {
	if c.log == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Clean(c.log))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// kill is kill -9, of the process alone.
func (c *peer) kill() {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Error(err)
	}
}

// left waits for the process to end by itself and returns its exit code.
func (c *peer) left(within time.Duration) int {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(within):
		stack := c.stacks()
		c.t.Fatalf("%v did not end within %v:\n%s", c.cmd.Args[1:], within, stack)
	}
	return c.cmd.ProcessState.ExitCode()
}

// unasked is the exit code where nobody has asked the process to shut down: ECA wants
// it to tell that.
func (c *peer) unasked() int {
	if slices.Contains(c.cmd.Args, "eca") || slices.Contains(c.cmd.Args, "server") {
		return 1
	}
	return 0
}

// leave closes the process's input, takes what it still says, and waits for its
// end.
func (c *peer) leave() {
	c.t.Helper()
	c.in.Close()
	c.drain()
	if code := c.left(patience); code != c.unasked() {
		c.t.Errorf("%v: exit code %d:\n%s", c.cmd.Args[1:], code, c.stderr())
	}
}

// drain reads to the end of the stream.
func (c *peer) drain() {
	c.patient()
	for {
		if _, err := c.next(); err != nil {
			if !errors.Is(err, io.EOF) {
				c.t.Errorf("%v: %v", c.cmd.Args[1:], err)
			}
			return
		}
	}
}

// next returns one message. It fails with io.EOF at the end of the stream.
func (c *peer) next() (m message, err error) {
	if c.ahead != nil {
		m, err = c.ahead.next()
	} else {
		m, err = c.receive()
	}
	if err != nil {
		return message{}, err
	}
	if c.answered.IsZero() {
		c.answered = m.at
	}
	if len(c.last) == 40 {
		c.last = c.last[1:]
	}
	c.last = append(c.last, string(m.raw[:min(len(m.raw), 400)]))
	if c.keeps {
		c.kept = append(c.kept, m)
	}
	return m, nil
}

// receive reads one message from the pipe.
func (c *peer) receive() (message, error) {
	body, err := c.frame()
	if err != nil {
		return message{}, err
	}
	m := message{at: time.Now(), raw: body}
	if err := json.Unmarshal(body, &m); err != nil {
		return message{}, fmt.Errorf("%.200q is no message: %w", body, err)
	}
	return m, nil
}

// patient has next wait for so long from now on.
func (c *peer) patient() {
	if c.ahead != nil {
		c.ahead.end = time.Now().Add(patience)
		return
	}
	if err := c.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		c.t.Error(err)
	}
}

// ahead has what a peer has read before it was wanted. So each message has the time at which it came.
type ahead struct {
	end  time.Time     // of the patience of who calls next
	over chan struct{} // closed when nothing more comes

	mu   sync.Mutex // guards the fields below
	list []message
	err  error         // at the end of list
	news chan struct{} // holds one token: look again
}

// readAhead reads from now on whatever comes at once.
func (c *peer) readAhead() {
	a := &ahead{over: make(chan struct{}), news: make(chan struct{}, 1)}
	c.ahead = a
	go func() {
		defer close(a.over)
		for {
			m, err := c.receive()
			a.mu.Lock()
			if a.err = err; err == nil {
				a.list = append(a.list, m)
			}
			a.mu.Unlock()
			select {
			case a.news <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
}

// now returns a message that has come, if there is one.
func (a *ahead) now() (m message, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) == 0 {
		return m, false
	}
	m, a.list = a.list[0], a.list[1:]
	return m, true
}

func (a *ahead) next() (message, error) {
	for {
		a.mu.Lock()
		if len(a.list) > 0 {
			m := a.list[0]
			a.list = a.list[1:]
			a.mu.Unlock()
			return m, nil
		}
		err := a.err
		a.mu.Unlock()
		if err != nil {
			return message{}, err
		}
		late := time.NewTimer(time.Until(a.end))
		select {
		case <-a.news:
		case <-a.over:
		case <-late.C:
			return message{}, os.ErrDeadlineExceeded
		}
		late.Stop()
	}
}

func (c *peer) frame() ([]byte, error) {
	if !c.framed {
		line, err := c.r.ReadBytes('\n')
		if err != nil {
			return nil, whole(line, err)
		}
		return line[:len(line)-1], nil
	}
	head, err := c.r.ReadBytes('\n')
	if err != nil {
		return nil, whole(head, err)
	}
	size, ok := strings.CutPrefix(strings.TrimSuffix(string(head), "\r\n"), "Content-Length: ")
	n, err := strconv.Atoi(size)
	if !ok || err != nil {
		return nil, fmt.Errorf("%.200q is no header", head)
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(c.r, body); err != nil {
		return nil, whole(head, err)
	}
	if !bytes.HasPrefix(body, []byte("\r\n")) {
		return nil, fmt.Errorf("%.200q follows the header", body)
	}
	return body[2:], nil
}

// whole is the end of a stream: what a killed process has written in part is
// nothing that a client could read.
func whole(part []byte, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("behind %.100q: %w", part, err)
}

// until reads until a condition holds, and gives each message to take.
func (c *peer) until(what string, take func(message), holds func() bool) {
	c.t.Helper()
	c.patient()
	for !holds() {
		m, err := c.next()
		if err != nil {
			c.t.Fatalf("%v: waiting for %s: %v\nstandard error:\n%.3000s\nthe last messages:\n%s",
				c.cmd.Args[1:], what, err, c.stderr(), strings.Join(c.last, "\n"))
		}
		take(m)
	}
}

// frames is how messages are written: one after the other.
func (c *peer) frames(messages ...any) (out []byte) {
	for _, m := range messages {
		body, ok := m.([]byte) // else it is written as it is
		if !ok {
			var err error
			if body, err = json.Marshal(m); err != nil {
				c.t.Fatal(err)
			}
		}
		if c.framed {
			out = fmt.Appendf(out, "Content-Length: %d\r\n\r\n%s", len(body), body)
		} else {
			out = append(append(out, body...), '\n')
		}
	}
	return out
}

// send writes messages, all of them in one write.
func (c *peer) send(messages ...any) {
	c.t.Helper()
	c.write(c.frames(messages...))
}

func (c *peer) write(b []byte) {
	c.t.Helper()
	if err := c.in.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(b); err != nil {
		c.t.Fatalf("%v: write: %v\n%s", c.cmd.Args[1:], err, c.stderr())
	}
}

// object is a JSON object.
type object = map[string]any

// request makes a request with an id of its own.
func (c *peer) request(method string, params any) (id string, req object) {
	c.ids++
	return strconv.Itoa(c.ids), object{"jsonrpc": "2.0", "id": c.ids, "method": method, "params": params}
}

func notification(method string, params any) object {
	return object{"jsonrpc": "2.0", "method": method, "params": params}
}

// rss is how much memory a process has, in MiB; 0 where that is not known.
func rss(pid int) float64 { return memoryOf(pid, "VmRSS:") }

// memoryOf returns a figure of a process's status, in MiB; 0: it is not known.
func memoryOf(pid int, figure string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, figure); ok {
			n, _ := strconv.ParseFloat(strings.Fields(kb)[0], 64)
			return n / 1024
		}
	}
	return 0
}
