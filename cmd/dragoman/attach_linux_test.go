package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// joins starts the program at a terminal on a session that another process runs.
func (p *place) joins(t *testing.T, args ...string) *typist {
	t.Helper()
	return p.onTerminal(t, []string{"TERM=xterm", "NO_COLOR=1"}, append([]string{"attach"}, args...)...)
}

// A session that another process runs is followed as it happens, from what was said before on.
// Leaving stops nothing.
func TestAttachFollowsAnotherProcess(t *testing.T) {
	second := runs("true")
	second.begun, second.release = make(chan struct{}), make(chan struct{})
	p, _ := served(t, part{say: "Said before."}, second, part{say: "The end."})
	chat := p.talk(t, "chat")
	chat.say("one")
	chat.until("Said before.")
	c := p.joins(t)
	c.until("dragoman chat: one")
	c.until("Said before.")
	c.until("> ")
	c.types("half a line")
	c.until("half a line")
	chat.say("two")
	c.until("dragoman chat: two")
	c.until("half a line")
	<-second.begun
	close(second.release)
	c.until("Working.")
	c.until("? Run `true`")
	c.until("You can answer when your line is sent or erased.")
	c.types("\x15")
	c.until("[n]o: ")

	listed := p.well(t, "", "sessions", "list", "--json")
	var s struct {
		State, Owner string
		Waiting      []string
	}
	if err := json.Unmarshal([]byte(listed), &s); err != nil || s.State != "waiting" || !strings.HasPrefix(s.Owner, "process ") || !slices.Equal(s.Waiting, []string{"approval: Run `true`"}) {
		t.Errorf("%v %s", err, listed)
	}
	if table := p.well(t, "", "sessions", "list"); !strings.Contains(table, "  waiting  ") || !strings.Contains(table, "; waits for approval: Run `true`") {
		t.Errorf("%s", table)
	}

	c.types("\x03")
	c.until("You have left, and dragoman chat's turn goes on. Come back with: dragoman attach ")
	if code := c.ends(); code != program.ExitOK {
		t.Errorf("exit code %d", code)
	}
	watch := p.talk(t, "attach", "--read-only")
	watch.until("? Run `true`")
	chat.say("y")
	watch.until("dragoman chat decided: yes")
	watch.until("The end.")
	chat.in.Close()
	if code := chat.ends(); code != program.ExitOK {
		t.Errorf("the chat: exit code %d", code)
	}
	id := randomID.FindString(p.well(t, "", "sessions", "list"))
	p.well(t, "", "sessions", "rm", id)
	if code := watch.ends(); code != program.ExitFailed {
		t.Errorf("the session was deleted: exit code %d", code)
	}
}

// A turn whose process dies is shown as interrupted, and the session goes on here.
func TestAttachGoesOnAfterTheOwnersDeath(t *testing.T) {
	p, s := served(t, runs("true"), part{say: "Here."})
	chat := p.talk(t, "chat")
	chat.say("one")
	chat.until("? Run `true`")
	c := p.joins(t, randomID.FindString(p.well(t, "", "sessions", "list"))[:6])
	c.until("? Run `true`")
	c.until("[n]o: ")
	if err := chat.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = chat.cmd.Wait() // it was killed
	c.until("The turn was interrupted: the process that ran it ended.")
	c.until("> ")
	c.types("two" + keyEnter)
	c.until("Here.")
	c.until("> ")
	if code := c.leaves(); code != program.ExitOK || len(s.asked()) != 2 {
		t.Errorf("exit code %d, %q", code, s.asked())
	}
}

// Without a session to join there is an error that says what to do.
func TestAttachWithoutASession(t *testing.T) {
	p := newPlace(t)
	if o := p.run(t, "", "attach"); o.code != program.ExitFailed || !strings.Contains(o.errs, `there is no session in `+p.work+` yet; "dragoman chat" begins one`) {
		t.Errorf("%+v", o)
	}
	if o := p.run(t, "", "attach", "zzz"); o.code != program.ExitFailed || !strings.Contains(o.errs, `there is no session "zzz"`) {
		t.Errorf("%+v", o)
	}
	p.well(t, "hello\n", "chat")
	if o := p.run(t, "read notes.txt\n", "attach"); o.code != program.ExitOK || !strings.Contains(o.out, "second note") || o.errs != "" {
		t.Errorf("%+v", o)
	}
}
