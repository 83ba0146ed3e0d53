package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/inference"
)

// show renders messages, one line each.
func show(messages []inference.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s:", m.Role)
		switch m.Role {
		case inference.RoleUser:
			showBlocks(&b, m.Blocks)
		case inference.RoleAssistant:
			for _, t := range m.Thoughts {
				fmt.Fprintf(&b, " <%s%s>", t.Text, t.Sealed)
			}
			if m.Text != "" {
				fmt.Fprintf(&b, " %q", m.Text)
			}
			for _, c := range m.Calls {
				fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Name, c.Args)
			}
		case inference.RoleTool:
			fmt.Fprintf(&b, " %s=%s", m.Result.ID, m.Result.Name)
			if m.Result.Failed {
				b.WriteString(" failed")
			}
			showBlocks(&b, m.Result.Blocks)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func showBlocks(b *strings.Builder, blocks []core.Block) {
	for _, block := range blocks {
		if t, ok := block.(core.Text); ok {
			fmt.Fprintf(b, " %q", t.Text)
			continue
		}
		fmt.Fprintf(b, " %T", block)
	}
}

func words(text string) []core.Block { return []core.Block{core.Text{Text: text}} }

func started(turn core.TurnID, text string) core.Event {
	return core.TurnStarted{Turn: turn, Prompt: words(text)}
}

func text(id core.MessageID, s string) core.Event { return core.TextDelta{Message: id, Text: s} }

func ended(turn core.TurnID, stop core.StopReason) core.Event {
	return core.TurnEnded{Turn: turn, Stop: stop}
}

// call is a change of a call of the native tool "look".
func call(id core.CallID, state core.CallState, change ...func(*core.Call)) core.Event {
	c := core.Call{ID: id, Server: core.Native, Tool: "look", State: state}
	for _, f := range change {
		f(&c)
	}
	return core.CallChanged{Call: c}
}

func args(s string) func(*core.Call) {
	return func(c *core.Call) { c.Args = json.RawMessage(s) }
}

func why(s string) func(*core.Call) { return func(c *core.Call) { c.Why = s } }

func content(blocks ...core.Block) func(*core.Call) {
	return func(c *core.Call) { c.Content = blocks }
}

func of(server, tool string) func(*core.Call) {
	return func(c *core.Call) { c.Server, c.Tool = server, tool }
}

func fold(events ...core.Event) *history {
	var h history
	for _, ev := range events {
		h.apply(ev)
	}
	return &h
}

func TestHistory(t *testing.T) {
	usage := core.UsageChanged{}
	diff := core.Diff{Path: "/w/a", Old: "x", New: "y", Added: 2, Removed: 1}
	for name, test := range map[string]struct {
		events []core.Event
		want   []string
	}{
		"nothing": {},
		"text in pieces": {
			[]core.Event{started("1", "hi"), text("m1", "hel"), text("m1", "lo"), usage, ended("1", core.StopEnd), started("2", "and?")},
			[]string{`user: "hi"`, `assistant: "hello"`, `user: "and?"`},
		},
		"thoughts": {
			[]core.Event{
				started("1", "hi"),
				core.ThoughtStarted{Thought: "h1"},
				core.ThoughtDelta{Thought: "h1", Text: "hm"},
				core.ThoughtEnded{Thought: "h1", Sealed: json.RawMessage(`"s"`)},
				core.ThoughtStarted{Thought: "h2"},
				core.ThoughtEnded{Thought: "h2"}, // an empty one is left out
				text("m1", "hello"),
				core.ThoughtStarted{Thought: "h3"},
				core.ThoughtEnded{Thought: "h3", Sealed: json.RawMessage(`"late"`)},
			},
			[]string{`user: "hi"`, `assistant: <hm"s"> <"late"> "hello"`},
		},
		"the end of a call is lost": {
			[]core.Event{
				started("1", "hi"), call("c1", core.Running, args(`{"a":1}`)),
				core.Missing{Records: 2, Text: "2 records are missing in /log"},
				text("m2", "seen"), usage, ended("1", core.StopEnd),
				started("2", "so?"), text("m3", "yes"), ended("2", core.StopEnd), call("c1", core.Errored, why("interrupted")), started("3", "and?"),
			},
			[]string{
				`user: "hi"`, `assistant: c1=look({"a":1})`, `tool: c1=look failed "interrupted"`, `user: "(A part of this conversation was lost here.)"`, `assistant: "seen"`,
				`user: "so?"`, `assistant: "yes"`, `user: "and?"`,
			},
		},
		"the beginning of a call is lost": {
			[]core.Event{
				started("1", "hi"), core.Missing{Records: 1}, call("c1", core.Succeeded, content(core.Text{Text: "ok"})), text("m2", "seen"), ended("1", core.StopEnd), started("2", "so?"),
			},
			[]string{`user: "hi" "(A part of this conversation was lost here.)"`, `assistant: "seen"`, `user: "so?"`},
		},
		"the end of a turn is lost": {
			[]core.Event{started("1", "hi"), text("m1", "hello"), core.Missing{Records: 2}, text("m2", "yes"), ended("2", core.StopEnd), started("3", "so?")},
			[]string{`user: "hi"`, `assistant: "hello"`, `user: "(A part of this conversation was lost here.)"`, `assistant: "yes"`, `user: "so?"`},
		},
		"a thought alone is no answer": {
			[]core.Event{started("1", "hi"), core.ThoughtStarted{Thought: "h1"}, core.ThoughtDelta{Thought: "h1", Text: "hm"}, ended("1", core.StopCanceled), started("2", "so?")},
			[]string{`user: "hi"`, `assistant: "(The user stopped this turn before there was an answer.)"`, `user: "so?"`},
		},
		"two stretches of one answer": {
			[]core.Event{started("1", "hi"), text("m1", "one"), call("c1", core.Proposed), text("m2", "two"), usage, call("c1", core.Running, args(`{"a":1}`)), call("c1", core.Succeeded, content(core.Text{Text: "ok"}))},
			[]string{`user: "hi"`, `assistant: "one\n\ntwo" c1=look({"a":1})`, `tool: c1=look "ok"`},
		},
		"two calls and the next answer": {
			[]core.Event{
				started("1", "hi"), text("m1", "I look"), call("c1", core.Proposed), call("c2", core.Proposed, of("files", "list")),
				call("c1", core.Running, args(`{}`)), call("c2", core.Running, args(`{}`), of("files", "list")),
				call("c2", core.Succeeded, of("files", "list"), content(core.Text{Text: "two"})), call("c1", core.Succeeded, content(core.Text{Text: "one"})),
				text("m2", "done"), ended("1", core.StopEnd),
			},
			[]string{`user: "hi"`, `assistant: "I look" c1=look({}) c2=files__list({})`, `tool: c1=look "one"`, `tool: c2=files__list "two"`, `assistant: "done"`},
		},
		"answers without text": {
			[]core.Event{
				started("1", "hi"), call("c1", core.Proposed), call("c1", core.Running, args(`{}`)), call("c1", core.Succeeded),
				call("c2", core.Proposed), call("c2", core.Running, args(`{}`)), call("c2", core.Succeeded, content(diff)),
			},
			[]string{
				`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look "(The call succeeded and returned nothing.)"`,
				`assistant: c2=look({})`, `tool: c2=look "Changed /w/a: 2 lines added, 1 removed."`,
			},
		},
		"a diff beside the result": {
			[]core.Event{started("1", "hi"), call("c1", core.Proposed, args(`{}`)), call("c1", core.Succeeded, content(diff, core.Text{Text: "ok"}, core.Image{MIME: "image/png"}))},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look "ok" core.Image`},
		},
		"rejected by the user": {
			[]core.Event{started("1", "hi"), call("c1", core.Proposed, args(`{}`), content(diff)), call("c1", core.Awaiting, content(diff)), call("c1", core.Rejected, why("rejected by zed: use the other file"), content(diff))},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look failed "This call did not run: rejected by zed: use the other file."`},
		},
		"rejected without a word": {
			[]core.Event{started("1", "hi"), call("c1", core.Proposed, args(`{}`)), call("c1", core.Rejected)},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look failed "This call did not run: it was rejected by the user."`},
		},
		"failed by itself": {
			[]core.Event{started("1", "hi"), call("c1", core.Proposed, args(`{}`)), call("c1", core.Running, why("allowed by zed")), call("c1", core.Errored, why("allowed by zed"), content(core.Text{Text: "exit 1"}))},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look failed "exit 1"`},
		},
		"failed without a word": {
			[]core.Event{started("1", "hi"), call("c1", core.Proposed, args(`{}`)), call("c1", core.Running), call("c1", core.Errored)},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look failed "The call failed and gave no reason."`},
		},
		"interrupted": {
			[]core.Event{
				started("1", "hi"), text("m1", "I look"), call("c1", core.Proposed), call("c1", core.Running, args(`{}`), why("allowed by zed"), content(core.Text{Text: "$ make"})),
				call("c1", core.Errored, why("interrupted: the process that ran it has ended"), content(core.Text{Text: "$ make"})), ended("1", core.StopInterrupted),
			},
			[]string{`user: "hi"`, `assistant: "I look" c1=look({})`, `tool: c1=look failed "interrupted: the process that ran it has ended"`},
		},
		"cancelled": {
			[]core.Event{started("1", "hi"), call("c1", core.Proposed), call("c1", core.Running, args(`{}`)), call("c1", core.Canceled, why("the turn was cancelled")), ended("1", core.StopCanceled), started("2", "again")},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look failed "This call was stopped before it ended: the turn was cancelled."`, `user: "again"`},
		},
		"a call that still runs": {
			[]core.Event{started("1", "hi"), call("c1", core.Proposed, args(`{}`)), call("c1", core.Running)},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look failed "(There is no result yet.)"`},
		},
		"a call whose arguments never came": {
			[]core.Event{
				started("1", "hi"), text("m1", "I lo"), call("c1", core.Proposed),
				core.CallArgs{Call: "c1", Text: `{"pa`},
				call("c1", core.Errored, why("the turn ended: lost")), ended("1", core.StopError),
				started("2", "again"),
			},
			[]string{`user: "hi"`, `assistant: "I lo"`, `user: "again"`},
		},
		"nothing but such a call": {
			[]core.Event{started("1", "hi"), call("c1", core.Proposed), call("c1", core.Errored, why("the turn ended: lost")), ended("1", core.StopError), started("2", "again")},
			[]string{`user: "hi"`, `assistant: "(This turn failed before there was an answer.)"`, `user: "again"`},
		},
		"failed with a part of the text": {
			[]core.Event{started("1", "hi"), text("m1", "the answ"), ended("1", core.StopError), started("2", "go on")},
			[]string{`user: "hi"`, `assistant: "the answ"`, `user: "go on"`},
		},
		"no answer": {
			[]core.Event{started("1", "hi"), ended("1", core.StopEnd), started("2", "hm?"), ended("2", core.StopTokens)},
			[]string{`user: "hi"`, `assistant: "(There was no answer.)"`, `user: "hm?"`, `assistant: "(There was no answer.)"`},
		},
		"a queued turn that never began": {
			[]core.Event{started("1", "hi"), core.PromptQueued{Turn: "2", Prompt: words("later")}, ended("2", core.StopCanceled), text("m1", "hello"), ended("1", core.StopEnd)},
			[]string{`user: "hi"`, `assistant: "hello"`},
		},
		"a turn without a prompt": {
			[]core.Event{core.TurnStarted{Turn: "1"}, text("m1", "by the way"), ended("1", core.StopEnd), core.TurnStarted{Turn: "2"}, ended("2", core.StopEnd), started("3", "what?")},
			[]string{`assistant: "by the way"`, `user: "what?"`},
		},
		"steered before the answer": {
			[]core.Event{started("1", "hi"), core.Steered{Turn: "1", Prompt: words("faster")}, text("m1", "ok")},
			[]string{`user: "hi" "faster"`, `assistant: "ok"`},
		},
		"steered while the model speaks": {
			[]core.Event{started("1", "hi"), text("m1", "he"), core.Steered{Turn: "1", Prompt: words("faster")}, text("m1", "llo"), usage, text("m2", "ok")},
			[]string{`user: "hi"`, `assistant: "hello"`, `user: "faster"`, `assistant: "ok"`},
		},
		"steered without usage": {
			[]core.Event{started("1", "hi"), text("m1", "hello"), core.Steered{Turn: "1", Prompt: words("faster")}, text("m2", "ok")},
			[]string{`user: "hi"`, `assistant: "hello"`, `user: "faster"`, `assistant: "ok"`},
		},
		"steered while a call runs": {
			[]core.Event{
				started("1", "hi"), call("c1", core.Proposed), usage, call("c1", core.Running, args(`{}`)),
				core.Steered{Turn: "1", Prompt: words("a")},
				core.Steered{Turn: "1", Prompt: words("b")},
				call("c1", core.Succeeded, content(core.Text{Text: "one"})), text("m1", "ok"),
			},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look "one"`, `user: "a" "b"`, `assistant: "ok"`},
		},
		"text beside a call that runs": { // like back ends that run their own tools
			[]core.Event{started("1", "hi"), call("c1", core.Proposed, args(`{}`)), call("c1", core.Running), text("m1", "meanwhile"), usage, text("m2", "and"), call("c1", core.Succeeded, content(core.Text{Text: "one"})), text("m2", " so")},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look "one"`, `assistant: "meanwhile\n\nand so"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := show(fold(test.events...).messages())
			want := ""
			for _, line := range test.want {
				want += line + "\n"
			}
			if got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

func TestTotals(t *testing.T) {
	total := core.Usage{In: 5, Out: 7}
	if h := fold(started("1", "hi"), core.UsageChanged{Last: core.Usage{In: 1}, Total: total}); h.total != total {
		t.Errorf("got %+v", h.total)
	}
}

// Of an answer of any length, only its beginning and its end are kept, in memory as
// well, and no rune is broken.
func TestLongText(t *testing.T) {
	h := fold(started("1", "hi"))
	piece := strings.Repeat("äöü€", 1000)
	h.apply(text("m1", "BEGIN"))
	for range 500 {
		h.apply(text("m1", piece))
	}
	h.apply(text("m1", "END"))
	got := h.messages()[1].Text
	if !strings.HasPrefix(got, "BEGINäö") || !strings.HasSuffix(got, "üEND") && !strings.HasSuffix(got, "€END") || !utf8.ValidString(got) {
		t.Errorf("got %q … %q", got[:20], got[len(got)-20:])
	}
	if len(got) > maxText+100 || !strings.Contains(got, "bytes left out …]") {
		t.Errorf("%d bytes", len(got))
	}
	if c := &h.entries[1].text; cap(c.head)+cap(c.tail) > 3*maxText {
		t.Errorf("%d bytes are held", cap(c.head)+cap(c.tail))
	}
	h = fold(started("1", "hi"), call("c1", core.Proposed, args("{}")), call("c1", core.Succeeded, content(core.Text{Text: strings.Repeat("x", 3<<20)})))
	if n := len(h.messages()[2].Result.Blocks[0].(core.Text).Text); n > maxText+100 {
		t.Errorf("a result of %d bytes", n)
	}
	exact := strings.Repeat("x", maxText)
	if shorten(exact, maxText) != exact {
		t.Error("text of just the size allowed was cut")
	}
}

// Histories of random events: the law of deltas, and the requirements of every
// provider.
func TestAnyHistory(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		events := randomEvents(r)
		want := fold(events...).messages()
		legal(t, seed, want)
		load := fold(events...).load
		for range 3 {
			other := fold(regroup(r, events)...)
			if got := show(other.messages()); got != show(want) {
				t.Fatalf("seed %d: other pieces make other messages:\n%s\nand\n%s", seed, show(want), got)
			}
			if other.load != load {
				t.Fatalf("seed %d: other pieces weigh %+v instead of %+v", seed, other.load, load)
			}
		}
		cut := r.IntN(len(events) + 1)
		h := fold(events[:cut]...)
		legal(t, seed, h.messages())
		for _, step := range []bool{false, true} { // the messages for a summary, whenever one is requested
			if past := h.past(step); len(past) > 0 {
				legal(t, seed, past)
				legal(t, seed, addUser(script(past, r.IntN(2000)), words("sum it up")))
			}
		}
		for _, ev := range events[cut:] {
			h.apply(ev)
		}
		if got := show(h.messages()); got != show(want) {
			t.Fatalf("seed %d: looking at the messages in between changed them:\n%s\nand\n%s", seed, show(want), got)
		}
	}
}

// legal checks the requirements of providers for a request's messages.
func legal(t *testing.T, seed uint64, messages []inference.Message) {
	t.Helper()
	fail := func(i int, what string) {
		t.Fatalf("seed %d, message %d: %s\n%s", seed, i, what, show(messages))
	}
	var due []inference.ToolUse
	for i, m := range messages {
		if m.Role != inference.RoleTool && len(due) > 0 {
			fail(i, "a result is missing")
		}
		switch m.Role {
		case inference.RoleUser:
			if len(m.Blocks) == 0 || i > 0 && messages[i-1].Role == inference.RoleUser {
				fail(i, "an empty or a second message of the user")
			}
		case inference.RoleAssistant:
			if m.Text == "" && len(m.Calls) == 0 || i > 0 && messages[i-1].Role == inference.RoleAssistant {
				fail(i, "an empty or a second answer")
			}
			due = slices.Clone(m.Calls)
		case inference.RoleTool:
			if len(due) == 0 || due[0].ID != m.Result.ID || due[0].Name != m.Result.Name || len(m.Result.Blocks) == 0 {
				fail(i, "a result out of place")
			}
			due = due[1:]
		}
	}
	if len(due) > 0 {
		fail(len(messages), "a result is missing")
	}
}

// randomEvents makes a log of turns, including events that our own loop never writes.
func randomEvents(r *rand.Rand) (events []core.Event) {
	n := 0
	id := func(kind string) string { n++; return fmt.Sprint(kind, n) }
	for range 1 + r.IntN(4) {
		turn := core.TurnID(id("t"))
		start := core.TurnStarted{Turn: turn}
		if r.IntN(8) > 0 {
			start.Prompt = words(id("p"))
		}
		events = append(events, start)
		m := core.MessageID(id("m"))
		open := map[core.CallID]core.CallState{}
		for range r.IntN(20) {
			switch r.IntN(13) {
			case 0, 1, 2:
				events = append(events, text(m, id("x")))
			case 3:
				m = core.MessageID(id("m"))
			case 4:
				h := core.ThoughtID(id("h"))
				events = append(events, core.ThoughtStarted{Thought: h}, core.ThoughtDelta{Thought: h, Text: id("y")}, core.ThoughtEnded{Thought: h})
			case 5:
				c := core.CallID(id("c"))
				open[c] = core.Proposed
				events = append(events, call(c, core.Proposed), core.CallArgs{Call: c, Text: id("a")})
			case 6:
				events = append(events, step(r, open)...)
			case 7:
				events = append(events, core.UsageChanged{Turn: turn})
			case 8:
				events = append(events, core.Steered{Turn: turn, Prompt: words(id("s"))})
			case 9:
				events = append(events, core.Compacted{Turn: turn, Summary: id("z"), Auto: r.IntN(2) == 0, Step: r.IntN(2) == 0, After: r.IntN(3)})
			case 10:
				events = append(events, core.Reverted{Files: []core.RevertedFile{{Path: id("/f")}}})
			case 11:
				events = append(events, core.UsageChanged{Turn: turn, Context: 1 + r.IntN(1000)})
			case 12:
				mark := func() [2]int { return [2]int{r.IntN(3), r.IntN(3)} }
				events = append(events, core.Shortened{Turn: turn, Excerpts: []core.Excerpt{
					{Call: core.CallID(fmt.Sprint("c", r.IntN(n+1))), From: mark(), To: mark(), Note: "[cut]"},
				}})
			}
		}
		for _, c := range sorted(open) {
			events = append(events, call(c, core.Canceled))
		}
		stops := []core.StopReason{core.StopEnd, core.StopCanceled, core.StopError, core.StopRefusal}
		events = append(events, ended(turn, stops[r.IntN(len(stops))]))
	}
	return events
}

// step changes the state of some open call.
func step(r *rand.Rand, open map[core.CallID]core.CallState) []core.Event {
	ids := sorted(open)
	if len(ids) == 0 {
		return nil
	}
	c := ids[r.IntN(len(ids))]
	if open[c] == core.Proposed && r.IntN(2) == 0 {
		open[c] = core.Running
		return []core.Event{call(c, core.Running, args(`{}`))}
	}
	delete(open, c)
	ends := []core.CallState{core.Succeeded, core.Errored, core.Rejected, core.Canceled}
	return []core.Event{call(c, ends[r.IntN(len(ends))], content(core.Text{Text: "r"}))}
}

func sorted(open map[core.CallID]core.CallState) (ids []core.CallID) {
	for c := range open {
		ids = append(ids, c)
	}
	slices.Sort(ids)
	return ids
}

// regroup cuts and joins the pieces of text.
func regroup(r *rand.Rand, events []core.Event) (list []core.Event) {
	for _, ev := range events {
		d, ok := ev.(core.TextDelta)
		if !ok {
			list = append(list, ev)
			continue
		}
		if n := len(list); n > 0 && r.IntN(2) == 0 {
			if last, ok := list[n-1].(core.TextDelta); ok && last.Message == d.Message {
				list[n-1] = text(d.Message, last.Text+d.Text)
				continue
			}
		}
		cut := r.IntN(len(d.Text) + 1)
		for _, part := range []string{d.Text[:cut], d.Text[cut:]} {
			if part != "" {
				list = append(list, text(d.Message, part))
			}
		}
	}
	return list
}

// The result depends on the written text, not on its pieces.
func TestCappedPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := strings.Repeat("0123456789abcdef", maxText/8+3)
	for _, size := range []int{0, 1, maxText/2 - 1, maxText / 2, maxText/2 + 1, maxText - 1, maxText, maxText + 1, 2*maxText + 17} {
		var whole cappedText
		whole.write(all[:size])
		for range 20 {
			var c cappedText
			for left := all[:size]; left != ""; {
				n := 1 + r.IntN(min(len(left), 1+r.IntN(maxText)))
				c.write(left[:n])
				left = left[n:]
			}
			if c.String() != whole.String() {
				t.Fatalf("%d bytes: the pieces matter", size)
			}
		}
		if size <= maxText && whole.String() != all[:size] {
			t.Errorf("%d bytes: changed", size)
		}
	}
}

func TestOffer(t *testing.T) {
	clash := inference.ToolName("a__b", "c")
	specs := []core.Spec{
		{Server: core.Native, Name: "z"}, {Server: "a__b", Name: "c"}, {Server: core.Native, Name: clash}, {Server: "s", Name: "z", Schema: json.RawMessage(`{"x":1}`)},
	}
	tools, byName := offer(specs)
	for i, s := range specs {
		found, ok := byName.find(tools[i].Name)
		if !ok || found.Server != s.Server || found.Name != s.Name {
			t.Errorf("%q finds %s/%s, want %s/%s", tools[i].Name, found.Server, found.Name, s.Server, s.Name)
		}
	}
	if tools[0].Name != "z" || string(tools[0].Schema) != `{"type":"object"}` || string(tools[3].Schema) != `{"x":1}` {
		t.Errorf("got %+v", tools)
	}
	if got, ok := byName.find("s/z"); ok || got.Server != core.Native || got.Name != "s/z" {
		t.Errorf("a name that nobody offered: %+v", got)
	}
	if got, _ := byName.find(strings.Repeat("é", 500)); len(got.Name) > 200 || !utf8.ValidString(got.Name) {
		t.Errorf("a long name: %q", got.Name)
	}
}

// The reason why a model could not answer has no advice and a bounded length, with the
// number of characters cut.
func TestReasonOf(t *testing.T) {
	err := fmt.Errorf("ask: %w", &inference.Error{Kind: inference.ErrServer, Model: "a/m", Message: strings.Repeat("ä", 600), Hint: "Try again later"})
	if got, want := reasonOf(err), "server: "+strings.Repeat("ä", 492)+"… (108 more characters)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := reasonOf(errors.New("secret")); got != "it did not say why" {
		t.Errorf("an error of another kind: %s", got)
	}
}
