package upstream

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
)

// needsPages is the line of a script that refuses a call until the user has been at these pages.
func needsPages(call string, elicitations ...string) string {
	return call + ` {"jsonrpc":"2.0","id":$ID,"error":{"code":-32042,"message":"Authorization needed","data":{"elicitations":[` + strings.Join(elicitations, ",") + "]}}}\n"
}

// A server that refuses a call until its user has been at a page has the user asked; the call is
// repeated, once, after the user has been there, and not otherwise.
func TestPagesThatACallRequiresAreShown(t *testing.T) {
	const one = `{"mode":"url","elicitationId":"e1","url":"https://login.example/one?x=1","message":"Connect your account"}`
	const two = `{"mode":"url","elicitationId":"e2","url":"https://login.example/two","message":"And this one"}`
	done := needsPages("tools/call", one, two) + strings.Replace(bridgetest.ToolDone, "tools/call", "tools/call#2", 1)
	yes, no := core.Reply{Outcome: core.OutcomeAnswered, Option: optionYes}, core.Reply{Outcome: core.OutcomeAnswered, Option: optionNo}
	for name, c := range map[string]struct {
		script  string
		answers []core.Reply // nil: nobody is there
		asked   int
		want    string // the result
	}{
		"visited":        {done, []core.Reply{yes, yes}, 2, "done"},
		"declined":       {done, []core.Reply{yes, no}, 2, "https://login.example/two"},
		"nobody there":   {done, nil, 0, "https://login.example/one?x=1 (Connect your account)"},
		"asks for ever":  {needsPages("tools/call", two), []core.Reply{yes, yes}, 1, "https://login.example/two"},
		"not a page":     {needsPages("tools/call", `{"mode":"url","url":"file:///etc/passwd","message":"m"}`), []core.Reply{yes}, 0, "refused the call: Authorization needed"},
		"a form instead": {needsPages("tools/call", `{"mode":"form","message":"m"}`), []core.Reply{yes}, 0, "refused the call: Authorization needed"},
		"no page":        {needsPages("tools/call"), []core.Reply{yes}, 0, "refused the call: Authorization needed"},
		"other data":     {`tools/call {"jsonrpc":"2.0","id":$ID,"error":{"code":-32042,"message":"no","data":[1]}}` + "\n", []core.Reply{yes}, 0, "refused the call: no"},
		"too many pages": {needsPages("tools/call", strings.Split(strings.Repeat(two+"\n", maxAsking+1)[:(len(two)+1)*(maxAsking+1)-1], "\n")...), []core.Reply{yes}, 0, "refused the call: Authorization needed"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []core.Ask
			h := &host{ask: func(a core.Ask) core.Reply {
				asked = append(asked, a)
				return c.answers[len(asked)-1]
			}}
			if c.answers == nil {
				h.ask = nil
			}
			_, s := open(t, h, Options{Servers: []Server{{Name: "x", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+c.script)}}})
			res, err := call(t, toolOf(t, s, "t"), `{}`)
			if err != nil || !strings.Contains(text(res), c.want) || res.Failed != (c.want != "done") {
				t.Errorf("%+v, %v; want %q", res, err, c.want)
			}
			if strings.Contains(text(res), "elicitation") && !strings.Contains(c.want, "refused") {
				t.Errorf("the model reads the raw error: %s", text(res))
			}
			if len(asked) != c.asked {
				t.Fatalf("asked %d times", len(asked))
			}
			if c.asked > 1 && (asked[0].URL != "https://login.example/one?x=1" || asked[0].Text != "The MCP server x asks: Connect your account\nIt asks you to open a page at login.example." || asked[1].URL != "https://login.example/two") {
				t.Errorf("asked: %s", fmt.Sprint(asked))
			}
		})
	}
}
