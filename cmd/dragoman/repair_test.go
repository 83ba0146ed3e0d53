package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// damageLog damages the line of the only session's log that contains the text, the first or the
// last, and returns the file and its new content.
func (p *place) damageLog(t *testing.T, find func(b, text []byte) int, text string) (path string, b []byte) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.data, "sessions", "??", "*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	if b, err = os.ReadFile(logs[0]); err != nil {
		t.Fatal(err)
	}
	at := find(b, []byte(text))
	if at < 0 {
		t.Fatalf("no %q in %s", text, b)
	}
	b[at] ^= 1
	p.write(t, logs[0], string(b))
	return logs[0], b
}

// A damaged session is shown with its losses, reported by the doctor, and repaired: once, and the
// damaged log is kept.
func TestDamagedSessionIsReportedAndRepaired(t *testing.T) {
	unixOnly(t)
	for _, c := range []struct {
		name   string
		find   func(b, text []byte) int
		told   string // in the transcript
		damage string // to the doctor
		also   string // also in the transcript
	}{
		{"in the middle", bytes.Index, "1 record is missing here: ", "1 record is missing: ", "echo two"},
		{"at the end", bytes.LastIndex, "The log of this session is damaged: ", "", "The turn was interrupted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.well(t, "run echo one\ny\nrun echo two\ny\n", "chat")
			id := randomID.FindString(p.well(t, "", "sessions", "list"))
			if got := p.well(t, "", "sessions", "repair", id); got != "Session "+id+" is intact.\n" {
				t.Errorf("%q", got)
			}
			log, was := p.damageLog(t, c.find, `"turn_ended"`)

			command := "dragoman sessions repair " + id
			shown := p.well(t, "", "sessions", "show", id)
			for _, want := range []string{c.told, " bytes are damaged, at byte ", log, command, c.also} {
				if !strings.Contains(shown, want) {
					t.Errorf("%q is not shown:\n%s", want, shown)
				}
			}
			if strings.Contains(shown, "is running") {
				t.Errorf("a turn runs:\n%s", shown)
			}
			if got := p.run(t, "", "doctor"); got.code == 0 || !strings.Contains(got.out, "✗ session "+id+" is damaged: "+c.damage) || !strings.Contains(got.out, "→ "+command) {
				t.Errorf("the doctor: %+v", got)
			}
			if got := p.well(t, "", "sessions", "repair", "--dry-run", id[:8]); !strings.Contains(got, "Session "+id+" is damaged: "+c.damage) || !strings.Contains(got, "Nothing was changed") {
				t.Errorf("a dry run: %s", got)
			}
			if now, err := os.ReadFile(log); err != nil || !bytes.Equal(now, was) {
				t.Errorf("looking changed the log: %v", err)
			}

			got := p.well(t, "", "sessions", "repair", id[:8])
			said := regexp.MustCompile(`^Session ` + id + ` is repaired\. Problem: ` + c.damage + `\d+ bytes are damaged, at byte \d+ of (\S+)\.\nThe damaged log is kept in (\S+)\n$`).FindStringSubmatch(got)
			if said == nil || said[1] != log+".damaged" || said[2] != said[1] {
				t.Errorf("%q", got)
			}
			if kept, err := os.ReadFile(log + ".damaged"); err != nil || !bytes.Equal(kept, was) {
				t.Errorf("the damaged log is not kept: %v", err)
			}
			if got := p.well(t, "", "sessions", "repair", id); got != "Session "+id+" is intact.\n" {
				t.Errorf("%q", got)
			}
			if shown := p.well(t, "", "sessions", "show", id); !strings.Contains(shown, c.told) || !strings.Contains(shown, log+".damaged") || strings.Contains(shown, command) || !strings.Contains(shown, c.also) {
				t.Errorf("after the repair:\n%s", shown)
			}
			if got := p.run(t, "", "doctor"); strings.Contains(got.out, "is damaged") {
				t.Errorf("the doctor after the repair: %s", got.out)
			}
			if got := strings.Count(p.well(t, "", "sessions", "list"), id); got != 1 {
				t.Errorf("the session is listed %d times", got)
			}
		})
	}
}
