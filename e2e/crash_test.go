//go:build unix

package e2e

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mayLose is how old the text is, when the process dies, that must be there
// afterwards: 25 ms are aimed at, the rest is for a binary with the race detector
// on a machine that is busy.
const mayLose = time.Second

// scene is a moment to be killed in.
type scene struct {
	name string
	// play prompts and reads until the moment has come.
	play func(t *testing.T, e *editor, id string, a *alive)
	// within is how long after that the process lives at most.
	within time.Duration
}

var scenes = []scene{
	{"while text streams", func(_ *testing.T, e *editor, id string, _ *alive) {
		e.prompt(id, endless)
		e.read("text", func() bool { return e.view(id).length > 0 })
	}, 1500 * time.Millisecond},
	{"while an approval waits", func(_ *testing.T, e *editor, id string, _ *alive) {
		e.prompt(id, "think twice then run echo never")
		e.question(id)
	}, 5 * time.Millisecond},
	{"while a call runs", func(_ *testing.T, e *editor, id string, a *alive) {
		e.prompt(id, "read notes.txt then run "+a.tree)
		e.send(e.dialect.decide(e.question(id), true))
		a.begun()
	}, 30 * time.Millisecond},
	{"around a decision", func(_ *testing.T, e *editor, id string, a *alive) {
		e.prompt(id, "run "+a.command)
		e.send(e.dialect.decide(e.question(id), true))
	}, 10 * time.Millisecond},
	{"while one turn follows another", func(_ *testing.T, e *editor, id string, _ *alive) {
		for range 40 {
			e.prompt(id, "think about it then read notes.txt then run echo again then stream 20 of 50")
		}
		e.allow = true
		e.ended(id, 2)
	}, 300 * time.Millisecond},
}

// A process that is killed loses nothing that a client was told, but for the last
// moment of a text that streams. What was under way is closed as interrupted by the
// next one, and the session goes on.
func TestKilled(t *testing.T) {
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			times := 1
			if everyVariant() {
				times = 2
			}
			for i, s := range slices.Repeat(scenes, times) {
				t.Run(fmt.Sprint(s.name, "/", i/len(scenes)), func(t *testing.T) {
					if s.name != scenes[0].name { // which looks at the clock
						t.Parallel()
					}
					// A machine that stood still for a moment is no loss; three times in a row are.
					late := ""
					for range 3 {
						if late = killed(t, d, s); late == "" {
							return
						}
						t.Log(late)
					}
					t.Error(late)
				})
			}
		})
	}
}

// killed returns what was lost though it was told too long ago; "": nothing.
func killed(t *testing.T, d *dialect, s scene) (late string) {
	t.Helper()
	p := newPlace(t)
	a := p.alive(t)
	e := p.edit(t, d, launch{})
	id := e.begin()
	if got := e.run(id, "think first then read notes.txt then stream 3 of 30"); got != endOK {
		t.Fatalf("before: %q", got)
	}
	s.play(t, e, id, a)
	var died time.Time
	delay := rand.N(s.within)
	bomb := time.AfterFunc(delay, func() { died = time.Now(); e.kill() })
	defer bomb.Stop()
	e.lastWords()
	t.Logf("killed %v after the moment", delay)
	a.gone()

	v := e.view(id)
	next := p.edit(t, d, launch{})
	got := next.load(id)
	told := compare(t, v, got, died.Add(-mayLose))
	if told.running && !slices.ContainsFunc(got.facts, func(f string) bool { return strings.Contains(f, "interrupted") }) {
		t.Errorf("the turn that was under way is not shown as interrupted:\n%s", strings.Join(got.facts, "\n"))
	}
	had := len(got.ends)
	next.prompt(id, "read notes.txt then stream 1 of 5")
	next.read("the end of a new prompt", func() bool { // what had waited ends before it
		return slices.ContainsFunc(got.ends[had:], func(end string) bool { return !strings.Contains(end, "interrupted") })
	})
	if end := got.ends[len(got.ends)-1]; end != endOK {
		t.Errorf("a new prompt ended as %q %q", end, got.facts)
	}
	for call, state := range next.load(id).calls {
		if !slices.Contains(ended, state) {
			t.Errorf("call %s is still %q", call, state)
		}
	}
	next.leave()
	return told.late
}

// The same over MCP, for what a caller has polled.
func TestKilledMCP(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		name := []string{"while text streams", "while an approval waits", "while a call runs", "around a decision"}[i%4]
		t.Run(fmt.Sprint(name, "/", i/4), func(t *testing.T) {
			t.Parallel()
			killedMCP(t, name)
		})
	}
}

func killedMCP(t *testing.T, scene string) {
	p := newPlace(t)
	a := p.alive(t)
	c := p.call(t, launch{})
	before := c.prompt("", "think first then read notes.txt then stream 3 of 30")
	if before.Structured.Status != "completed" || before.Structured.Text == "" {
		t.Fatalf("before: %s", before.text())
	}
	id := before.Structured.Session
	var h *heard
	var text string
	within := 10 * time.Millisecond
	switch scene {
	case "while text streams":
		text = endless
		h = hear(c.begin(id, text))
		c.poll(h, "text", func() bool { return h.length > 20_000 })
		within = 50 * time.Millisecond // later each poll begins with the turn
	default:
		text = "think twice then read notes.txt then run " + a.command
		h = hear(c.begin(id, text))
		c.poll(h, "an approval", func() bool { return h.status == "awaiting_approval" })
	}
	if strings.Contains(scene, "call runs") || strings.Contains(scene, "decision") {
		r := c.use("agent_wait", object{"session_id": id, "turn_id": h.turn, "wait_seconds": 0})
		if len(r.Structured.Approvals) != 1 {
			t.Fatalf("approvals: %s", r.text())
		}
		if r := c.use("agent_approve", object{"session_id": id, "approval_id": r.Structured.Approvals[0].ID, "decision": "allow_once"}); r.IsError {
			t.Fatalf("agent_approve: %s", r.text())
		}
		h.facts = append(h.facts, "approved")
	}
	if scene == "while a call runs" {
		a.begun()
		c.listen(h, 0)
	}
	delay := rand.N(within)
	bomb := time.AfterFunc(delay, c.kill)
	defer bomb.Stop()
	c.left(patience)
	died := time.Now()
	a.gone()
	t.Logf("killed %v after the moment", delay)

	next := p.call(t, launch{})
	again := hear(result{})
	again.session, again.turn = id, h.turn
	must := h.before(died.Add(-mayLose))
	next.poll(again, "what was told before", func() bool { return again.over() || scene == "while text streams" && len(again.text) >= must })
	if r := next.use("agent_wait", object{"session_id": id, "turn_id": h.turn}); r.Structured.Status != "failed" || !strings.HasSuffix(r.text(), "interrupted: the process that ran it has ended") {
		t.Errorf("the turn that was under way is %q: %.2000s", r.Structured.Status, r.text())
	}
	told := slices.DeleteFunc(slices.Clone(h.facts), func(f string) bool { return f == "approved" })
	for i, fact := range told {
		if i >= len(again.facts) || again.facts[i] != fact {
			t.Errorf("what the caller was told is not there any more, fact %d of %d:\n%s\nafterwards:\n%s", i, len(told), fact, strings.Join(again.facts, "\n"))
			break
		}
	}
	if slices.Contains(h.facts, "approved") && !strings.Contains(strings.Join(again.facts, "\n"), "running") {
		t.Errorf("the decision is lost:\n%s", strings.Join(again.facts, "\n"))
	}
	for call, state := range again.calls {
		if state != "completed" && state != "failed" {
			t.Errorf("call %s is still %q", call, state)
		}
	}
	if len(again.text) < must || !strings.HasPrefix(string(again.text), string(h.text[:must])) {
		t.Errorf("of %d bytes that were told %v before the end %d are left", must, mayLose, len(again.text))
	}
	transcript := next.use("session_get", object{"session_id": id, "limit": 500})
	for _, part := range []string{"think first then read notes.txt", string(streamed(90)), "first note\nsecond note", text} {
		if !strings.Contains(transcript.text(), part) {
			t.Errorf("the transcript lacks %q:\n%.2000s", part, transcript.text())
		}
	}
	if r := next.prompt(id, "stream 1 of 5"); r.Structured.Status != "completed" {
		t.Errorf("a new prompt: %q %s", r.Structured.Status, r.text())
	}
	next.leave()
}

// lastWords reads to the end of what a killed process has said.
func (e *editor) lastWords() {
	e.t.Helper()
	e.patient()
	for {
		m, err := e.next()
		if err != nil {
			break // a message that was cut is none
		}
		if m.Method == "" || !e.allow {
			e.dialect.take(e, m)
			continue
		}
		e.allow = false // it cannot be answered for sure any more
		e.dialect.take(e, m)
		v := e.views
		for _, one := range v {
			for _, q := range one.asked {
				_, _ = e.in.Write(e.frames(e.dialect.decide(q, true))) // it may be gone
			}
			one.asked = nil
		}
		e.allow = true
	}
	e.left(patience)
}

type outcome struct {
	running bool
	late    string
}

// compare checks that all that an editor was told before is told again.
func compare(t *testing.T, before, after *view, sure time.Time) (o outcome) {
	t.Helper()
	for i, fact := range before.facts {
		if i >= len(after.facts) || after.facts[i] != fact {
			t.Errorf("what the client was told is not there any more, fact %d of %d:\n%s\nafterwards:\n%s", i, len(before.facts), fact, strings.Join(after.facts, "\n"))
			break
		}
	}
	for i, said := range before.said {
		if i >= len(after.said) || after.said[i] != said {
			t.Errorf("prompt %d, %q, is lost: %q", i, said, after.said)
		}
	}
	n := min(len(before.text), len(after.text))
	if string(before.text[:n]) != string(after.text[:n]) {
		t.Errorf("the text is another one now")
	}
	if must := before.before(sure); len(after.text) < must {
		o.late = fmt.Sprintf("of %d bytes that were told %v before the end only %d are left", must, mayLose, len(after.text))
	} else if lost := len(before.text) - len(after.text); lost > 0 {
		first := slices.IndexFunc(before.marks, func(m mark) bool { return m.size > len(after.text) })
		t.Logf("of %d bytes the last %d are lost, told from %v before the end on", len(before.text), lost, sure.Add(mayLose).Sub(before.marks[first].at).Round(time.Millisecond))
	}
	if !strings.HasPrefix(after.thoughts, before.thoughts) {
		t.Errorf("the thoughts %q are %q now", before.thoughts, after.thoughts)
	}
	o.running = len(after.said) > len(before.ends)
	return o
}

// alive tells whether the processes of a command still live: they hold the other
// end of a pipe.
type alive struct {
	t       *testing.T
	command string // one that lasts
	tree    string // the same, as several processes
	r       *os.File
	ours    *os.File
	leader  int // of the command's processes
}

func (p *place) alive(t *testing.T) *alive {
	t.Helper()
	path := filepath.Join(p.work, "alive")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0) // until the command has it open
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		ours.Close()
	})
	const hold = "exec 9>alive; echo $$ >&9; "
	tree := "sleep 61 & sleep 62; true"
	if _, err := exec.LookPath("setsid"); err == nil && runtime.GOOS == "linux" {
		tree = "setsid -f sleep 63; " + tree // a daemon: it has left the command's session, and has no parent
	}
	return &alive{t: t, command: hold + "sleep 60", tree: hold + tree, r: r, ours: ours}
}

// begun waits until the command runs.
func (a *alive) begun() {
	a.t.Helper()
	if err := a.r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		a.t.Fatal(err)
	}
	for a.leader == 0 {
		if err := a.hear(); err != nil {
			a.t.Fatalf("the command did not begin: %v", err)
		}
	}
}

// hear reads what the command says: who leads its processes.
func (a *alive) hear() error {
	var buf [64]byte
	n, err := a.r.Read(buf[:])
	if n > 0 {
		a.leader, _ = strconv.Atoi(strings.TrimSpace(string(buf[:n]))) // written at once
	}
	return err
}

// gone waits until nothing of the command is left. It may not have begun at all.
func (a *alive) gone() {
	a.t.Helper()
	a.ours.Close()
	if err := a.r.SetReadDeadline(time.Now().Add(endsWithin)); err != nil {
		a.t.Fatal(err)
	}
	var err error
	for err == nil {
		err = a.hear()
	}
	if !errors.Is(err, io.EOF) {
		a.t.Errorf("a command outlived the process that started it: %v", err)
		if a.leader > 1 {
			_ = syscall.Kill(-a.leader, syscall.SIGKILL)
		}
	}
}
