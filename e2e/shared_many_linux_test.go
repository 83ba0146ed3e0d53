package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Many clients of one session show the same, and none of them is held up by one that reads nothing or has
// stopped.
func TestSharedByMany(t *testing.T) {
	t.Parallel()
	sharedByMany(t, 8, 5)
}

func TestTortureSharedByMany(t *testing.T) {
	if os.Getenv("DRAGOMAN_TORTURE") == "" {
		t.Skip("make torture runs this")
	}
	sharedByMany(t, 50, 40)
}

// audience are processes that show one session, and the owner.
type audience struct {
	t     *testing.T
	p     *place
	owner *seat
	all   []*seat // that read
}

func sharedByMany(t *testing.T, clients, prompts int) {
	p := sharedPlace(t)
	l := quickly(t)
	owner := p.sit(t, "acp", l)
	id := owner.editor.begin()
	owner.id = id
	owner.prompt("stream 2 of 3")
	owner.editor.ended(id, 1)
	a := &audience{t: t, p: p, owner: owner, all: []*seat{owner}}
	for range clients - 3 {
		s := p.sit(t, "acp", l)
		s.join(id)
		a.all = append(a.all, s)
	}
	before := a.perform("all read", prompts)

	deaf := p.edit(t, acpDialect(), l) // nobody reads what it says
	deaf.load(id)
	stopped := p.edit(t, acpDialect(), l)
	stopped.load(id)
	if err := stopped.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	after := a.perform("one does not read, and one has stopped", prompts)
	t.Logf("the 99th of a hundred took %.1f times as long", float64(after)/float64(before))

	log := p.logOf(t, id)
	memory := 0.0
	for _, s := range a.all {
		s.showsAll(log)
		memory += memoryOf(s.cmd.Process.Pid, "RssAnon:")
	}
	t.Logf("%d processes have %.1f MiB of their own each; the owner has %.1f, the one that nobody reads %.1f",
		len(a.all), memory/float64(len(a.all)), memoryOf(owner.cmd.Process.Pid, "RssAnon:"), memoryOf(deaf.cmd.Process.Pid, "RssAnon:"))
	if err := stopped.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*editor{deaf, stopped} { // they have missed nothing
		e.records = true
		v, want := e.load(id), shownOf(t, log, true)
		e.read("all of the log", func() bool { return reached(v.shown(), want) })
		e.leave()
	}
	for _, s := range a.all {
		s.leave()
	}
}

// perform has the owner prompt, and returns the 99th percentile of the times from the record of a prompt to its
// being shown in the other processes.
func (a *audience) perform(how string, prompts int) time.Duration {
	a.t.Helper()
	marks := map[string]string{}
	for i := range prompts {
		mark := fmt.Sprintf("mark %s %d.", how, i)
		text := "think of " + mark + " then stream 300 of 64"
		marks[text] = mark
		a.owner.prompt(text)
	}
	ends := len(a.owner.editor.view(a.owner.id).ends) + prompts
	began := time.Now()
	a.owner.editor.ended(a.owner.id, max(ends, 1))
	took := time.Since(began)
	log := a.p.logOf(a.t, a.owner.id)
	at := map[string]time.Time{} // when a prompt's turn has begun
	for _, r := range log {
		var e struct{ Prompt []block }
		if r.Kind == "turn_started" {
			if r.into(a.t, &e); len(e.Prompt) > 0 {
				at[e.Prompt[0].Text] = r.Time
			}
		}
	}
	var times []time.Duration
	for _, s := range a.all {
		if s == a.owner {
			continue
		}
		for text := range marks {
			m := s.seen(`"user_message_chunk"`, text)
			times = append(times, m.at.Sub(at[text]))
		}
	}
	slices.Sort(times)
	p99 := times[len(times)*99/100]
	a.t.Logf("%s: %d prompts in %d processes in %v; shown elsewhere after p50 %v, p99 %v, max %v",
		how, prompts, len(a.all), took.Round(time.Millisecond), times[len(times)/2], p99, times[len(times)-1])

	a.owner.prompt("run echo " + how)
	var questions []message
	for _, s := range a.all {
		questions = append(questions, s.asked())
	}
	last := a.all[len(a.all)-1]
	began = time.Now()
	last.allow(questions[len(questions)-1])
	runs := last.sees(`"in_progress"`, last.callOf(questions[len(questions)-1]))
	a.t.Logf("%s: a call runs %v after it was allowed", how, runs.at.Sub(began))
	a.owner.editor.ended(a.owner.id, ends+1)
	return p99
}

// seen reads until a message that has all parts has come, or has come before.
func (s *seat) seen(parts ...string) (m message) {
	s.t.Helper()
	next := 0
	s.read(fmt.Sprintf("a message with %q", parts), func() bool {
		for ; next < len(s.kept); next++ {
			if m = s.kept[next]; !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(string(m.raw), part) }) {
				return true
			}
		}
		return false
	})
	return m
}

// Processes that have many sessions open together show each of them as the others do.
func TestSharedSessions(t *testing.T) {
	t.Parallel()
	sharedSessions(t, 4, 4)
}

func TestTortureSharedSessions(t *testing.T) {
	if os.Getenv("DRAGOMAN_TORTURE") == "" {
		t.Skip("make torture runs this")
	}
	sharedSessions(t, 10, 20)
}

func sharedSessions(t *testing.T, processes, sessions int) {
	p := sharedPlace(t)
	var all []*editor
	for range processes {
		e := p.edit(t, acpDialect(), quickly(t))
		e.records = true
		e.readAhead()
		all = append(all, e)
	}
	var ids []string
	for i := range sessions {
		e := all[i%processes]
		id := e.begin()
		e.run(id, fmt.Sprint("stream 2 of 3 for ", i))
		ids = append(ids, id)
	}
	type pair struct {
		e  *editor
		id string
	}
	own := map[pair][]string{}
	for _, e := range all {
		for _, id := range ids {
			e.load(id)
		}
	}
	began := time.Now()
	for round := range 3 {
		for i, id := range ids {
			for k := range 3 {
				e := all[(i+k+round)%processes]
				text := fmt.Sprintf("think of %d-%d-%d then read notes.txt then stream 20 of 64", round, i, k)
				own[pair{e, id}] = append(own[pair{e, id}], text)
				e.prompt(id, text)
			}
		}
	}
	for _, e := range all {
		for _, id := range ids {
			if n := len(own[pair{e, id}]); n > 0 {
				e.ended(id, n)
			}
			for _, end := range e.view(id).ends {
				if end != endOK {
					t.Errorf("a prompt ended as %q", end)
				}
			}
		}
	}
	took := time.Since(began)
	for _, id := range ids {
		log := p.logOf(t, id)
		for _, e := range all {
			v, want := e.view(id), shownOf(t, log, true, own[pair{e, id}]...)
			e.read("all of the log", func() bool { return reached(v.shown(), want) })
			sameAs(t, fmt.Sprint("process ", e.pid()), v.shown(), want)
		}
	}
	t.Logf("%d prompts in %d sessions of %d processes in %v", 9*sessions, sessions, processes, took.Round(time.Millisecond))
	memory := 0.0
	for _, e := range all {
		memory += memoryOf(e.cmd.Process.Pid, "RssAnon:")
		e.leave()
	}
	t.Logf("a process has %.1f MiB of its own", memory/float64(processes))
}
