//go:build unix

package e2e

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endsWithin is how long the binary may take to end by itself.
//
// It takes well under a second on an idle machine. The bound only tells an end
// from a hang: with the race detector and a dozen tests beside it on two
// processors, three seconds have been seen.
const endsWithin = 20 * time.Second

// stubbornWithin is the same where a command has to be asked twice: it has two
// seconds to clean up, and editors kill us after three.
const stubbornWithin = 25 * time.Second

// activities are what the binary may be about when its end comes.
var activities = []struct {
	name string
	play func(e *editor, id string, a *alive)
}{
	{"idle", func(e *editor, id string, _ *alive) { e.run(id, "stream 2 of 3") }},
	{"streaming", func(e *editor, id string, _ *alive) {
		e.prompt(id, endless)
		e.read("text", func() bool { return e.view(id).length > 0 })
	}},
	{"waiting for an approval", func(e *editor, id string, _ *alive) {
		e.prompt(id, "run echo never")
		e.question(id)
	}},
	{"running a command", func(e *editor, id string, a *alive) {
		e.prompt(id, "run "+a.tree)
		e.send(e.dialect.decide(e.question(id), true))
		a.begun()
	}},
	{"running a stubborn command", func(e *editor, id string, a *alive) {
		e.prompt(id, "run trap '' HUP INT TERM; "+a.tree)
		e.send(e.dialect.decide(e.question(id), true))
		a.begun()
	}},
	{"holding prompts", func(e *editor, id string, _ *alive) {
		e.send(e.dialect.prompt(e, id, endless), e.dialect.prompt(e, id, endless))
		e.read("text", func() bool { return e.view(id).length > 0 })
	}},
}

// endings are the ways to say that it is over. With reads the client still takes
// what is sent to it.
var endings = []struct {
	name  string
	reads bool
	say   func(e *editor)
}{
	{"end of input", true, func(e *editor) { e.in.Close() }},
	{"end of input, unread output", false, func(e *editor) { e.in.Close() }},
	{"SIGTERM", true, func(e *editor) { e.signal(syscall.SIGTERM) }},
	{"SIGTERM, unread output", false, func(e *editor) { e.signal(syscall.SIGTERM) }},
	{"closed output", false, func(e *editor) { e.out.Close() }},
}

func (c *peer) signal(s os.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Error(err)
	}
}

// However it is told, and whatever it is about, the binary ends by itself, in
// time, without a crash, and takes its commands along. What was under way is
// stored as ended.
func TestEndsByItself(t *testing.T) {
	t.Parallel()
	for i, d := range editors() {
		for j, end := range endings {
			for k, act := range activities {
				if (i+j+k)%2 != 0 && !everyVariant() {
					continue
				}
				stubborn := strings.Contains(act.name, "stubborn")
				if end.name == "closed output" && act.name != "streaming" || stubborn && !end.reads {
					continue // it is noticed by writing; and that takes two seconds
				}
				t.Run(d.name+"/"+end.name+"/"+act.name, func(t *testing.T) {
					t.Parallel()
					p := newPlace(t)
					a := p.alive(t)
					e := p.edit(t, d, launch{})
					id := e.begin()
					act.play(e, id, a)
					began := time.Now()
					end.say(e)
					if end.reads {
						e.drain()
					}
					want := 0
					if !strings.Contains(end.name, "SIGTERM") {
						want = e.unasked()
					}
					if code := e.left(patience); code != want {
						t.Errorf("exit code %d:\n%s", code, e.stderr())
					}
					most := endsWithin
					if stubborn {
						most = stubbornWithin
					}
					if took := time.Since(began); took > most {
						t.Errorf("it took %v", took)
					}
					a.gone()
					next := p.edit(t, d, launch{})
					for call, state := range next.load(id).calls {
						if !slices.Contains(ended, state) {
							t.Errorf("call %s is stored as %q", call, state)
						}
					}
					if got := next.run(id, "stream 1 of 2"); got != endOK {
						t.Errorf("a prompt in the next process: %q", got)
					}
					next.leave()
				})
			}
		}
	}
}

// A client that ends its input while a pipe is full of unread output has left like any
// other, and nothing has failed.
func TestEndOfInputBehindAFullPipe(t *testing.T) {
	t.Parallel()
	faces := map[string]func(p *place) *peer{
		"mcp": func(p *place) *peer { return p.call(t, launch{}).peer },
	}
	for _, d := range editors() {
		faces[d.name] = func(p *place) *peer { return p.edit(t, d, launch{}).peer }
	}
	for name, face := range faces {
		c := face(newPlace(t))
		for range 900 { // each is answered by some 200 bytes
			_, req := c.request(strings.Repeat("unheard-of", 10), object{})
			c.send(req)
		}
		c.in.Close()
		code, said := c.left(patience), c.stderr()
		if code != c.unasked() || strings.Contains(said, "write") {
			t.Errorf("%s: exit code %d:\n%s", name, code, said)
		}
	}
}

// A second signal ends it at once, and its commands with it.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.alive(t)
	e := p.edit(t, acpDialect(), launch{})
	id := e.begin()
	e.prompt(id, "run trap '' HUP INT TERM; "+a.tree)
	e.send(e.dialect.decide(e.question(id), true))
	a.begun()
	began := time.Now()
	e.signal(syscall.SIGTERM)
	e.signal(syscall.SIGINT) // two of one kind may become one
	if code := e.left(patience); code != 128+int(syscall.SIGTERM) && code != 128+int(syscall.SIGINT) {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > endsWithin {
		t.Errorf("it took %v", took)
	}
	a.gone()
}

// An ECA server ends when the process that it was told of has ended, whoever else
// holds its pipes.
func TestClientsProcessEnds(t *testing.T) {
	t.Parallel()
	client := exec.Command("sleep", "100")
	if err := client.Start(); err != nil {
		t.Skipf("no process to stand for the client: %v", err)
	}
	d := ecaDialect()
	hello := d.hello
	d.hello = func(e *editor) []any {
		messages := hello(e)
		messages[0].(object)["params"].(object)["processId"] = client.Process.Pid
		return messages
	}
	e := newPlace(t).edit(t, d, launch{})
	id := e.begin()
	e.prompt(id, endless)
	e.read("text", func() bool { return e.view(id).length > 0 })
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = client.Wait() // it was killed
	e.drain()
	if code := e.left(patience); code != e.unasked() {
		t.Errorf("exit code %d:\n%s", code, e.stderr())
	}
}

// The same over MCP.
func TestEndsByItselfMCP(t *testing.T) {
	t.Parallel()
	acts := map[string]func(c *caller, a *alive) result{
		"idle":                    func(c *caller, _ *alive) result { return c.prompt("", "stream 2 of 3") },
		"streaming":               func(c *caller, _ *alive) result { return c.begin("", endless) },
		"waiting for an approval": func(c *caller, _ *alive) result { return c.prompt("", "run echo never") },
		"running a command": func(c *caller, a *alive) result {
			r := c.prompt("", "run "+a.tree)
			c.use("agent_approve", object{"session_id": r.Structured.Session, "approval_id": r.Structured.Approvals[0].ID, "decision": "allow_once"})
			a.begun()
			return r
		},
		"answering": func(c *caller, _ *alive) result {
			r := c.prompt("", "stream 2 of 3")
			_, req := c.tool("agent_prompt", promptArgs(r.Structured.Session, endless))
			c.send(req)
			return r
		},
	}
	for i, way := range []string{"end of input", "SIGTERM", "closed output"} {
		for j, name := range slices.Sorted(maps.Keys(acts)) {
			if (i+j)%2 != 0 && !everyVariant() {
				continue
			}
			play := acts[name]
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				a := p.alive(t)
				c := p.call(t, launch{})
				id := play(c, a).Structured.Session
				began := time.Now()
				switch way {
				case "SIGTERM":
					c.signal(syscall.SIGTERM)
					c.drain()
				case "end of input":
					c.in.Close()
					c.drain()
				default:
					c.out.Close()
					c.pingUntilItEnds()
				}
				if code := c.left(patience); code != 0 {
					t.Errorf("exit code %d:\n%s", code, c.stderr())
				}
				if took := time.Since(began); took > endsWithin {
					t.Errorf("it took %v", took)
				}
				a.gone()
				next := p.call(t, launch{})
				if r := next.prompt(id, "stream 1 of 2"); r.Structured.Status != "completed" {
					t.Errorf("a prompt in the next process: %q %s", r.Structured.Status, r.text())
				}
				next.leave()
			})
		}
	}
}

// pingUntilItEnds has the process write, by which it notices that its output is closed. One ping is not always
// enough: a program that another test is starting holds the other end until it runs.
func (c *caller) pingUntilItEnds() {
	c.t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for range int(patience / (100 * time.Millisecond)) {
		_, req := c.request("ping", object{})
		if _, err := c.in.Write(c.frames(req)); err != nil {
			return // it has ended
		}
		select {
		case <-c.exited:
			return
		case <-again.C:
		}
	}
}

// ended are the states of a call that will not change any more.
var ended = []string{"completed", "failed", "toolCalled", "toolCallRejected"}

// A standard error that nobody reads holds up nothing.
func TestUnreadLog(t *testing.T) {
	t.Parallel()
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			r, w := pipe(t)
			defer r.Close()
			fill(t, w)
			e := newPlace(t).edit(t, d, launch{stderr: w}, "--log-level", "debug")
			w.Close()
			e.allow = true
			for range 5 {
				id := e.begin()
				for _, text := range []string{"think hard then read notes.txt", "read absent.txt then stream 10 of 10", "run exit 3"} {
					if got := e.run(id, text); got != endOK {
						t.Fatalf("%s: %q", text, got)
					}
				}
			}
			began := time.Now()
			e.leave()
			if took := time.Since(began); took > endsWithin {
				t.Errorf("the end took %v", took)
			}
		})
	}
}

// fill writes into a pipe until nothing more fits.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	for _, size := range []int{4096, 1} {
		if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		var err error
		for err == nil {
			_, err = w.Write(make([]byte, size))
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
}
