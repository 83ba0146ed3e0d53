package serve

import (
	"errors"
	"strings"
	"testing"

	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/policy"
)

// A client's own call of a server's tool is judged by the rules.
func TestRulesForClientsCalls(t *testing.T) {
	p, err := policy.New(policy.Options{Rules: []policy.Rule{
		{Effect: core.Deny, Tool: "drop_*"}, {Effect: core.MustAsk, Server: "tracker", Tool: "close_*"}, {Effect: core.Allow, Tool: "close_all"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ server, tool, want string }{
		{"tracker", "list", ""},
		{"tracker", "drop_it", "denied by rule 1 (deny tool drop_*)"},
		{"tracker", "close_it", "must be asked by rule 2 (ask tool close_*, server tracker)"},
		{"tracker", "close_all", "must be asked by rule 2 (ask tool close_*, server tracker)"},
		{"other", "close_it", ""},
	} {
		err := denied(p, "/w")(c.server, c.tool, nil)
		got := ""
		if ask := (*upstream.AskFirst)(nil); errors.As(err, &ask) {
			got = ask.Why
		} else if err != nil {
			got = err.Error()
		}
		if got != c.want || strings.HasPrefix(c.want, "must") != errors.As(err, new(*upstream.AskFirst)) {
			t.Errorf("%s %s: %v, want %q", c.server, c.tool, err, c.want)
		}
	}
}
