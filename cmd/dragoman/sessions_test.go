package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/core"
)

// ids and times differ from run to run.
var (
	randomID = regexp.MustCompile(`\b[a-z2-7]{26}\b`)
	anyTime  = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
)

func TestSessionsAreListedShownAndRemoved(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	if got := p.well(t, "", "sessions", "list"); got != "There are no sessions yet.\n" {
		t.Errorf("%q", got)
	}
	p.well(t, "think hm then read notes.txt then run ls -1\ny\nwrite \"a b.txt\": x\nn\nplan look; leap\n", "chat")
	p.well(t, "hello\n", "chat")

	ids := make([]string, 2) // of the short session and of the long one
	n := 0
	for line := range strings.Lines(p.well(t, "", "sessions", "list", "--json")) {
		var s struct {
			ID       core.SessionID
			Cwd      string
			Messages int
			Updated  time.Time
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if s.Cwd != p.work || s.Messages == 0 || time.Since(s.Updated) > time.Hour {
			t.Errorf("%s", line)
		}
		n++
		if s.Messages > 2 {
			ids[1] = string(s.ID)
		} else {
			ids[0] = string(s.ID)
		}
	}
	if n != 2 || ids[0] == "" || ids[1] == "" {
		t.Fatalf("%d sessions: %v", n, ids)
	}
	table := p.well(t, "", "sessions", "list")
	if !strings.HasPrefix(table, "USED ") || strings.Count(table, "\n") != 3 || !strings.Contains(table, ids[1]) || !strings.Contains(table[:strings.Index(table, ids[1])], ids[0]) {
		t.Errorf("%s", table)
	}

	shown := p.well(t, "", "sessions", "show", ids[1][:8])
	shown = anyTime.ReplaceAllString(randomID.ReplaceAllString(shown, "ID"), "TIME")
	shown = regexp.MustCompile(`tokens: \d+ in, \d+ out`).ReplaceAllString(shown, "tokens: N in, N out")
	p.golden(t, "sessions_show.md", shown)

	if got := p.run(t, "", "sessions", "rm", ids[1][:8]); got.code != program.ExitFailed {
		t.Errorf("a part of an id was enough to remove a session: %+v", got)
	}
	if got := p.run(t, "", "sessions", "rm", "none", ids[1]); got.code != program.ExitFailed || !strings.Contains(got.errs, `"none"`) {
		t.Errorf("%+v", got)
	}
	p.well(t, "", "sessions", "rm", ids[0])
	if got := p.well(t, "", "sessions", "list", "--json"); got != "" {
		t.Errorf("left: %s", got)
	}
}

// Text of a model or a tool cannot control a terminal.
func TestTranscriptIsPrintable(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.write(t, p.work+"/evil.txt", "red \x1b[31mtext\x07 \u202egnirts\r\n")
	out := p.well(t, "read evil.txt\n", "chat")
	out += p.well(t, "", "sessions", "show", randomID.FindString(p.well(t, "", "sessions", "list")))
	if strings.ContainsAny(out, "\x1b\x07\u202e\r") || strings.Count(out, "red \uFFFD[31mtext") < 3 {
		t.Errorf("%q", out)
	}
}

// Every command reads the name of a session alike: an id, its beginning, or latest. An empty name is no session.
// Only rm wants the whole id, and says so.
func TestNamesOfSessions(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	if o := p.run(t, "", "sessions", "show", "latest"); o.code != program.ExitFailed || !strings.Contains(o.errs, "there is no session in "+p.work+" yet") {
		t.Errorf("%+v", o)
	}
	p.well(t, "", "run", "read notes.txt")
	id := randomID.FindString(p.well(t, "", "sessions", "list"))
	for _, command := range []string{"sessions show", "sessions export --force --output x", "translate --to acp", "sessions archive --restore", "sessions repair", "run hello --session", "chat --session"} {
		for _, name := range []string{id, id[:8], "latest"} {
			p.well(t, "", append(strings.Fields(command), name)...)
		}
		if o := p.run(t, "", append(strings.Fields(command), "")...); o.code != program.ExitUsage || !strings.Contains(o.errs, "the beginning of an ID, or latest") {
			t.Errorf("%s '': %+v", command, o)
		}
	}
	if o := p.run(t, "", "attach", ""); o.code != program.ExitUsage {
		t.Errorf("attach '': %+v", o)
	}
	for _, name := range []string{id[:8], "latest"} {
		if o := p.run(t, "", "sessions", "rm", name); o.code != program.ExitFailed || !strings.Contains(o.errs, "only a whole ID is taken; this session's is "+id) {
			t.Errorf("rm %s: %+v", name, o)
		}
	}
	p.well(t, "", "sessions", "rm", id)
}

// A chat or a run in which nothing but commands was carried out leaves no session behind, and a command gives a
// session no title.
func TestCommandsAloneMakeNoSession(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.well(t, "/costs\n/compact\n", "chat")
	p.well(t, "", "run", "/costs")
	if list := p.well(t, "", "sessions", "list", "--json"); list != "" {
		t.Errorf("%s", list)
	}
	p.well(t, "/costs\n```go\nx\n```\nread notes.txt\n", "chat", "--plain")
	if list := p.well(t, "", "sessions", "list", "--json"); !strings.Contains(list, `"title":"x"`) {
		t.Errorf("%s", list)
	}
}
