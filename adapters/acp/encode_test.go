package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// ignored lists the events without a form in version 1, with the reasons why nothing is lost.
var ignored = map[string]string{
	"Opened":         "the answer to session/new says it",
	"Claimed":        "who owns a session is nothing to a client",
	"PromptQueued":   "the prompt's own answer comes when its turn has ended",
	"ThoughtStarted": "a thought's chunks carry its id",
	"ThoughtEnded":   "a thought's chunks carry its id",
	"CallArgs":       "the arguments come whole with the call",
	"Flagged":        "version 1 has no marks",
	"Bound":          "a back end's own",
	"Expanded":       "the user goes on to see what was typed",
	"Shortened":      "the user sees the whole result",
	"Archived":       "session/list shows it",
	"Unknown":        "written by a later version",
	"TurnEnded":      "the answer to session/prompt",
}

func TestEveryEventIsEncodedOrListed(t *testing.T) {
	v := NewView("s", "", core.Pos{})
	v.Offer = NewOffer(&core.Profile{Agents: []core.Agent{{Name: "code"}, {Name: "claude", External: true}}}, false)
	seen := map[string]bool{}
	plain := core.Call{ID: "plain", Tool: "run", Kind: core.KindExecute, State: core.Running} // without a change to a file
	events := append(coretest.Samples(), core.CallChanged{Call: plain}, core.CallOutput{Call: plain.ID, Text: "one\n"},
		core.SettingsChanged{Settings: core.Settings{Agent: "claude"}}, core.Offered{Agent: "claude", Choices: []core.Choice{{ID: "x"}}})
	for _, r := range coretest.Records(1, events...) {
		name := strings.TrimPrefix(fmt.Sprintf("%T", r.Event), "core.")
		out := Encode(nil, v, r)
		seen[name] = seen[name] || len(out) > 0
		checkLines(t, out)
	}
	for name, said := range seen {
		if why, listed := ignored[name]; !said && !listed {
			t.Errorf("%s is encoded as nothing and not listed", name)
		} else if said && listed && name != "TurnEnded" {
			t.Errorf("%s is listed (%s) but encoded", name, why)
		}
	}
}

func checkLines(t *testing.T, out []byte) {
	t.Helper()
	for line := range bytes.Lines(out) {
		if !json.Valid(line) || line[len(line)-1] != '\n' || len(line) > 64<<10 {
			t.Errorf("not one line of JSON below 64 KiB: %.200q", line)
		}
	}
}

// fold returns a client's result of the updates: texts joined by message, calls patched.
// patched.
func fold(t *testing.T, out []byte) string {
	t.Helper()
	text, order := map[string]string{}, []string{}
	for line := range bytes.Lines(out) {
		var m struct {
			Params struct {
				Update struct {
					SessionUpdate, MessageID, ToolCallID string
					Content                              json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		u := m.Params.Update
		key := u.SessionUpdate + u.MessageID + u.ToolCallID
		if _, ok := text[key]; !ok {
			order = append(order, key)
		}
		var c struct{ Text string }
		if json.Unmarshal(u.Content, &c) == nil {
			text[key] += c.Text
		} else {
			text[key] = string(u.Content)
		}
	}
	var b strings.Builder
	for _, k := range order {
		fmt.Fprintf(&b, "%s=%s\n", k, text[k])
	}
	return b.String()
}

// However a run is cut into deltas, a client ends with the same text.
func TestDeltasConcatenate(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var whole, cut []core.Event
		begin := core.CallChanged{Call: core.Call{ID: "c", Tool: "run", Kind: core.KindExecute, State: core.Proposed}}
		whole, cut = append(whole, begin), append(cut, begin)
		for n := range 1 + rnd.IntN(4) {
			s := strings.Repeat("añ\n\"", rnd.IntN(9000)) + "."
			mk := func(s string) core.Event {
				if n%2 == 0 {
					return core.TextDelta{Message: core.MessageID(fmt.Sprint(n)), Text: s}
				}
				return core.CallOutput{Call: "c", Text: s}
			}
			whole = append(whole, mk(s))
			for _, r := range []string{s[:len(s)/4*0], s} {
				for r != "" {
					k := min(len(r), 1+rnd.IntN(8000))
					for k < len(r) && r[k]&0xC0 == 0x80 {
						k++
					}
					cut, r = append(cut, mk(r[:k])), r[k:]
				}
			}
		}
		render := func(events []core.Event) string {
			v := NewView("s", "", core.Pos{})
			var out []byte
			for _, r := range coretest.Records(1, events...) {
				out = Encode(out, v, r)
			}
			checkLines(t, out)
			return fold(t, out)
		}
		if a, b := render(whole), render(cut); a != b {
			t.Fatalf("seed %d: whole\n%.300s\ncut\n%.300s", seed, a, b)
		}
	}
}

// Of a change to a large file only the differing lines are shown; put back into the file, they
// are the same change.
func TestLargeDiff(t *testing.T) {
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		text := func(n int) string {
			var b strings.Builder
			for range n {
				fmt.Fprintf(&b, "line %d\n", rnd.IntN(5))
			}
			return b.String()
		}
		head, tail := text(rnd.IntN(40)), text(rnd.IntN(40))
		if rnd.IntN(3) == 0 {
			tail += "no end"
		}
		was, now := head+text(rnd.IntN(3))+tail, head+text(rnd.IntN(3))+"new\n"+tail
		o, n := trimmed(was, now)
		at := strings.Index(was, o)
		for at >= 0 && was[:at]+n+was[at+len(o):] != now {
			next := strings.Index(was[at+1:], o)
			if next < 0 {
				at = -1
				break
			}
			at += 1 + next
		}
		if at < 0 {
			t.Fatalf("seed %d: %q → %q is not %q → %q", seed, o, n, was, now)
		}
		if strings.Count(o, "\n") > 2+3+2*contextLines+2 {
			t.Errorf("seed %d: %d lines are left: %q", seed, strings.Count(o, "\n"), o)
		}
		if at > 0 && was[at-1] != '\n' {
			t.Errorf("seed %d: it begins within a line: %q", seed, o)
		}
	}
	v := NewView("s", "", core.Pos{})
	big := strings.Repeat("a line of a large file\n", 10_000)
	c := core.Call{ID: "c", Tool: "edit_file", Kind: core.KindEdit, State: core.Proposed, Content: []core.Block{core.Diff{Path: "/w/a", Old: big + "end\n", New: big + "END\n"}}}
	checkLines(t, Encode(nil, v, core.Record{Seq: 1, Event: core.CallChanged{Call: c}}))
}

func FuzzEncode(f *testing.F) {
	f.Add("text", "m", "title", []byte(`{"a":1}`), uint8(0))
	f.Add("\xff\x00\u2028", "", "\x1b[31m", []byte(`not json`), uint8(5))
	states := []core.CallState{core.Proposed, core.Awaiting, core.Running, core.Succeeded, core.Errored, core.Rejected, core.Canceled}
	f.Fuzz(func(t *testing.T, text, id, title string, args []byte, n uint8) {
		v := NewView(core.SessionID(id), "", core.Pos{})
		v.Offer = NewOffer(&core.Profile{Agents: []core.Agent{{Name: "claude", External: true}}}, false)
		call := core.Call{ID: core.CallID(id), Title: title, Args: args, Output: args, State: states[int(n)%len(states)], Why: text, Content: []core.Block{core.Text{Text: text}}}
		for _, ev := range []core.Event{
			core.TextDelta{Message: core.MessageID(id), Text: text},
			core.CallChanged{Call: call},
			core.CallOutput{Call: core.CallID(id), Text: text},
			core.TurnStarted{Prompt: []core.Block{core.Text{Text: text}, core.Link{URI: text}}},
			core.TitleChanged{Title: title},
			core.TurnEnded{Err: text},
			core.Foreign{Protocol: "acp", Raw: args, Text: text},
			core.Offered{Agent: "claude", Choices: []core.Choice{{ID: id, Name: title, Value: text, Boolean: n%2 == 0, Values: []core.ChoiceValue{{ID: text, Name: title, Group: id}}}}},
		} {
			checkLines(t, Encode(nil, v, core.Record{Seq: 1, Event: ev}))
		}
	})
}

func BenchmarkTextDelta(b *testing.B) {
	v := NewView("0198f3c2-1111-7222-8333-444444444444", "", core.Pos{})
	r := core.Record{Seq: 1, Event: core.TextDelta{Message: "m1-3", Text: "twenty characters ok"}}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = Encode(dst[:0], v, r)
	}
}

// A client sees that the turn waits for a model's service, but no other phases.
func TestWaitingForTheModelIsShown(t *testing.T) {
	for _, c := range []struct {
		phase   core.Phase
		notices bool
		want    string
	}{
		{core.Phase{Kind: core.PhaseWaiting}, false, ""},
		{core.Phase{Kind: core.PhaseRetrying, After: 3400 * time.Millisecond}, false, `"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"\n[Waiting for the model's service, next try in 3s]\n"}`},
		{core.Phase{Kind: core.PhaseRetrying}, false, `Waiting until the model's service may be asked`},
		{core.Phase{Kind: core.PhaseStarting, Tool: "files, wiki"}, false, `"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"\n[Starting MCP servers: files, wiki]\n"}`},
		{core.Phase{Kind: core.PhaseRetrying, After: time.Minute}, true, `"sessionUpdate":"notice","severity":"info","title":"Waiting for the model's service, next try in 1m0s"`},
	} {
		v := NewView("s", "", core.Pos{Epoch: 1, Seq: 9})
		v.Display.Notices = c.notices
		if got := string(Encode(nil, v, core.Record{Epoch: 1, Event: c.phase})); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

// A call of a kind for which core has no word keeps it, if the protocol has one.
func TestKindsOfCalls(t *testing.T) {
	for kind, want := range map[core.CallKind]string{"switch_mode": "switch_mode", "teleport": "other", core.KindRead: "read"} {
		c := core.Call{ID: "c", Tool: "t", Kind: kind, State: core.Proposed}
		got := string(Encode(nil, NewView("s", "", core.Pos{}), core.Record{Epoch: 1, Seq: 1, Event: core.CallChanged{Call: c}}))
		if !strings.Contains(got, `"kind":"`+want+`"`) {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
