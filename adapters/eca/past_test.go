package eca

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/adapters/eca/offer"
	"dragoman/core"
	"dragoman/core/coretest"
)

// shownOf returns the contents that a history shows, as "TYPE ID TEXT".
func shownOf(t *testing.T, lacks nameSet, client string, events ...core.Event) (list []string) {
	t.Helper()
	v := newView("c1", lacks, client, offer.New(nil))
	var lines []byte
	for _, r := range coretest.Records(1, events...) {
		lines = encode(lines, v, r)
	}
	for line := range strings.Lines(string(v.settle(lines))) {
		var m struct {
			Params struct {
				Content struct{ Type, ID, Text string }
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || len(line) > 1<<20 {
			t.Errorf("a message of %d bytes: %v", len(line), err)
		}
		if c := m.Params.Content; c.Type != "" {
			list = append(list, c.Type+" "+c.ID+" "+c.Text)
		}
	}
	return list
}

// A history shows a call as it was prepared and as it ended, where it began, and the last plan and usage alone.
func TestHistoryTellsTheEnd(t *testing.T) {
	step := func(id core.CallID, s core.CallState) core.Event {
		return core.CallChanged{Call: core.Call{ID: id, Server: core.Native, Tool: "read_file", State: s, Args: json.RawMessage(`{"path":"a"}`)}}
	}
	used := core.UsageChanged{Context: 3, Window: 9, Total: core.Usage{In: 3}}
	plan := core.PlanChanged{Entries: []core.PlanEntry{{Text: "look", Status: core.PlanActive}}}
	got := shownOf(t, nil, "VsCode",
		step("a", core.Proposed), core.CallArgs{Call: "a", Text: `{"path"`}, core.CallArgs{Call: "a", Text: `:"a"}`}, step("b", core.Proposed), used, plan,
		step("a", core.Running), step("b", core.Awaiting), step("b", core.Running), step("b", core.Errored), core.TextDelta{Message: "m", Text: "one "},
		step("c", core.Proposed), step("a", core.Succeeded), core.TextDelta{Message: "m", Text: "two"}, used, plan, core.TextDelta{Message: "m", Text: " three"},
		step("c", core.Running))
	want := []string{
		"toolCallPrepare a ", "toolCalled a ", "toolCallPrepare b ", "toolCalled b ", "text  one ", "toolCallPrepare c ", "toolCallRun c ", "toolCallRunning c ",
		"text  two three", "toolCallPrepare plan-1-15 ", "toolCallRun plan-1-15 ", "toolCalled plan-1-15 ", "usage  ",
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Texts are whole up to 256 KiB, whatever is in them; for Neovim, and for clients of early documents, they
// are cut as live ones are.
func TestHistoryHasWholeTexts(t *testing.T) {
	var events []core.Event
	for range 20 {
		events = append(events, core.TextDelta{Message: "m", Text: strings.Repeat("é\n\x01", 3000)}, core.UsageChanged{Context: 1, Window: 9})
	}
	for _, c := range []struct {
		client      string
		lacks       nameSet
		least, most int
	}{{"VsCode", nil, 1, 1}, {"Neovim", nil, 8, 8}, {"VsCode", nameSet{"chat/cleared": true}, 20, 20}} {
		said, n := "", 0
		for _, line := range shownOf(t, c.lacks, c.client, events...) {
			if text, ok := strings.CutPrefix(line, "text  "); ok {
				said += text
				n++
			}
		}
		if said != strings.Repeat("é\n\x01", 60_000) || n < c.least || n > c.most {
			t.Errorf("%s, %v: %d bytes in %d messages", c.client, c.lacks, len(said), n)
		}
	}
	events = append(events, events...)
	n := 0
	for _, line := range shownOf(t, nil, "VsCode", append(events, core.TextDelta{Message: "m", Text: strings.Repeat("\x01", 256<<10)})...) {
		if strings.HasPrefix(line, "text  ") {
			n++
		}
	}
	if n < 3 || n > 6 {
		t.Errorf("736 KB are %d messages", n)
	}
}

// A client of an early document gets every step, as before.
func TestHistoryOfEarlyDocumentsHasEveryStep(t *testing.T) {
	var events []core.Event
	for i, s := range []core.CallState{core.Proposed, core.Running, core.Succeeded} {
		events = append(events, core.CallChanged{Call: core.Call{ID: "a", Server: core.Native, Tool: "read_file", State: s, Title: fmt.Sprint(i)}})
	}
	got := shownOf(t, nameSet{"chat/cleared": true}, "VsCode", events...)
	want := "toolCallPrepare a |toolCallRun a |toolCallRunning a |toolCalled a "
	if strings.Join(got, "|") != want {
		t.Errorf("got %q", got)
	}
}
