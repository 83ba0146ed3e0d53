package loop

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fork"
)

// view returns a context: a file that stays, and the place of the cursor.
func view(file, place string) *core.Context {
	c := &core.Context{}
	if file != "" {
		c.Standing = []core.Block{core.Resource{URI: "file:///w/a.go", MIME: "text/plain", Text: file}}
	}
	if place != "" {
		c.Passing = []core.Block{core.Link{URI: "file:///w/a.go#" + place, Description: "the cursor is at " + place}}
	}
	return c
}

func (r *rig) promptWith(text string, c *core.Context) core.TurnID {
	r.t.Helper()
	id, err := r.session.Prompt(r.t.Context(), core.Prompt{Blocks: words(text), Context: c})
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// What a client keeps in view stands in the system prompt once, until it changes; the place of the
// cursor is said when it has moved, and again after a summary.
func TestContextStandsInTheSystemPromptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(
			coretest.Answer{}.Say("one"), coretest.Answer{}.Say("two"), coretest.Answer{}.Say("three"),
			coretest.Answer{}.Say("four"), coretest.Answer{}.Say("a summary"), coretest.Answer{}.Say("five"), coretest.Answer{}.Say("six"),
		)
		command := func(_ context.Context, _ *core.Turn, text string) (core.CommandResult, bool, error) {
			return core.CommandResult{Compact: text == "/compact"}, text == "/compact", nil
		}
		r := start(t, script, setup{command: command})
		defer r.close()
		check := func(n int, file string, places ...string) {
			t.Helper()
			req := script.Requests()[n]
			if strings.Count(req.System, "<resource") != strings.Count(file, "package") || !strings.Contains(req.System, file) {
				t.Errorf("request %d: the system prompt is\n%s", n, req.System)
			}
			got := show(req.Messages)
			for _, m := range req.Messages {
				for _, b := range m.Blocks {
					if l, ok := b.(core.Link); ok {
						got += l.Description + "\n"
					}
				}
			}
			if strings.Contains(got, "package") || strings.Count(got, "the cursor is at") != len(places) {
				t.Errorf("request %d: the messages are\n%s", n, got)
			}
			for _, place := range places {
				if !strings.Contains(got, place) {
					t.Errorf("request %d: without %s:\n%s", n, place, got)
				}
			}
		}
		r.finish(r.promptWith("hi", view("package a", "L1")))
		check(0, "package a", "L1")
		r.finish(r.promptWith("again", view("package a", "L1")))
		check(1, "package a", "L1")
		if first, second := script.Requests()[0].System, script.Requests()[1].System; first != second {
			t.Errorf("the system prompt of an unchanged context is another one:\n%s\n%s", first, second)
		}
		r.finish(r.promptWith("look here", view("package b </resource>", "L2")))
		check(2, "package b &lt;/resource>", "L1", "L2")
		r.finish(r.prompt("from another client"))
		check(3, "package b", "L1", "L2")
		r.finish(r.prompt("/compact"))
		r.finish(r.promptWith("go on", view("package b </resource>", "L2")))
		check(5, "package b", "L2")
		r.finish(r.promptWith("nothing", view("", "L2")))
		check(6, "", "L2")
		if strings.Contains(script.Requests()[6].System, "# Context") {
			t.Error("an empty context has a heading")
		}
	})
}

// A fork has what the client kept in view.
func TestForkKeepsTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(coretest.Answer{}.Say("one"), coretest.Answer{}.Say("two"))
		r := start(t, script, setup{})
		defer r.close()
		r.finish(r.promptWith("hi", view("package a", "L1")))
		copied, err := fork.Session(t.Context(), r.gateway, r.session, r.session.Head(), "copy")
		if err != nil {
			t.Fatal(err)
		}
		a := copied.Attach(core.Client{Name: "tester", Asks: true})
		defer a.Close()
		if _, err := a.Prompt(t.Context(), core.Prompt{Blocks: words("again"), Context: view("package a", "L1")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		requests := script.Requests()
		if requests[0].System != requests[1].System || strings.Count(requests[1].System, "package a") != 1 {
			t.Errorf("the system prompt of the copy:\n%s", requests[1].System)
		}
	})
}

// The shares of a request add up to its counted size.
func TestUsageDividesTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(coretest.Answer{}.Say("one").Use(core.Usage{In: 900, Out: 100}))
		r := start(t, script, setup{tools: []core.Tool{tool("look")}})
		defer r.close()
		id := r.promptWith("hi", view("package a", ""))
		var got core.UsageChanged
		r.read(func(ev core.Event) bool {
			if u, ok := ev.(core.UsageChanged); ok {
				got = u
			}
			e, ok := ev.(core.TurnEnded)
			return ok && e.Turn == id
		})
		sum, parts := 0, ""
		for _, s := range got.Shares {
			sum += s.Tokens
			parts += string(s.Part) + " "
		}
		if sum != 1000 || parts != "system context tools messages " || got.CompactAt != 75 {
			t.Errorf("%d tokens in %q, summarized at %d %%: %+v", sum, parts, got.CompactAt, got.Shares)
		}
		if st := r.session.State(); len(st.Shares) != len(got.Shares) || st.CompactAt != 75 {
			t.Errorf("the state has %+v at %d %%", st.Shares, st.CompactAt)
		}
	})
}
