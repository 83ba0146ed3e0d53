package loop

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// reads returns a tool that reads a file, for a session whose folders have
// instructions.
func reads(name, path string) coretest.Tool {
	tl := tool(name)
	tl.Previews = func(context.Context, core.Invocation) (core.Preview, error) {
		return core.Preview{Kind: core.KindRead, Locations: []core.Location{{Path: path}}}, nil
	}
	return tl
}

// The instructions of a folder reach the model once, after the first call that has used a file
// there, again when they have changed, and again after a summary.
func TestInstructionsOfFoldersAreGivenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, asked := "Be quick.", 0
		o := Options{Instructions: func(_ context.Context, _ core.Meta, files []string) ([]Instructions, []string) {
			asked++
			if len(files) != 1 || files[0] != "/w/sub/a.go" {
				t.Errorf("asked about %q", files)
			}
			return []Instructions{{"/w/sub/AGENTS.md", text}}, []string{"/w/sub/CLAUDE.md: is not text"}
		}}
		script := coretest.NewScript(
			coretest.Answer{}.Call("x1", "look", `{}`), coretest.Answer{}.Call("x2", "look", `{}`), coretest.Answer{}.Say("one"),
			coretest.Answer{}.Call("x3", "look", `{}`), coretest.Answer{}.Say("two"),
			coretest.Answer{}.Call("x4", "look", `{}`), coretest.Answer{}.Say("three"),
			coretest.Answer{}.Say("a summary"),
			coretest.Answer{}.Call("x5", "look", `{}`), coretest.Answer{}.Say("four"),
		)
		command := func(_ context.Context, _ *core.Turn, text string) (core.CommandResult, bool, error) {
			return core.CommandResult{Compact: text == "/compact"}, text == "/compact", nil
		}
		r := start(t, script, setup{options: o, command: command, tools: []core.Tool{reads("look", "/w/sub/a.go")}})
		defer r.close()
		said := func(i int) string { return show(script.Requests()[i].Messages) }
		r.finish(r.prompt("hi"))
		if got := said(2); strings.Count(got, "Be quick.") != 1 || !strings.HasPrefix(got[strings.Index(got, "tool: x1"):], "tool: x1=look") {
			t.Errorf("after the first call:\n%s", got)
		}
		if got := said(1); strings.Index(got, "Be quick.") < strings.Index(got, "tool: x1") {
			t.Errorf("the instructions do not follow the call's result:\n%s", got)
		}
		r.finish(r.prompt("again"))
		if got := said(4); strings.Count(got, "Be quick.") != 1 {
			t.Errorf("unchanged instructions were given again:\n%s", got)
		}
		text = "Be slow."
		r.finish(r.prompt("once more"))
		if got := said(6); strings.Count(got, "Be quick.") != 1 || strings.Count(got, "Be slow.") != 1 {
			t.Errorf("after a change:\n%s", got)
		}
		r.finish(r.prompt("/compact"))
		r.finish(r.prompt("go"))
		if got := said(9); strings.Contains(got, "Be quick.") || strings.Count(got, "Be slow.") != 1 {
			t.Errorf("after a summary:\n%s", got)
		}
		if asked != 4 {
			t.Errorf("the disk was asked %d times, want once in each of 4 turns", asked)
		}
	})
}

// A conversation that is read from its log knows which instructions it has.
func TestInstructionsAreKnownFromTheLog(t *testing.T) {
	var h history
	for _, ev := range []core.Event{
		core.TurnStarted{Turn: "t1", Message: "m1", Prompt: words("hi")},
		core.CallChanged{Call: core.Call{ID: "x", Turn: "t1", Server: core.Native, Tool: "look", State: core.Proposed}},
		core.CallChanged{Call: core.Call{ID: "x", Turn: "t1", Server: core.Native, Tool: "look", Kind: core.KindRead, State: core.Succeeded, Args: []byte(`{}`), Locations: []core.Location{{Path: "/w/sub/a"}}}},
		core.Instructed{Turn: "t1", File: "/w/sub/AGENTS.md", Text: "Be quick."},
		core.TextDelta{Message: "m2", Text: "done"},
		core.TurnEnded{Turn: "t1", Stop: core.StopEnd},
	} {
		h.apply(ev)
	}
	want := "user: \"hi\"\nassistant: x=look({})\ntool: x=look \"(The call succeeded and returned nothing.)\"\nuser: \"" + inference.FolderInstructions[:len(inference.FolderInstructions)-1] + "\\nBe quick.\"\nassistant: \"done\"\n"
	if got := show(h.messages()); got != want || h.given["/w/sub/AGENTS.md"] != "Be quick." {
		t.Errorf("%s, given %v", got, h.given)
	}
}

// Instructions have a quarter of the window, and the user is told that they are longer.
func TestLongInstructionsAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := mini(Options{Instructions: func(context.Context, core.Meta, []string) ([]Instructions, []string) {
			return []Instructions{{"/w/sub/AGENTS.md", "BEGIN" + strings.Repeat(" more", 9000) + " END"}}, nil
		}})
		script := coretest.NewScript(coretest.Answer{}.Call("x1", "look", `{}`), coretest.Answer{}.Call("x2", "look", `{}`), coretest.Answer{}.Say("one"))
		script.Is = inference.ModelInfo{ID: "script/model", Window: 8_000, Tools: true}
		r := start(t, script, setup{options: o, tools: []core.Tool{reads("look", "/w/sub/a.go")}})
		defer r.close()
		got := happened(r.turn("hi"))
		last := show(script.Requests()[2].Messages)
		if len(last) > 9000 || strings.Count(last, "BEGIN") != 1 || strings.Count(last, " END") != 1 {
			t.Errorf("the model was sent %d bytes: %.300s", len(last), last)
		}
		want := "/w/sub/AGENTS.md is longer than a quarter of the model's window: the model gets its beginning and its end"
		if said := strings.Join(got, "\n"); strings.Count(said, want) != 1 {
			t.Errorf("the user was told:\n%s", said)
		}
	})
}
