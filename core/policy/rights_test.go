package policy

import (
	"encoding/json"
	"testing"

	"dragoman/core"
)

// someRights are those of agents of every sort, over rules of every effect.
func someRights(t testing.TB) Rights {
	t.Helper()
	denied := []Rule{{Effect: core.Deny, Path: "**/.env"}, {Effect: core.MustAsk, Tool: "web_fetch"}}
	allowed := []Rule{{Effect: core.Allow, Tool: "write_file", Path: "**"}, {Effect: core.Allow, Command: "go test *"}, {Effect: core.Allow, Server: "tracker"}}
	reviewer := Role{Name: "reviewer", Primary: true, Only: []string{"read_file", "tracker/list_*"}}
	return Rights{
		Rules: mustNew(t, append(allowed, denied...)...), Strict: mustNew(t, denied...), Default: "code",
		Roles: []Role{
			{Name: "code", Primary: true},
			{Name: "plan", Primary: true, Looks: true},
			{Name: "explorer", Sub: true, Looks: true},
			{Name: "general", Sub: true},
			reviewer,
			{Name: "guest", Primary: true, Sub: true, Foreign: true},
			{Name: "heir", Primary: true, Sub: true, Foreign: true, Of: &reviewer, Only: []string{"shell_command", "read_file"}},
			{Name: "careful", Primary: true, Asked: []string{"*"}, Unasked: []string{"Bash"}},
			{Name: "writer", Primary: true, Sub: true, Never: []string{"shell_command", "tracker"}},
			{Name: "shy", Sub: true, Spawners: []string{"code"}},
		},
	}
}

// Whatever is called, and whatever an agent is called, it gets no more than the rules
// give, than its role gives, and than the agent that handed it a task would get.
func FuzzRights(f *testing.F) {
	type seed struct{ agent, parent, server, tool, path, args string }
	for _, s := range []seed{
		{"code", "", core.Native, "write_file", "/src/a.go", "{}"},
		{"plan", "", core.Native, "write_file", "/src/a.go", "{}"},
		{"guest", "code", core.Native, "shell_command", "go test ./...", "{}"},
		{"general", "plan", core.Native, "read_file", "/src/.env", "{}"},
		{"plan", "", core.Native, spawnTool, "", `{"agent":"general","Agent":"explorer"}`},
		{"", "guest", core.Native, spawnTool, "", `{"agent":"shy"}`},
		{"heir", "reviewer", "tracker", "list_issues", "", "[]"},
		{"nobody", "careful", "tracker", "[", "/etc/passwd", ""},
	} {
		for way := range byte(8) {
			f.Add(s.agent, s.parent, s.server, s.tool, s.path, s.args, way, way, way&1 != 0)
		}
	}
	p := someRights(f)
	ops := []core.AccessOp{core.OpRead, core.OpWrite, core.OpRun, core.OpNet}
	kinds := []core.CallKind{core.KindRead, core.KindEdit, core.KindExecute, core.KindOther, core.KindThink, core.KindFetch, core.KindSearch, ""}
	approvals := []core.Approvals{"", core.ApprovalsAsk, core.ApprovalsAuto, core.ApprovalsReadOnly, core.ApprovalsDeny}
	rank := map[core.Effect]int{core.Deny: 0, core.MustAsk: 1, core.Allow: 2}
	f.Fuzz(func(t *testing.T, agent, parent, server, tool, path, args string, op, way byte, trust bool) {
		a := core.Access{Op: ops[int(op)%len(ops)], Path: path}
		switch a.Op {
		case core.OpRun:
			a.Path, a.Command = "/src", path
		case core.OpNet:
			a.Path, a.URL = "", path
		case core.OpRead, core.OpWrite:
		}
		kind := kinds[int(way)%len(kinds)]
		c := core.Check{
			Call:   core.Call{Server: server, Tool: tool, Kind: kind, Args: json.RawMessage(args)},
			Spec:   core.Spec{Server: server, Name: tool, Kind: kind, ReadOnly: way&8 != 0},
			Access: []core.Access{a}, Settings: core.Settings{Agent: agent, Trust: trust},
			Meta: core.Meta{Cwd: "/src", Roots: []string{"/src"}},
		}
		c.Origin.Approvals = approvals[int(way/8)%len(approvals)]
		v, rules := p.Decide(c), p.Rules.Decide(c)
		if rank[v.Effect] > rank[rules.Effect] {
			t.Errorf("%s gets %+v, and the rules say %+v", agent, v, rules)
		}
		r, known := p.role(agent)
		changes := a.Op != core.OpRead && a.Op != core.OpNet
		switch {
		case !known || v.Effect == core.Deny:
		case !r.Offers(c.Spec):
			t.Errorf("%s is not offered %s/%s, and gets %+v", agent, server, tool, v)
		case r.Looks && changes:
			t.Errorf("%s only looks, and gets %+v for %s", agent, v, a.Op)
		case r.Foreign && changes && v.Effect == core.Allow:
			t.Errorf("%s is the workspace's, and gets %+v for %s", agent, v, a.Op)
		}
		task := c
		task.Meta.Parent, task.Meta.ParentAgent = "s0", parent
		handed := c
		handed.Settings.Agent = parent
		if w, most := p.Decide(task), min(rank[v.Effect], rank[p.Decide(handed).Effect]); rank[w.Effect] > most {
			t.Errorf("%s has %s do what it may not: %+v", parent, agent, w)
		}
	})
}
