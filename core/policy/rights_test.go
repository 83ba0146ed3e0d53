package policy

import (
	"encoding/json"
	"strings"
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
		case r.Looks && r.Primary && server == core.Native && kind == core.KindExecute && a.Op == core.OpRun:
			if v.Effect == core.Allow && v.Why != "the command only looks at the workspace" || strings.Contains(v.Remember, "run ") {
				t.Errorf("%s is asked about each line that may do more than look, and gets %+v for %q", agent, v, path)
			}
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

// TestAPlannerIsAskedAboutEachLine judges command lines of an agent that only looks. No rule, no
// trust and no answer about other lines allows them; a person does, or a deny rule refuses.
func TestAPlannerIsAskedAboutEachLine(t *testing.T) {
	p := someRights(t)
	check := func(line string) core.Check {
		return core.Check{
			Call: core.Call{Server: core.Native, Tool: "shell_command", Kind: core.KindExecute}, Spec: core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute},
			Access: []core.Access{{Op: core.OpRun, Path: "/src", Command: line}}, Settings: core.Settings{Agent: "plan", Trust: true},
			Meta: core.Meta{Cwd: "/src", Roots: []string{"/src"}},
		}
	}
	first := p.Decide(check("git log --oneline"))
	if first.Effect != core.MustAsk || first.RememberText != "exactly `git log --oneline`" {
		t.Fatalf("git log: %+v", first)
	}
	remembered := func(line, key string) core.Effect {
		c := check(line)
		c.Remembered = map[string]core.Decision{key: core.AllowSession}
		return p.Decide(c).Effect
	}
	code := check("git log --oneline")
	code.Settings = core.Settings{Agent: "code"}
	wide := p.Decide(code).Remember
	for _, c := range []struct {
		line, key string
		want      core.Effect
	}{
		{"git log --oneline", first.Remember, core.Allow},
		{"git log", first.Remember, core.MustAsk},
		{"git log --oneline", wide, core.MustAsk},
		{"go test ./...", "", core.MustAsk},
		{"cat .env", "", core.Deny},
	} {
		if got := remembered(c.line, c.key); got != c.want {
			t.Errorf("%s, after %q: %s, want %s", c.line, c.key, got, c.want)
		}
	}
	for _, a := range []core.Approvals{core.ApprovalsAuto, core.ApprovalsDeny, core.ApprovalsReadOnly} {
		c := check("git log")
		c.Origin.Approvals = a
		want := core.Deny
		if a == core.ApprovalsAuto {
			want = core.MustAsk
		}
		if v := p.Decide(c); v.Effect != want {
			t.Errorf("approvals %s: %+v, want %s", a, v, want)
		}
	}
	writes := check("git log")
	writes.Access = append(writes.Access, core.Access{Op: core.OpWrite, Path: "/src/a.go"})
	if v := p.Decide(writes); v.Effect != core.Deny {
		t.Errorf("a call that also writes: %+v", v)
	}
}

// A planner runs unasked what only looks at the workspace, each program by itself and with options that
// are known; about everything else the question says that it may write.
func TestAPlannerLooksUnasked(t *testing.T) {
	p := someRights(t)
	check := func(agent, line, sandbox string) core.Check {
		return core.Check{
			Call: core.Call{Server: core.Native, Tool: "shell_command", Kind: core.KindExecute}, Spec: core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute},
			Access: []core.Access{{Op: core.OpRun, Path: "/src", Command: line, Sandbox: sandbox}}, Settings: core.Settings{Agent: agent},
			Meta: core.Meta{Cwd: "/src", Roots: []string{"/src"}},
		}
	}
	for _, c := range []struct {
		line, sandbox string
		want          core.Effect
	}{
		{"ls -la", "full", core.Allow},
		{"ls -la core", "", core.Allow},
		{"pwd", "full", core.Allow},
		{"find . -name x.go", "full", core.Allow},
		{"grep -rn word core", "full", core.Allow},
		{"git status", "full", core.Allow},
		{"git --no-pager log -n 3", "files", core.Allow},
		{"git diff --stat", "full", core.Allow},
		{"git diff", "", core.MustAsk}, // the repository's settings may name programs
		{"git diff --output=x", "full", core.MustAsk},
		{"git add .", "full", core.MustAsk},
		{"git branch new", "full", core.MustAsk},
		{"git remote show origin", "full", core.MustAsk},
		{"find . -delete", "full", core.MustAsk},
		{"sort -o a b", "full", core.MustAsk},
		{"touch x", "full", core.MustAsk},
		{"go test ./...", "full", core.MustAsk},
		{"ls > x", "full", core.MustAsk},
		{"ls; touch x", "full", core.MustAsk},
		{"ls $(touch x)", "full", core.MustAsk},
		{"ls /etc", "full", core.MustAsk},
		{"cat ../other", "full", core.MustAsk},
		{"cat ~/.ssh/id_rsa", "full", core.MustAsk},
		{"cat .env", "full", core.Deny},
		{"rm -rf x", "full", core.MustAsk},
	} {
		v := p.Decide(check("plan", c.line, c.sandbox))
		if v.Effect != c.want {
			t.Errorf("%s in the sandbox %q: %+v, want %s", c.line, c.sandbox, v, c.want)
		}
		if v.Effect == core.MustAsk && !strings.HasSuffix(v.Why, "; it may write") {
			t.Errorf("%s: the question is %q", c.line, v.Why)
		}
	}
	for _, agent := range []string{"code", "guest", "heir"} {
		if v := p.Decide(check(agent, "ls", "full")); v.Effect == core.Allow {
			t.Errorf("%s: %+v", agent, v)
		}
	}
	readOnly := check("plan", "ls", "full")
	readOnly.Origin.Approvals = core.ApprovalsReadOnly
	if v := p.Decide(readOnly); v.Effect != core.Deny {
		t.Errorf("a turn that may only read: %+v", v)
	}
	rejected := check("plan", "ls", "full")
	rejected.Remembered = map[string]core.Decision{p.Decide(check("plan", "touch x", "full")).Remember: core.RejectAlways}
	if v := p.Decide(rejected); v.Effect != core.Allow {
		t.Errorf("after another line was rejected: %+v", v)
	}
}

// TestAPlannerIsOfferedWhatItMayUse lists the tools of an agent that only looks: those that look,
// and commands, but nothing that could only be refused.
func TestAPlannerIsOfferedWhatItMayUse(t *testing.T) {
	plan, _ := someRights(t).role("plan")
	for spec, want := range map[*core.Spec]bool{
		{Server: core.Native, Name: "read_file", Kind: core.KindRead, ReadOnly: true}:        true,
		{Server: core.Native, Name: "web_fetch", Kind: core.KindFetch}:                       true,
		{Server: core.Native, Name: "shell_command", Kind: core.KindExecute}:                 true,
		{Server: core.Native, Name: "background_jobs", Kind: core.KindOther, ReadOnly: true}: true,
		{Server: core.Native, Name: "write_file", Kind: core.KindEdit}:                       false,
		{Server: core.Native, Name: "move_file", Kind: core.KindMove}:                        false,
		{Server: "tracker", Name: "list", Kind: core.KindOther, ReadOnly: true}:              true,
		{Server: "tracker", Name: "close", Kind: core.KindRead}:                              false,
		{Server: "tracker", Name: "run", Kind: core.KindExecute}:                             false,
	} {
		if got := plan.Offers(*spec); got != want {
			t.Errorf("%s/%s: %v", spec.Server, spec.Name, got)
		}
	}
}
