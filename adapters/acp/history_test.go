package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/core"
	"dragoman/core/coretest"
)

// pastOf returns what a client that loads a session gets for events, as lines, and the most that was held back.
func pastOf(t *testing.T, events ...core.Event) (lines []string, held int) {
	t.Helper()
	v := NewView("s", "", core.Pos{Epoch: 1, Seq: 1 << 40})
	v.remember()
	var dst []byte
	for _, r := range coretest.Records(1, events...) {
		dst = Encode(dst, v, r)
		held = max(held, v.history.Held())
	}
	dst = v.history.settle(dst, v)
	for line := range strings.Lines(string(dst)) {
		if lines = append(lines, line); len(line) > 1<<20 || !json.Valid([]byte(line)) {
			t.Errorf("a line of %d bytes: %.100s", len(line), line)
		}
	}
	return lines, held
}

// updateOf is a line, as far as these tests look at it.
func updateOf(t *testing.T, line string) (kind, id, status, text string) {
	t.Helper()
	var m struct {
		Params struct {
			Update struct {
				SessionUpdate, ToolCallID, Status string
				Content                           json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	u := m.Params.Update
	var c struct{ Text string }
	_ = json.Unmarshal(u.Content, &c) // that of a call is a list
	return u.SessionUpdate, u.ToolCallID, u.Status, c.Text
}

// Texts of a history are whole up to 256 KiB, and no line is longer than 1 MiB, whatever is in them.
func TestHistoryHasWholeTexts(t *testing.T) {
	piece := strings.Repeat("é\n\x01", 10_000) // 40 KB, 100 KB in a line
	for _, c := range []struct {
		count, want int
	}{{1, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 2}, {20, 4}} {
		var events []core.Event
		for i := range c.count {
			events = append(events, core.TextDelta{Message: "m", Text: piece},
				core.UsageChanged{Turn: "t", Context: i, Window: 100}, core.PlanChanged{Entries: []core.PlanEntry{{Text: fmt.Sprint(i)}}})
		}
		lines, _ := pastOf(t, events...)
		said, pieces, kinds := "", 0, map[string]int{}
		for _, line := range lines {
			kind, _, _, text := updateOf(t, line)
			if kinds[kind]++; kind == acp.AgentChunk {
				said += text
				pieces++
			}
		}
		if said != strings.Repeat(piece, c.count) || kinds[acp.UpdateUsage] != 1 || kinds["plan"] != 1 {
			t.Errorf("%d pieces: %d bytes are said, %v", c.count, len(said), kinds)
		}
		if pieces != c.want {
			t.Errorf("%d pieces became %d, want %d", c.count, pieces, c.want)
		}
	}
}

// What stands behind a call that takes long is not held back without limit: then the call is shown as it
// is, and its end follows.
func TestHistoryHoldsBackLittle(t *testing.T) {
	call := core.Call{ID: "long", Server: core.Native, Tool: "run", Kind: core.KindOther, State: core.Running}
	events := []core.Event{core.CallChanged{Call: call}}
	for i := range 1000 {
		c := core.Call{
			ID: core.CallID(fmt.Sprint("c", i)), Server: core.Native, Tool: "run", Kind: core.KindOther, State: core.Succeeded,
			Content: []core.Block{core.Text{Text: strings.Repeat("word ", 1600)}},
		}
		events = append(events, core.CallChanged{Call: c}, core.CallOutput{Call: "long", Text: fmt.Sprint("line ", i, "\n")})
	}
	call.State = core.Succeeded
	lines, held := pastOf(t, append(events, core.CallChanged{Call: call})...)
	if held > pump.MaxHeld+64<<10 {
		t.Errorf("%d bytes are held back", held)
	}
	var of []string
	for _, line := range lines {
		if kind, id, status, _ := updateOf(t, line); id == "long" {
			of = append(of, kind+" "+status)
		}
	}
	if len(of) < 2 || len(of) > 8 || of[0] != "tool_call in_progress" || of[len(of)-1] != "tool_call_update completed" {
		t.Errorf("the long call is shown as %q", of)
	}
	if n := len(lines); n != 1000+len(of) {
		t.Errorf("%d lines", n)
	}
}

// Calls that run at the same time are each shown once, with their ends, in the order in which they began.
func TestHistoryShowsACallOnce(t *testing.T) {
	step := func(id core.CallID, s core.CallState) core.Event {
		return core.CallChanged{Call: core.Call{ID: id, Server: core.Native, Tool: "run", Kind: core.KindOther, State: s}}
	}
	lines, _ := pastOf(t, step("a", core.Proposed), step("b", core.Proposed), step("a", core.Running), step("b", core.Running), step("b", core.Succeeded),
		core.TextDelta{Message: "m", Text: "behind"}, step("c", core.Proposed), step("a", core.Errored), core.TextDelta{Message: "m", Text: "later"}, step("c", core.Running))
	var got []string
	for _, line := range lines {
		kind, id, status, text := updateOf(t, line)
		got = append(got, strings.TrimSpace(kind+" "+id+status+text))
	}
	want := "tool_call afailed|tool_call bcompleted|agent_message_chunk behind|tool_call cin_progress|agent_message_chunk later"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}
