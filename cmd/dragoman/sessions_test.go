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
