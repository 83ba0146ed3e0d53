package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// damage is a place to damage in the log of a conversation of two turns, each of which
// runs a call, and the text that must report it.
type damage struct {
	name string
	find func(log []byte) int // a byte of it
	told string
	open bool // the last turn's end is lost
}

var damages = []damage{
	{"an answer", func(b []byte) int { return bytes.Index(b, []byte(`"usage"`)) }, "1 record is missing here: ", false},
	{"the end of a turn", func(b []byte) int { return bytes.Index(b, []byte(`"turn_ended"`)) }, "1 record is missing here: ", false},
	{"the end of a call", func(b []byte) int { return bytes.LastIndex(b, []byte(`"state":"succeeded"`)) }, "1 record is missing here: ", false},
	{"the last line", func(b []byte) int { return len(b) - 20 }, "The log of this session is damaged: ", true},
	{"a cut through the middle", func(b []byte) int { return -len(b) / 2 }, " missing here: ", false},
}

// spoil damages the log of the only session, and returns it.
func (p *place) spoil(t *testing.T, d damage) (path string, was []byte) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.data, "sessions", "??", "*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	switch at := d.find(b); {
	case at == -1:
		t.Fatalf("nothing of that is in\n%s", b)
	case at < 0:
		b = slices.Delete(b, -at, -at+300)
	default:
		b[at] ^= 1
	}
	if err := os.WriteFile(logs[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	return logs[0], b
}

// A damaged session is shown in an editor with all that is good and what is missing,
// and with nothing that runs. A prompt and its refusal name the file and the command,
// after which the same process goes on with it.
func TestDamageIsToldInEditors(t *testing.T) {
	for _, d := range editors() {
		for _, dm := range damages {
			t.Run(d.name+"/"+dm.name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				e := p.edit(t, d, launch{})
				id := e.begin()
				for _, text := range []string{"read notes.txt then stream 3 of 30", "think last then read notes.txt"} {
					if end := e.run(id, text); end != endOK {
						t.Fatalf("before: %q", end)
					}
				}
				e.leave()
				log, was := p.spoil(t, dm)

				e = p.edit(t, d, launch{})
				e.load(id)
				if d.name == "eca" { // what it shows follows the answer
					e.ask("chat/list", object{})
				}
				v := e.view(id)
				notes := notesOf(t, v.facts)
				command := "dragoman sessions repair " + id
				wantText(t, "what is told", notes, dm.told, log, command)
				if dm.open {
					wantText(t, "the turn's end", notes, "interrupted: ", "the session can be read, but not continued")
				}
				for call, state := range v.calls {
					if !slices.Contains([]string{"completed", "failed", "toolCalled", "toolCallRejected"}, state) {
						t.Errorf("call %s is still %q", call, state)
					}
				}
				end := e.run(id, "more")
				if d.name == "eca" {
					end = notesOf(t, e.view(id).facts)
				}
				wantText(t, "the refusal", end, "its log is damaged", "at byte ", log, command)
				if now, err := os.ReadFile(log); err != nil || !bytes.Equal(now, was) {
					t.Errorf("the log was touched: %v", err)
				}

				out, errs, code := p.run(t, "sessions", "repair", id)
				if code != 0 || !strings.Contains(out, log+".damaged") {
					t.Fatalf("repair: %d %s %s", code, out, errs)
				}
				if end := e.run(id, "read notes.txt"); end != endOK {
					t.Errorf("after the repair: %q", end)
				}
				e.leave()
				next := p.edit(t, d, launch{})
				next.load(id)
				if d.name == "eca" {
					next.ask("chat/list", object{})
				}
				wantText(t, "what is told after the repair", notesOf(t, next.view(id).facts), dm.told, log+".damaged")
				if end := next.run(id, "read notes.txt"); end != endOK {
					t.Errorf("in the next process: %q", end)
				}
				next.leave()
			})
		}
	}
}

// Resuming or copying a damaged session reports the damage to the client, although the
// history is not shown. So does the file that a copy is exported to.
func TestDamageIsToldWithoutAReplay(t *testing.T) {
	for _, method := range []string{"session/resume", "session/fork"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			e := p.edit(t, acpDialect(), launch{})
			id := e.begin()
			if end := e.run(id, "read notes.txt"); end != endOK {
				t.Fatalf("before: %q", end)
			}
			e.leave()
			log, _ := p.spoil(t, damages[0])

			e = p.edit(t, acpDialect(), launch{})
			m := e.ask(method, object{"sessionId": id, "cwd": e.work, "mcpServers": []any{}})
			var copied struct{ SessionID string }
			if err := json.Unmarshal(m.Result, &copied); err != nil || m.Error != nil {
				t.Fatalf("%s: %v %v", method, m.Error, err)
			}
			v := e.view(cmp.Or(copied.SessionID, id))
			told := func() string { return notesOf(t, v.facts) }
			e.read("what is missing", func() bool { return strings.Contains(told(), "missing here: ") })
			wantText(t, "what is told", told(), log, "dragoman sessions repair "+id)
			if copied.SessionID == "" {
				wantText(t, "the refusal", e.run(id, "/export copy.md"), "its log is damaged", log, "dragoman sessions repair "+id)
				shown, _, _ := p.run(t, "sessions", "show", id)
				wantText(t, "sessions show", shown, "missing here: ", log)
			} else {
				if end := e.run(copied.SessionID, "/export copy.md"); end != endOK {
					t.Errorf("/export: %q", end)
				}
				written, _ := os.ReadFile(filepath.Join(e.work, "copy.md"))
				wantText(t, "the exported text", string(written), "missing here: ", log)
			}
			e.leave()
		})
	}
}

// A client is told what is missing even if it looks at another part of the session.
func TestDamageIsToldBesideAPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	e := p.edit(t, ecaDialect(), launch{})
	id := e.begin()
	for _, text := range []string{"read notes.txt", "think about it", "read notes.txt"} {
		if end := e.run(id, text); end != endOK {
			t.Fatalf("before: %q", end)
		}
	}
	e.leave()
	log, _ := p.spoil(t, damages[0])

	e = p.edit(t, ecaDialect(), launch{})
	if m := e.ask("chat/open", object{"chatId": id, "limit": 1}); m.Error != nil {
		t.Fatal(m.Error)
	}
	e.ask("chat/list", object{})
	v := e.view(id)
	wantText(t, "the last item of the chat", notesOf(t, v.facts), "1 record is missing here: ", log)
	if len(v.said) > 0 {
		t.Errorf("a part of one item has %q", v.said)
	}
	e.leave()
	c := p.call(t, launch{})
	wantText(t, "the first entry", c.use("session_get", object{"session_id": id, "limit": 1}).text(), "1 record is missing here: ", log)
	c.leave()
}

// notesOf joins facts, without the quotes' backslashes that JSON has.
func notesOf(t *testing.T, facts []string) string {
	t.Helper()
	var b strings.Builder
	for _, f := range facts {
		var text string
		if json.Unmarshal([]byte(`"`+f+`"`), &text) == nil {
			f = text
		}
		b.WriteString(f + "\n")
	}
	return b.String()
}

// The same over MCP. No call waits for the end of a turn that is lost.
func TestDamageIsToldOverMCP(t *testing.T) {
	for _, dm := range damages {
		t.Run(dm.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c := p.call(t, launch{})
			first := c.prompt("", "read notes.txt then stream 3 of 30").Structured
			last := c.prompt(first.Session, "think last then read notes.txt").Structured
			if last.Status != "completed" {
				t.Fatalf("before: %+v", last)
			}
			id := first.Session
			c.leave()
			log, was := p.spoil(t, dm)

			c = p.call(t, launch{})
			command := "dragoman sessions repair " + id
			shown := c.use("session_get", object{"session_id": id, "limit": 500}).text()
			wantText(t, "session_get", shown, "(idle)", dm.told, log, command)
			wantText(t, "session_list", c.use("session_list", object{}).text(), id+" (idle")
			for _, turn := range []string{first.Turn, last.Turn, ""} {
				args := object{"session_id": id, "wait_seconds": 60}
				if turn != "" {
					args["turn_id"] = turn
				}
				r := c.use("agent_wait", args)
				if s := r.Structured.Status; !r.IsError && s != "completed" && s != "failed" {
					t.Errorf("agent_wait for %q: %q %s", turn, s, r.text())
				}
				wantText(t, "agent_wait", r.text(), dm.told, command) // wherever it is
				if turn == last.Turn && dm.open {
					wantText(t, "agent_wait", r.text(), "interrupted", log, command)
				}
			}
			wantText(t, "agent_cancel", c.use("agent_cancel", object{"session_id": id}).text(), "Nothing was running. ", dm.told, command)
			r := c.prompt(id, "more")
			if !r.IsError {
				t.Errorf("a prompt was taken: %s", r.text())
			}
			wantText(t, "the refusal", r.text(), "its log is damaged", "at byte ", log, command)
			if now, err := os.ReadFile(log); err != nil || !bytes.Equal(now, was) {
				t.Errorf("the log was touched: %v", err)
			}

			if out, errs, code := p.run(t, "sessions", "repair", id); code != 0 {
				t.Fatalf("repair: %d %s %s", code, out, errs)
			}
			if r := c.prompt(id, "read notes.txt"); r.Structured.Status != "completed" {
				t.Errorf("after the repair: %s", r.text())
			}
			wantText(t, "session_get after the repair", c.use("session_get", object{"session_id": id, "limit": 500}).text(), dm.told, log)
			c.leave()
		})
	}
}
