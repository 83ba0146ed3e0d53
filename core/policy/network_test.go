package policy

import (
	"testing"

	"dragoman/core"
)

// reachCheck is a connection of a session's command.
func reachCheck(url string) core.Check {
	return core.Check{
		Call:   core.Call{Server: core.Native, Tool: "shell_command", Kind: core.KindExecute},
		Spec:   core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute},
		Access: []core.Access{{Op: core.OpNet, URL: url}}, Meta: core.Meta{Cwd: root},
	}
}

// Only rules that name an address let a command reach it.
func TestReach(t *testing.T) {
	rules := []Rule{
		{Effect: core.Allow, URL: "proxy.golang.org"},
		{Effect: core.Allow, URL: "https://docs.example/api/**"},
		{Effect: core.Allow, Tool: "web_fetch", URL: "fetched.example"},
		{Effect: core.Allow, Tool: "shell_command"},
		{Effect: core.Allow, Command: "curl *"},
		{Effect: core.Deny, URL: "bad.example"},
		{Effect: core.Deny, URL: "mixed.example/private/**"},
		{Effect: core.Allow, URL: "mixed.example"},
		{Effect: core.MustAsk, URL: "asked.example"},
		{Effect: core.Allow, URL: "asked.example"},
	}
	for _, c := range []struct {
		url  string
		want core.Effect
		hard bool
	}{
		{"https://proxy.golang.org/", core.Allow, false},
		{"http://proxy.golang.org/x", core.Allow, false},
		{"https://proxy.golang.org:22/", core.MustAsk, false},
		{"https://PROXY.golang.org./", core.Allow, false},
		{"https://evilproxy.golang.org/", core.MustAsk, false},
		{"https://docs.example/", core.MustAsk, false},
		{"https://fetched.example/", core.MustAsk, false},
		{"https://other.example/", core.MustAsk, false},
		{"https://bad.example/", core.Deny, false},
		{"https://bad.example:8443/", core.Deny, false},
		{"https://mixed.example/", core.MustAsk, true}, // the path is not known
		{"http://mixed.example/private/x", core.Deny, false},
		{"http://mixed.example/public", core.Allow, false},
		{"https://asked.example/", core.MustAsk, true},
	} {
		for _, fallback := range []core.Effect{core.MustAsk, core.Allow} {
			p, err := New(Options{Rules: rules, Default: fallback})
			if err != nil {
				t.Fatal(err)
			}
			check := reachCheck(c.url)
			check.Settings.Trust, check.Origin.Approvals = true, core.ApprovalsAuto
			if v := p.Reach(check); v.Effect != c.want || v.Hard != c.hard {
				t.Errorf("%s, default %s: %s (hard: %v), %s; want %s", c.url, fallback, v.Effect, v.Hard, v.Why, c.want)
			}
		}
	}
}

// Where nothing can be approved nobody is asked, and an agent of the workspace gets no rule.
func TestReachOfAgents(t *testing.T) {
	allow := Rule{Effect: core.Allow, URL: "good.example"}
	rights := Rights{
		Rules: mustNew(t, allow), Strict: mustNew(t), Default: "code",
		Roles: []Role{{Name: "code", Primary: true}, {Name: "theirs", Foreign: true}, {Name: "looker", Looks: true, Primary: true}},
	}
	for _, c := range []struct {
		agent, parent string
		approvals     core.Approvals
		url           string
		want          core.Effect
	}{
		{"", "", "", "https://good.example/", core.Allow},
		{"", "", core.ApprovalsDeny, "https://good.example/", core.Allow},
		{"", "", core.ApprovalsDeny, "https://other.example/", core.Deny},
		{"", "", core.ApprovalsReadOnly, "https://other.example/", core.Deny},
		{"theirs", "", "", "https://good.example/", core.MustAsk},
		{"looker", "", "", "https://good.example/", core.MustAsk},
		{"code", "theirs", "", "https://good.example/", core.MustAsk},
		{"theirs", "code", "", "https://good.example/", core.MustAsk},
	} {
		check := reachCheck(c.url)
		check.Settings.Agent, check.Origin.Approvals = c.agent, c.approvals
		if c.parent != "" {
			check.Meta.Parent, check.Meta.ParentAgent = "s1", c.parent
		}
		if v := rights.Reach(check); v.Effect != c.want {
			t.Errorf("%+v: %s, %s", c, v.Effect, v.Why)
		}
	}
}
