package loop

import (
	"context"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// askTool is a tool that asks the user the question in its arguments.
type askTool struct{}

func (askTool) Open(_ context.Context, h core.ToolHost) (core.Toolset, error) {
	return coretest.Tools{tool("ask", func(ctx context.Context, inv core.Invocation) (core.Result, error) {
		r, err := h.Ask(ctx, core.Ask{Text: "Asked with " + string(inv.Args), Call: inv.Call, Later: true})
		return core.Result{Blocks: words(string(r.Outcome))}, err
	})}, nil
}

func tail(list []string, n int) []string { return list[max(0, len(list)-n):] }

// A question for which the client has no form is the last event of the turn: the model
// is not asked again, calls after the question do not run, and the next message is the
// answer.
func TestQuestionEndsTheTurn(t *testing.T) {
	plain := core.Client{Name: "plain", Asks: true, Questions: true, NoForms: true}
	t.Run("calls in order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			script := coretest.NewScript(
				coretest.Answer{}.Say("Well.").Call("x1", "change", `{}`).Call("x2", "ask", `{"at":"b"}`).Call("x3", "change", `{}`),
				coretest.Answer{}.Say("Thanks."))
			r := start(t, script, setup{tools: []core.Tool{changing("change")}, boxes: []core.Toolbox{askTool{}}, client: plain})
			defer r.close()
			wantLines(t, tail(r.finish(r.prompt("hi")), 5), "call x2 ask running allowed by the test", "call x2 ask succeeded allowed by the test",
				"call x3 change errored "+postponed, `text Asked with {"at":"b"}`, "ended end_turn")
			if n := len(script.Requests()); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			r.finish(r.prompt("the first"))
			wantMessages(t, script, `user: "hi"`, `assistant: "Well.\n\nAsked with {\"at\":\"b\"}" x1=change({}) x2=ask({"at":"b"}) x3=change({})`, `tool: x1=change "change got {}"`,
				`tool: x2=ask "later"`, `tool: x3=change failed "`+postponed+`"`, `user: "the first"`)
		})
	})
	t.Run("calls beside each other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			script := coretest.NewScript(coretest.Answer{}.Call("x1", "ask", `{"at":"a"}`).Call("x2", "look", `{}`).Call("x3", "ask", `{"at":"c"}`))
			r := start(t, script, setup{tools: []core.Tool{tool("look")}, boxes: []core.Toolbox{askTool{}}, client: plain})
			defer r.close()
			wantLines(t, tail(r.finish(r.prompt("hi")), 2), "text Asked with {\"at\":\"a\"}\n\nAsked with {\"at\":\"c\"}", "ended end_turn")
		})
	})
}
