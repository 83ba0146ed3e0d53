package loop

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/inference"
)

func compacted(turn core.TurnID, auto bool) core.Event {
	return core.Compacted{Turn: turn, Summary: "Sum.", Auto: auto}
}

// Summaries, truncations and refusals.
func TestPast(t *testing.T) {
	bare, next, work := summaryText("Sum.", false, false), summaryText("Sum.", true, false), summaryText("Sum.", true, true)
	took := "(The user took back changes that were made here. These files are as they were before: /w/a, /w/b. Read a file again before you rely on what is in it.)"
	for name, test := range map[string]struct {
		events []core.Event
		want   []string
	}{
		"on demand": {
			[]core.Event{started("1", "hi"), text("m1", "hello"), ended("1", core.StopEnd), started("2", "/compact"), compacted("2", false), text("m2", "done"), ended("2", core.StopEnd), started("3", "go on")},
			[]string{quoted(bare), `assistant: "done"`, `user: "go on"`},
		},
		"on demand, and nothing said": {
			[]core.Event{started("1", "hi"), text("m1", "hello"), ended("1", core.StopEnd), started("2", "/compact"), compacted("2", false), ended("2", core.StopEnd), started("3", "go on")},
			[]string{quoted(bare, "go on")},
		},
		"in front of the first answer": {
			[]core.Event{started("1", "hi"), text("m1", "hello"), ended("1", core.StopEnd), started("2", "go on"), compacted("2", true), text("m2", "yes")},
			[]string{quoted(next, "go on"), `assistant: "yes"`},
		},
		"a command": {
			[]core.Event{core.TurnStarted{Turn: "1", Message: "u1", Prompt: words("/review")}, core.Expanded{Message: "u1", Text: "Review."}, text("m1", "I do."), compacted("1", true)},
			[]string{quoted(work, "Review.")},
		},
		"between calls": {
			[]core.Event{
				started("1", "hi"), call("c1", core.Proposed, args("{}")), call("c1", core.Running), call("c1", core.Succeeded),
				core.Steered{Turn: "1", Prompt: words("faster")},
				compacted("1", true), call("c2", core.Proposed, args("{}")), call("c2", core.Running), call("c2", core.Succeeded, content(core.Text{Text: "ok"})),
			},
			[]string{quoted(work, "hi", "faster"), `assistant: c2=look({})`, `tool: c2=look "ok"`},
		},
		"while a call runs": { // it is not visible, and its end finds nothing
			[]core.Event{
				started("1", "hi"), call("c1", core.Proposed, args("{}")), call("c1", core.Running), compacted("1", true), call("c1", core.Succeeded, content(core.Text{Text: "late"})),
				text("m1", "so"), ended("1", core.StopEnd), started("2", "and?"),
			},
			[]string{quoted(work, "hi"), `assistant: "so"`, `user: "and?"`},
		},
		"twice": {
			[]core.Event{started("1", "hi"), text("m1", "a"), compacted("1", true), text("m2", "b"), compacted("1", true), ended("1", core.StopEnd), started("2", "and?")},
			[]string{quoted(work, "hi"), `assistant: "(There was no answer.)"`, `user: "and?"`},
		},
		"in the middle of a text": { // which should not happen
			[]core.Event{started("1", "hi"), text("m1", "on"), compacted("1", true), text("m1", "e")},
			[]string{quoted(work, "hi"), `assistant: "e"`},
		},
		"refused": {
			[]core.Event{
				started("1", "hi"), text("m1", "hello"), ended("1", core.StopEnd),
				started("2", "bad"), call("c1", core.Proposed, args("{}")), call("c1", core.Succeeded),
				core.Steered{Turn: "2", Prompt: words("please")},
				text("m2", "I will not"), ended("2", core.StopRefusal),
				started("3", "good"),
			},
			[]string{`user: "hi"`, `assistant: "hello"`, `user: "good"`},
		},
		"refused behind a summary": {
			[]core.Event{
				started("1", "hi"), text("m1", "hello"), ended("1", core.StopEnd), started("2", "bad"), compacted("2", true), text("m2", "no"), ended("2", core.StopRefusal), started("3", "good"),
			},
			[]string{quoted(next, "good")},
		},
		"taken back": {
			[]core.Event{
				started("1", "hi"), text("m1", "hello"), ended("1", core.StopEnd),
				core.Reverted{Files: []core.RevertedFile{{Path: "/w/a"}, {Path: "/w/b"}}},
				core.Moved{To: "x"},
				core.Cited{Link: core.Link{URI: "http://x"}},
				started("2", "and?"),
			},
			[]string{`user: "hi"`, `assistant: "hello"`, quoted(took, "and?")},
		},
		"taken back, and could not be": {
			[]core.Event{core.Reverted{Files: []core.RevertedFile{{Path: "/w/a"}, {Path: "/w/c", Why: "it was changed since"}}}, core.Reverted{}},
			[]string{quoted("(The user took back changes that were made here. These files are as they were before: /w/a. The user wanted to take back the changes of these files, and they stayed as they are: /w/c (it was changed since). Read a file again before you rely on what is in it.)")},
		},
		"taken back while a call runs": {
			[]core.Event{
				started("1", "hi"), call("c1", core.Proposed, args("{}")),
				core.Reverted{Files: []core.RevertedFile{{Path: "/w/a"}, {Path: "/w/b"}}},
				call("c1", core.Succeeded, content(core.Text{Text: "ok"})), text("m1", "so"),
			},
			[]string{`user: "hi"`, `assistant: c1=look({})`, `tool: c1=look "ok"`, quoted(took), `assistant: "so"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := fold(test.events...)
			got := show(h.messages())
			if want := strings.Join(test.want, "\n") + "\n"; got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

// A refused turn does not count towards the window, and a summary counts with the size
// in its event.
func TestLoad(t *testing.T) {
	counted := func(n int) core.Event { return core.UsageChanged{Context: n} }
	base := 400
	for name, test := range map[string]struct {
		events []core.Event
		want   int
	}{
		"nothing":          {nil, 100},
		"estimated":        {[]core.Event{started("1", strings.Repeat("x", 40)), text("m1", strings.Repeat("y", 40))}, 120},
		"counted":          {[]core.Event{started("1", "hi"), text("m1", "hello"), counted(5000)}, 5000},
		"counted as zero":  {[]core.Event{started("1", strings.Repeat("x", 40)), counted(0)}, 110},
		"and more since":   {[]core.Event{started("1", "hi"), counted(5000), core.Steered{Prompt: words(strings.Repeat("x", 400))}}, 5100},
		"a command":        {[]core.Event{core.TurnStarted{Turn: "1", Message: "u", Prompt: words("/x")}, core.Expanded{Message: "u", Text: strings.Repeat("x", 80)}}, 120},
		"a picture":        {[]core.Event{core.TurnStarted{Turn: "1", Prompt: []core.Block{core.Image{Data: make([]byte, 1<<20)}}}}, 1600},
		"arguments, twice": {[]core.Event{started("1", ""), call("c", core.Proposed, args(`{"a":"xxxxxxxx"}`)), call("c", core.Running, args(`{"a":"xxxxxxxx"}`))}, 104},
		"a long text":      {[]core.Event{started("1", ""), text("m", strings.Repeat("x", 3*maxText))}, 100 + maxText/bytesPerToken},
		"refused":          {[]core.Event{started("1", "hi"), counted(500), ended("1", core.StopEnd), started("2", "bad"), counted(900), ended("2", core.StopRefusal)}, 500},
		"a summary":        {[]core.Event{started("1", "hi"), counted(500), core.Compacted{Summary: "x", After: 70}}, 70},
	} {
		if got := fold(test.events...).load.total(base); got != test.want {
			t.Errorf("%s: %d tokens, want %d", name, got, test.want)
		}
	}
}

// A script has no calls, the roles alternate, and its length is within the limit.
func TestScript(t *testing.T) {
	var events []core.Event
	for n := range 40 {
		id := core.CallID(fmt.Sprint("c", n))
		events = append(events, started(core.TurnID(fmt.Sprint(n)), fmt.Sprint("prompt ", n, strings.Repeat(" word", 400))), text(core.MessageID(fmt.Sprint("m", n)), "I look"),
			call(id, core.Proposed, args(`{"x":"`+strings.Repeat("a", 3000)+`"}`)), call(id, core.Succeeded, content(core.Text{Text: strings.Repeat("é", 20_000)}, core.Image{})),
			ended(core.TurnID(fmt.Sprint(n)), core.StopEnd))
	}
	all := fold(events...).past(false)
	if len(all) != 40*3 {
		t.Fatalf("%d messages", len(all))
	}
	for _, most := range []int{10 << 20, 200_000, 90_000, 40_000, 5000, 100, 0, -1} {
		got := script(all, most)
		legal(t, uint64(max(0, most)), got)
		for _, m := range got {
			if m.Calls != nil || m.Role == inference.RoleTool || m.Thoughts != nil {
				t.Fatalf("%d bytes: a call is in it", most)
			}
		}
		size := scriptBytes(got)
		if size > max(most, 9000) {
			t.Errorf("%d bytes, want at most %d", size, most)
		}
		whole := show(got)
		if !strings.Contains(whole, "prompt 0 ") || strings.Contains(whole, "prompt 1 ") == strings.Contains(whole, "Much was left out") {
			t.Errorf("%d bytes: the first words are missing, or what is left out is not said", most)
		}
	}
	if script(nil, 100) != nil {
		t.Error("nothing became something")
	}
	nobody := script(fold(core.TurnStarted{Turn: "1"}, text("m", strings.Repeat("x", 9000)), ended("1", core.StopEnd), started("2", "a"), text("n", "b"), ended("2", core.StopEnd)).past(false), 10)
	legal(t, 0, nobody)
	if nobody[0].Role != inference.RoleUser {
		t.Errorf("%s", show(nobody))
	}
}

func TestDigest(t *testing.T) {
	var events []core.Event
	for n := range 200 {
		id := core.TurnID(fmt.Sprint(n))
		events = append(events, started(id, fmt.Sprint("prompt ", n, strings.Repeat(" word", 400))), text(core.MessageID(id), "yes"), ended(id, core.StopEnd))
	}
	got := strings.Split(digest(fold(events...).past(false)), "\n")
	if len(got) != 101 || !strings.HasPrefix(got[0], "- user: prompt 0 word") || got[1] != "- (300 more)" || got[100] != "- agent: yes" || len(got[0]) > 220 {
		t.Errorf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
	}
	if digest(nil) != "" {
		t.Error("nothing became something")
	}
}
