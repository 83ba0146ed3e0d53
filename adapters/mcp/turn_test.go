package mcp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/display"
)

// records numbers events like a session's log: successive deltas of one stream are one record
// that grows.
func records(events ...core.Event) []core.Record {
	var out []core.Record
	at := core.Pos{Epoch: 1, Seq: 1}
	for i, ev := range events {
		if _, ok := ev.(core.Phase); ok {
			out = append(out, core.Record{Epoch: 1, Event: ev})
			continue
		}
		if i > 0 && at.Off > 0 && stream(ev) != stream(events[i-1]) {
			at = core.Pos{Epoch: 1, Seq: at.Seq + 1}
		}
		r := core.Record{Epoch: 1, Seq: at.Seq, Off: at.Off, Event: ev}
		at = r.End()
		out = append(out, r)
	}
	return out
}

// stream returns the stream of a delta; "" is none.
func stream(ev core.Event) string {
	switch e := ev.(type) {
	case core.TextDelta:
		return "text " + string(e.Message)
	case core.ThoughtDelta:
		return "thought " + string(e.Thought)
	case core.CallArgs:
		return "args " + string(e.Call)
	case core.CallOutput:
		return "output " + string(e.Call)
	}
	return ""
}

func changed(id core.CallID, state core.CallState) core.CallChanged {
	return core.CallChanged{Call: core.Call{ID: id, Turn: "t1", Server: core.Native, Tool: "grep", State: state, Why: "because"}}
}

func TestTurn(t *testing.T) {
	begin := core.TurnStarted{Turn: "t1"}
	end := func(s core.StopReason) core.TurnEnded { return core.TurnEnded{Turn: "t1", Stop: s} }
	ask := core.Asked{Ask: core.Ask{ID: "q1", Kind: core.AskApproval, Turn: "t1", Call: "c1"}}
	say := func(m core.MessageID, s string) core.TextDelta { return core.TextDelta{Message: m, Text: s} }
	for _, test := range []struct {
		name   string
		events []core.Event
		status string
		text   string
	}{
		{"not begun", []core.Event{say("m0", "earlier")}, statusRunning, ""},
		{"begun", []core.Event{begin}, statusRunning, ""},
		{"answer", []core.Event{say("m0", "earlier"), begin, say("m1", "he"), say("m1", "llo"), end(core.StopEnd)}, statusCompleted, "hello"},
		{"behind the end", []core.Event{begin, say("m1", "hello"), end(core.StopEnd), say("m2", "later")}, statusCompleted, "hello"},
		{"two messages", []core.Event{begin, say("m1", "one"), say("m2", "two"), end(core.StopEnd)}, statusCompleted, "one\n\ntwo"},
		{"behind a call", []core.Event{begin, say("m1", "let me look"), changed("c1", core.Proposed), changed("c1", core.Running), changed("c1", core.Succeeded), say("m2", "found"), end(core.StopEnd)}, statusCompleted, "found"},
		{"nothing behind a call", []core.Event{begin, say("m1", "let me look"), changed("c1", core.Proposed), changed("c1", core.Errored), end(core.StopEnd)}, statusCompleted, "let me look"},
		{"while a call runs", []core.Event{begin, changed("c1", core.Proposed), say("m1", "still "), changed("c1", core.Running), say("m1", "here"), end(core.StopEnd)}, statusCompleted, "still here"},
		{"cancelled", []core.Event{begin, say("m1", "one"), end(core.StopCanceled)}, statusCancelled, "one"},
		{"cancelled before it began", []core.Event{end(core.StopCanceled)}, statusCancelled, ""},
		{"refused", []core.Event{begin, end(core.StopRefusal)}, statusRefused, ""},
		{"requests", []core.Event{begin, end(core.StopRequests)}, statusMaxTurns, ""},
		{"a limit", []core.Event{begin, say("m1", "on"), core.TurnEnded{Turn: "t1", Stop: core.StopLimit, Err: "$1 is spent"}}, statusMaxTurns, "on\n\n$1 is spent"},
		{"tokens", []core.Event{begin, say("m1", "on"), end(core.StopTokens)}, statusCompleted, "on"},
		{"interrupted", []core.Event{begin, end(core.StopInterrupted)}, statusFailed, ""},
		{"failed", []core.Event{begin, say("m1", "on"), core.TurnEnded{Turn: "t1", Stop: core.StopError, Err: "no net"}}, statusFailed, "on\n\nno net"},
		{"asked", []core.Event{begin, ask}, statusAwaiting, ""},
		{"answered", []core.Event{begin, ask, core.Answered{Ask: "q1"}}, statusRunning, ""},
		{"a question", []core.Event{begin, core.Asked{Ask: core.Ask{ID: "q1", Kind: core.AskQuestion, Turn: "t1"}}}, statusAwaiting, ""},
		{"a question for a secret", []core.Event{begin, core.Asked{Ask: core.Ask{ID: "q1", Kind: core.AskQuestion, Turn: "t1", Secret: true}}}, statusRunning, ""},
		{"its end is lost", []core.Event{begin, say("m1", "on"), core.Missing{Records: 1}, core.TurnStarted{Turn: "t2"}, say("m2", "other")}, statusFailed, "on\n\ninterrupted: the session's log has lost the turn's end"},
		{"another turn's end", []core.Event{begin, core.TurnEnded{Turn: "t0"}}, statusRunning, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := turn{id: "t1"}
			for _, r := range records(test.events...) {
				f.apply(r)
			}
			r := f.result("s", f.asks)
			if r.Status != test.status || r.answer != test.text {
				t.Errorf("%s %q, want %s %q", r.Status, r.answer, test.status, test.text)
			}
			if r.say() == "" || r.toolResult(proto.Modern).IsError != (test.status == statusFailed) {
				t.Errorf("said %q, error %v", r.say(), r.toolResult(proto.Modern).IsError)
			}
		})
	}
}

// What a sub-agent of an external agent has found is in no text of the turn, so its call has it.
func TestResultOfASubagent(t *testing.T) {
	c := core.Call{ID: "c1", Turn: "t1", Server: "claude", Tool: "subagent", Title: "Kid", State: core.Proposed, Child: "s2"}
	f := turn{id: "t1"}
	f.apply(core.Record{Event: core.TurnStarted{Turn: "t1"}})
	f.apply(core.Record{Event: core.CallChanged{Call: c}})
	c.State, c.Content = core.Succeeded, []core.Block{core.Text{Text: "a treasure"}}
	f.apply(core.Record{Event: core.CallChanged{Call: c}})
	if got := f.result("s", nil).Calls; len(got) != 1 || got[0].Summary != "Kid: a treasure" {
		t.Errorf("%+v", got)
	}
}

// A caller gets the images, sounds and links that an external agent has answered with, as far as its
// version has them, and there is room.
func TestContentOfAnExternalAgent(t *testing.T) {
	f := turn{id: "t1"}
	f.apply(core.Record{Event: core.TurnStarted{Turn: "t1"}})
	for _, b := range []core.Block{
		core.Image{MIME: "image/png", Data: []byte("png")},
		core.Image{MIME: "image/png", Data: make([]byte, maxMedia)},
		core.Image{URI: "file:///w/a.png"},
		core.Audio{MIME: "audio/wav", Data: []byte("wav")},
		core.Link{URI: "file:///w/b.go"},
	} {
		f.apply(core.Record{Event: core.Foreign{Protocol: "acp", Raw: []byte("{}"), Text: "[it]", Content: []core.Block{b}}})
	}
	if got := f.result("s", nil).toolResult(proto.Modern).Content; len(got) != 2 {
		t.Errorf("while it runs: %d contents", len(got))
	}
	f.apply(core.Record{Event: core.TurnEnded{Turn: "t1", Stop: core.StopEnd}})
	for version, want := range map[string]string{
		proto.Oldest:  "*mcp.TextContent *mcp.ImageContent",
		proto.Batches: "*mcp.TextContent *mcp.ImageContent *mcp.AudioContent",
		proto.Modern:  "*mcp.TextContent *mcp.ImageContent *mcp.AudioContent *mcp.ResourceLink *mcp.ResourceLink",
	} {
		var got []string
		for _, c := range f.result("s", nil).toolResult(version).Content {
			got = append(got, fmt.Sprintf("%T", c))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func TestTurnBounds(t *testing.T) {
	f := turn{id: "t1"}
	f.apply(core.Record{Event: core.TurnStarted{Turn: "t1"}})
	for i := range 3 * maxCalls {
		id := core.CallID(fmt.Sprint(i))
		f.apply(core.Record{Event: changed(id, core.Proposed)})
		f.apply(core.Record{Event: changed(id, core.Running)})
		f.apply(core.Record{Event: changed(id, core.Succeeded)})
	}
	for range 1000 {
		f.apply(core.Record{Event: core.TextDelta{Message: "m", Text: strings.Repeat("ä", 500)}})
	}
	r := f.result("s", nil)
	if n := len(r.Calls); n != maxCalls+1 || r.Calls[n-1].Summary != fmt.Sprintf("%d more calls", 2*maxCalls) {
		t.Errorf("%d calls, the last is %+v", n, r.Calls[n-1])
	}
	if len(r.answer) > maxText+100 || !strings.Contains(r.answer, "bytes more") || len(f.text.head) > maxText+10 {
		t.Errorf("%d bytes of text, %d kept", len(r.answer), len(f.text.head))
	}
}

// Every event of the samples has a line, an event or an entry, or is listed here as one that
// deliberately has none.
func TestEveryEventIsShownOrListed(t *testing.T) {
	silent := map[string]string{
		"lines": "Opened Claimed PromptQueued TurnStarted Steered ThoughtDelta ThoughtEnded CallArgs CallOutput Asked Answered UsageChanged " +
			"TitleChanged Archived SettingsChanged Bound Flagged Expanded Compacted Shortened Reverted Cited Moved Truncated TurnEnded Offered Unknown",
		"events": "Opened Claimed PromptQueued TurnStarted Steered Phase ThoughtStarted ThoughtEnded CallArgs CallOutput Answered UsageChanged " +
			"TitleChanged Archived SettingsChanged Bound Flagged Expanded Compacted Shortened Reverted Cited Moved Truncated Offered Unknown",
		"entries": "Opened Claimed PromptQueued Phase ThoughtStarted ThoughtDelta ThoughtEnded CallArgs CallOutput Asked Answered UsageChanged " +
			"TitleChanged Archived SettingsChanged Bound Flagged Expanded Compacted Shortened Reverted Cited Moved Truncated Offered Unknown",
	}
	f := turn{id: "t1", begun: true}
	var page transcript
	said := map[string]map[string]bool{"lines": {}, "events": {}, "entries": {}}
	seen := map[string]bool{}
	for _, ev := range coretest.Samples() {
		kind := strings.TrimPrefix(reflect.TypeOf(ev).String(), "core.")
		seen[kind] = true
		f.apply(core.Record{Event: ev})
		_, isEvent := happened(&f, ev)
		_, isEntry := page.entry(ev)
		for where, is := range map[string]bool{"lines": progressLine(&f, ev) != "", "events": isEvent, "entries": isEntry} {
			said[where][kind] = said[where][kind] || is
		}
	}
	for where, list := range silent {
		for kind := range seen {
			if listed := slices.Contains(strings.Fields(list), kind); said[where][kind] == listed {
				t.Errorf("%s: %s says something: %v, listed as silent: %v", where, kind, said[where][kind], listed)
			}
		}
	}
}

// regroup cuts and joins deltas at random, which does not change their content.
func regroup(rnd *rand.Rand, recs []core.Record) []core.Record {
	var out []core.Record
	for _, r := range recs {
		last := len(out) - 1
		if last >= 0 && r.Seq != 0 && out[last].Seq == r.Seq && rnd.IntN(2) == 0 {
			if out[last].Event = coretest.JoinDeltas(out[last].Event, r.Event); out[last].Event == nil {
				panic("not a delta")
			}
			continue
		}
		if e, ok := r.Event.(core.TextDelta); ok && rnd.IntN(2) == 0 {
			if n := len(display.Cut(e.Text, rnd.IntN(len(e.Text)+1))); n > 0 && n < len(e.Text) {
				out = append(out, core.Record{Epoch: r.Epoch, Seq: r.Seq, Off: r.Off, Event: core.TextDelta{Message: e.Message, Text: e.Text[:n]}})
				r.Off, r.Event = r.Off+uint64(n), core.TextDelta{Message: e.Message, Text: e.Text[n:]}
			}
		}
		out = append(out, r)
	}
	return out
}

// random returns a turn's events.
func random(rnd *rand.Rand) []core.Event {
	events := []core.Event{core.Opened{}, core.TurnStarted{Turn: "t1", Prompt: []core.Block{core.Text{Text: "go"}}}}
	for i := range rnd.IntN(40) {
		id := core.CallID(fmt.Sprint("c", rnd.IntN(3)))
		switch rnd.IntN(6) {
		case 0:
			events = append(events, changed(id, core.Proposed))
		case 1:
			events = append(events, changed(id, core.Succeeded))
		case 2:
			events = append(events, core.ThoughtDelta{Thought: "h", Text: "hmm"})
		case 3:
			events = append(events, core.Notice{Text: fmt.Sprint(i)})
		default:
			events = append(events, core.TextDelta{Message: core.MessageID(fmt.Sprint("m", rnd.IntN(2))), Text: strings.Repeat("aä😀", rnd.IntN(4)+1)})
		}
	}
	return append(events, core.TurnEnded{Turn: "t1", Stop: core.StopEnd})
}

// The result, the events after any cursor and the transcript's pages are the same for every
// grouping of deltas. Pages and cursors, put together, contain everything once.
func TestGroupingDoesNotMatter(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		recs := records(random(rnd)...)
		whole, all, entries := folded(recs), eventsOf(recs, core.Pos{}), pagesOf(recs, 1000)
		other := regroup(rnd, recs)
		if got := folded(other); !reflect.DeepEqual(got, whole) {
			t.Fatalf("seed %d: result %+v, want %+v", seed, got, whole)
		}
		if got := pagesOf(other, rnd.IntN(4)+1); !reflect.DeepEqual(got, entries) {
			t.Fatalf("seed %d: pages %+v, want %+v", seed, got, entries)
		}
		// Read up to any point, then from the cursor on, with another grouping.
		first := events{}
		f := turn{id: "t1"}
		for _, r := range recs[:rnd.IntN(len(recs))] {
			if f.apply(r) {
				first.add(&f, r)
			}
		}
		if got := glue(first.list, eventsOf(other, first.after)); !reflect.DeepEqual(got, glue(all, nil)) {
			t.Fatalf("seed %d: events %+v, want %+v", seed, got, all)
		}
	}
}

func folded(recs []core.Record) turnResult {
	f := turn{id: "t1"}
	for _, r := range recs {
		f.apply(r)
	}
	return f.result("s", f.asks)
}

func eventsOf(recs []core.Record, after core.Pos) []event {
	f, e := turn{id: "t1"}, events{after: after}
	for _, r := range recs {
		if f.apply(r) {
			e.add(&f, r)
		}
	}
	return e.list
}

// glue joins two lists; a text that continues in the second is one event.
func glue(a, b []event) []event {
	out := slices.Clone(a)
	for _, e := range b {
		if last := len(out) - 1; last >= 0 && out[last].Type == e.Type && (e.Type == eventText || e.Type == eventThought) {
			out[last].Text += e.Text
			continue
		}
		out = append(out, e)
	}
	return out
}

// pagesOf reads a transcript by pages and joins them.
func pagesOf(recs []core.Record, limit int) (all []entry) {
	at := core.Pos{}
	for {
		p := transcript{limit: limit, pos: at}
		for _, r := range recs {
			if r.Seq != 0 && p.pos.Before(r.End()) {
				if _, rest, ok, err := p.pos.Splice(r); err == nil && ok {
					p.add(rest)
				}
			}
		}
		for _, e := range p.page() {
			e.size = 0
			e.Turn = "" // it is unknown for a text after the page that began the turn
			all = append(all, e)
		}
		if !p.full {
			return all
		}
		at = p.pos
	}
}

func TestListPages(t *testing.T) {
	var all []core.Summary
	for i := range 25 {
		all = append(all, core.Summary{ID: core.SessionID(fmt.Sprint(i)), Updated: time.Unix(int64(i%4), 0)})
	}
	want := page(slices.Clone(all), nil, 100).Sessions
	for limit := 1; limit < 9; limit++ {
		var got []listedSession
		for cursor := ""; ; {
			after, err := parseListCursor(cursor)
			if err != nil {
				t.Fatal(err)
			}
			p := page(slices.Clone(all), after, limit)
			got = append(got, p.Sessions...)
			if cursor = p.Next; cursor == "" {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
}

// A session whose last use an external agent does not tell has no time.
func TestListWithoutATime(t *testing.T) {
	out := page([]core.Summary{{ID: "bot:a", Cwd: "/w", Title: "T", Elsewhere: true}}, nil, 1)
	b, err := json.Marshal(out)
	if err != nil || strings.Contains(string(b), "updated_at") {
		t.Errorf("%s, %v", b, err)
	}
	if got := listText(out); got != "- bot:a (idle, /w): T\n" {
		t.Errorf("%q", got)
	}
}

// FuzzTurn feeds the fold, the events and the transcript with arbitrary records.
func FuzzTurn(f *testing.F) {
	f.Add(uint64(1), "text")
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		events := coretest.Samples()
		for range rnd.IntN(20) {
			i := rnd.IntN(len(events))
			events = slices.Insert(events, i, core.Event(core.TextDelta{Message: "m", Text: text}), core.Event(core.CallChanged{Call: core.Call{
				ID: core.CallID(text), Tool: text, Title: text, Why: text, Args: []byte(text), State: core.Awaiting,
			}}))
		}
		for _, m := range Render(records(events...)) {
			if strings.ContainsAny(m, "\n\r") {
				t.Errorf("not a line: %q", m)
			}
		}
		pagesOf(records(events...), 5)
		eventsOf(records(events...), core.Pos{})
	})
}
