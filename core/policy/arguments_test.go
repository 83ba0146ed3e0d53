package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/core"
)

func mcp(args string) core.Check {
	c := check("files", "read")
	c.Call.Args = json.RawMessage(args)
	return c
}

// Rules that deny or ask look at what may be a path or an address in the arguments of an MCP server's
// tool.
func TestArguments(t *testing.T) {
	rules := []Rule{
		{Effect: core.Allow, Server: "files"},
		{Effect: core.Deny, Path: "**/.env"},
		{Effect: core.Deny, Path: "~/.ssh/**"},
		{Effect: core.MustAsk, Path: "*.pem"},
		{Effect: core.Deny, URL: "*.evil.com"},
		{Effect: core.MustAsk, URL: "http://*/admin/**"},
	}
	deep := `{"a":` + strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40) + `}`
	long := `["` + strings.Repeat(`a","`, 1200) + `"]`
	for args, want := range map[string]core.Effect{
		`{"path": ".env"}`:                               core.Deny,
		`{"path": "sub/../.ENV"}`:                        core.Deny,
		`{"path": "/home/u/app/.env"}`:                   core.Deny,
		`{"path": "~/.ssh/x"}`:                           core.Deny,
		`{"path": "file:///home/u/.ssh/x"}`:              core.Deny,
		`{"path": "FILE:///home/u/%2essh/x"}`:            core.Deny,
		`{"path": "docs/notes.txt"}`:                     core.Deny, // a link
		`{"path": "keys/x"}`:                             core.Deny,
		`{"paths": ["a", {"b": [[".env"]]}]}`:            core.Deny,
		`[".env"]`:                                       core.Deny,
		`{"path": "k.pem"}`:                              core.MustAsk,
		`{"glob": "**/*.pe?"}`:                           core.MustAsk,
		`{"glob": ".e*"}`:                                core.MustAsk,
		`{"url": "https://www.evil.com/x"}`:              core.Deny,
		`{"host": "www.evil.com"}`:                       core.Deny,
		`{"url": "http://x.org/admin/y"}`:                core.MustAsk,
		`{"glob": "**/*.go"}`:                            core.Allow,
		`{"path": "a.go", "n": 1, "b": true, "x": null}`: core.Allow,
		`{"text": "please read .env and tell"}`:          core.Allow,
		`{"text": "KEY=1\n.env\n"}`:                      core.Allow,
		`{".env": "a name of an argument"}`:              core.Allow,
		`{"url": "https://good.com/x"}`:                  core.Allow,
		`{"file": "evil.go"}`:                            core.Allow,
		`{"path": ".git/hooks/x"}`:                       core.MustAsk,
		`{"path": "h/x"}`:                                core.MustAsk,
		deep:                                             core.MustAsk,
		long:                                             core.MustAsk,
		`{"path": `:                                      core.MustAsk,
		``:                                               core.Allow,
	} {
		for name, c := range ways(mcp(args)) {
			if v := mustFollow(t, rules...).Decide(c); v.Effect != want || want == core.MustAsk && !v.Hard {
				t.Errorf("%.80s, %s: %s, hard %t, %q; want %s", args, name, v.Effect, v.Hard, v.Why, want)
			}
		}
	}
	reads := mcp(`{"path": ".git/hooks/x"}`)
	reads.Spec.ReadOnly = true
	if v := mustFollow(t, rules...).Decide(reads); v.Effect != core.Allow {
		t.Errorf("reading a control file: %s, %q", v.Effect, v.Why)
	}
	many := mcp(long)
	if v := mustFollow(t, Rule{Effect: core.Allow, Server: "files"}, Rule{Effect: core.Deny, Path: "/k", Own: true}).Decide(many); v.Effect != core.Allow {
		t.Errorf("many arguments without a rule of the user's: %s, %q", v.Effect, v.Why)
	}
}

// Rules name who calls, for which client, and where.
func TestCallersOfRules(t *testing.T) {
	c := shell("ls")
	c.Settings.Agent, c.Origin.Client = "Plan", "Zed"
	two := c
	two.Meta.Roots = []string{root, "/srv/other"}
	for _, test := range []struct {
		rule  Rule
		check core.Check
		want  bool
	}{
		{Rule{Agent: "plan"}, c, true},
		{Rule{Agent: "code"}, c, false},
		{Rule{Agent: "p*"}, c, true},
		{Rule{Client: "zed"}, c, true},
		{Rule{Client: "emacs"}, c, false},
		{Rule{Agent: "plan", Client: "emacs"}, c, false},
		{Rule{Workspace: root}, c, true},
		{Rule{Workspace: "~/app"}, c, true},
		{Rule{Workspace: "app"}, c, true},
		{Rule{Workspace: "/home/u"}, c, true},
		{Rule{Workspace: "/home/u/ap"}, c, false},
		{Rule{Workspace: "~/other"}, c, false},
		{Rule{Workspace: "/srv/*"}, two, true},
		{Rule{Workspace: "~/app", Command: "rm *"}, c, false},
	} {
		test.rule.Effect = core.Deny
		if v := mustFollow(t, test.rule).Decide(test.check); (v.Effect == core.Deny) != test.want {
			t.Errorf("%+v: %s, %q", test.rule, v.Effect, v.Why)
		}
	}
	for _, test := range []struct {
		rule  Rule
		check core.Check
		want  bool
	}{
		{Rule{Agent: "Plan", Command: "ls"}, c, true},
		{Rule{Agent: "plan", Command: "ls"}, c, false}, // allow is case-sensitive
		{Rule{Workspace: "/home/u/**", Command: "ls"}, c, true},
		{Rule{Workspace: "~/app", Command: "ls"}, c, false}, // the session has another root
		{Rule{Workspace: "/home/u/**", Command: "ls"}, two, false},
		{Rule{Client: "Zed"}, c, true},
	} {
		test.rule.Effect = core.Allow
		if v := mustFollow(t, test.rule).Decide(test.check); (v.Effect == core.Allow) != test.want {
			t.Errorf("%+v: %s, %q", test.rule, v.Effect, v.Why)
		}
	}
	for _, bad := range []string{"..", "a/../b", "[", "~x/{"} {
		if _, err := New(Options{Rules: []Rule{{Effect: core.Deny, Workspace: bad}}}); err == nil {
			t.Errorf("workspace %q is a pattern", bad)
		}
	}
	agents := Rights{Rules: mustNew(t, Rule{Effect: core.Deny, Agent: "code"}), Strict: mustNew(t), Default: "code", Roles: []Role{{Name: "code", Primary: true}}}
	if v := agents.Decide(shell("ls")); v.Effect != core.Deny {
		t.Errorf("the agent without a name: %s, %q", v.Effect, v.Why)
	}
}
