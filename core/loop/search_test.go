package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// theirs returns a tool of a server.
func theirs(server, name, description string) coretest.Tool {
	t := tool(name)
	t.Is.Server, t.Is.Description = server, description
	t.Is.Schema = json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}}}`)
	return t
}

func namesOf(req inference.Request) string {
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// With more tools than its limit, a model finds those of servers by searching, and
// calls them through another tool. For everyone else that is a call of the tool
// itself.
func TestSearchAndCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := coretest.NewScript(
			coretest.Answer{}.Call("x1", "tool_search", `{"query":"create an issue"}`),
			coretest.Answer{}.Call("x2", "call_tool", `{"name":"tracker__create_issue","arguments":{"title":"leak"}}`),
			coretest.Answer{}.Call("x3", "tracker__close_issue", `{}`),
			coretest.Answer{}.Say("done"),
		)
		r := start(t, script, setup{
			tools: []core.Tool{
				tool("look"), theirs("tracker", "create_issue", "Makes an issue."), theirs("tracker", "close_issue", "Ends one."), theirs("mail", "send", "Sends a letter."),
			},
			options: Options{MaxTools: 3},
		})
		defer r.close()
		wantLines(t, r.finish(r.prompt("hi")),
			"call x1 tool_search proposed", `args x1 {"query":"create an issue"}`,
			"call x1 tool_search running it reads the list of tools and nothing else", "call x1 tool_search succeeded it reads the list of tools and nothing else",
			"call x2 create_issue proposed", "call x2 create_issue proposed", "call x2 create_issue running allowed by the test", "call x2 create_issue succeeded allowed by the test",
			"call x3 close_issue proposed", "args x3 {}", "call x3 close_issue proposed", "call x3 close_issue running allowed by the test", "call x3 close_issue succeeded allowed by the test",
			"text done", "ended end_turn")
		for _, req := range script.Requests() {
			if got := namesOf(req); got != "look tool_search call_tool" {
				t.Errorf("the model was shown %s", got)
			}
		}
		if d := script.Requests()[0].Tools[1].Description; !strings.Contains(d, "tracker, mail") {
			t.Errorf("the search does not say what there is: %s", d)
		}
		last := script.Requests()[3].Messages
		if got := show(last[3:]); got != `assistant: x2=tracker__create_issue({"title":"leak"})
tool: x2=tracker__create_issue "create_issue got {\"title\":\"leak\"}"
assistant: x3=tracker__close_issue({})
tool: x3=tracker__close_issue "close_issue got {}"
` {
			t.Errorf("it was shown as\n%s", got)
		}
		found := last[2].Result.Blocks[0].(core.Text).Text
		for _, want := range []string{"2 of 3 tools fit", "\ntracker__create_issue\nMakes an issue.\narguments: {", "tracker__close_issue"} {
			if !strings.Contains(found, want) {
				t.Errorf("it found\n%s\nwithout %q", found, want)
			}
		}
		if strings.Index(found, "create_issue\n") > strings.Index(found, "close_issue\n") || strings.Contains(found, "mail__send") {
			t.Errorf("the order is wrong:\n%s", found)
		}
	})
}

// The policy decides about the called tool, not about the tool that the call goes
// through.
func TestCallThroughNeedsApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		danger := theirs("tracker", "delete_all", "")
		danger.Is.ReadOnly = false
		danger.Runs = func(context.Context, core.Invocation) (core.Result, error) {
			t.Error("it ran")
			return core.Result{}, nil
		}
		script := coretest.NewScript(coretest.Answer{}.Call("x1", "call_tool", `{"name":"tracker__delete_all","arguments":{}}`), coretest.Answer{}.Say("so be it"))
		var seen []core.Spec
		r := start(t, script, setup{
			tools: []core.Tool{danger, theirs("tracker", "list", "")}, options: Options{MaxTools: 1},
			policy: policyFunc(func(c core.Check) core.Verdict {
				seen = append(seen, c.Spec)
				return core.Verdict{Effect: core.Deny, Why: "never"}
			}),
		})
		defer r.close()
		r.finish(r.prompt("hi"))
		if len(seen) != 1 || seen[0].Server != "tracker" || seen[0].Name != "delete_all" {
			t.Errorf("the policy judged %+v", seen)
		}
	})
}

// policyFunc is a function as a policy.
type policyFunc func(core.Check) core.Verdict

func (j policyFunc) Decide(c core.Check) core.Verdict { return j(c) }

// An invalid call through another tool does not run, and the model gets advice.
func TestInvalidCallThrough(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{`{"name":"nothing","arguments":{}}`, `tool: x1=nothing failed "there is no tool \"nothing\" here"`},
		{`{"arguments":{}}`, `the call did not run: it must be {\"name\": NAME`},
		{`[]`, `the call did not run: the arguments are not a JSON object`},
		{`{"name":"call_tool","arguments":{"name":"tracker__list","arguments":{}}}`, `there is no tool`},
		{`{"name":"tool_search","arguments":{}}`, `there is no tool`},
		{`{"name":"tracker__list","arguments":"x"}`, `tool: x1=tracker__list failed "the call did not run: the arguments are not a JSON object`},
		{`{"name":"tracker__hidden","arguments":{}}`, `there is no tool`},
		{`{"name":"tracker__list"}`, `tool: x1=tracker__list "list got {}"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			script := coretest.NewScript(coretest.Answer{}.Call("x1", "call_tool", test.args), coretest.Answer{}.Say("oh"))
			r := start(t, script, setup{
				tools:   []core.Tool{theirs("tracker", "list", ""), theirs("tracker", "hidden", ""), theirs("tracker", "more", "")},
				options: Options{MaxTools: 1, Offer: func(s core.Spec) bool { return s.Name != "hidden" }},
			})
			defer r.close()
			r.finish(r.prompt("hi"))
			if got := show(script.Requests()[1].Messages); !strings.Contains(got, test.want) {
				t.Errorf("%s came to\n%s\nwithout %s", test.args, got, test.want)
			}
		})
	}
}

// Below the limit all tools are listed, and without tools of servers nothing is
// hidden. Once a model searches it continues to: its list of tools stays the same.
func TestSearchBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools := []core.Tool{tool("look"), tool("touch"), theirs("tracker", "list", "")}
		for _, test := range []struct {
			most  int
			tools []core.Tool
			want  string
		}{
			{0, tools, "look touch tracker__list"},
			{3, tools, "look touch tracker__list"},
			{2, tools, "look touch tool_search call_tool"},
			{1, tools[:2], "look touch"},
		} {
			script := coretest.NewScript(coretest.Answer{}.Say("ok"))
			r := start(t, script, setup{tools: test.tools, options: Options{MaxTools: test.most}})
			r.finish(r.prompt("hi"))
			if got := namesOf(script.Requests()[0]); got != test.want {
				t.Errorf("of at most %d the model was shown %s, want %s", test.most, got, test.want)
			}
			r.close()
		}
		c := &conversation{b: New(Options{MaxTools: 2}), history: &history{}}
		specs := make([]core.Spec, 3)
		for i := range specs {
			specs[i] = core.Spec{Server: "up", Name: fmt.Sprint("t", i)}
		}
		c.offer(specs, 0)
		if list, _ := c.offer(specs[:1], 0); len(list) != 2 {
			t.Errorf("later it was shown %+v", list)
		}
	})
}
