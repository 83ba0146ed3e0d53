package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/cmd/internal/program/programtest"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/guide"
)

// spawn returns a call that delegates a task to an agent.
func spawn(from, to string) core.Check {
	return core.Check{
		Call: core.Call{Server: core.Native, Tool: "spawn_agent", Args: coretest.Args(map[string]string{"agent": to, "task": "x"})},
		Spec: core.Spec{Server: core.Native, Name: "spawn_agent", Kind: core.KindThink, ReadOnly: true}, Settings: core.Settings{Agent: from},
		Meta: core.Meta{Cwd: "/src", Roots: []string{"/src"}},
	}
}

// write returns a call that changes a file, and run one that runs a command.
func write(agent string, set core.Settings) core.Check {
	set.Agent = agent
	return core.Check{
		Call: core.Call{Server: core.Native, Tool: "write_file", Kind: core.KindEdit}, Spec: core.Spec{Server: core.Native, Name: "write_file", Kind: core.KindEdit},
		Access: []core.Access{{Op: core.OpWrite, Path: "/src/a.go"}}, Settings: set, Meta: core.Meta{Cwd: "/src", Roots: []string{"/src"}},
	}
}

func run(agent string, command string) core.Check {
	c := write(agent, core.Settings{})
	c.Call.Tool, c.Spec.Name, c.Call.Kind, c.Spec.Kind = "shell_command", "shell_command", core.KindExecute, core.KindExecute
	c.Access = []core.Access{{Op: core.OpRun, Path: "/src", Command: command}}
	return c
}

const manyAgents = `---
description: %s
mode: [primary, subagent]
%s
---
Do it.`

// agentsRoom has agents of every origin: ours, the configuration's, the workspace's and those of
// the user's own files.
func agentsRoom(t *testing.T) (*room, *Profile) {
	t.Helper()
	r := newRoom(t, nil, map[string]string{
		".dragoman/agents/guest.md":    fmt.Sprintf(manyAgents, "of the workspace", ""),
		".dragoman/agents/peeker.md":   fmt.Sprintf(manyAgents, "looks", "inherit: plan"),
		".dragoman/agents/code.md":     fmt.Sprintf(manyAgents, "takes over", ""),
		".dragoman/agents/explorer.md": fmt.Sprintf(manyAgents, "takes over", ""),
		".dragoman/agents/agent.md":    fmt.Sprintf(manyAgents, "takes over", ""),
		".dragoman/agents/reviewer.md": fmt.Sprintf(manyAgents, "takes over", ""),
		".dragoman/agents/heir.md":     fmt.Sprintf(manyAgents, "wants more", "inherit: reviewer\ntools:\n  byDefault: deny\n  allow: [shell_command, read_file]"),
		".eca/agents/narrow.md":        fmt.Sprintf(manyAgents, "narrow", "tools:\n  byDefault: deny\n  allow: [Read, eca__grep]\nmodel: groq/else\nmaxSteps: 3"),
	})
	home := r.profiles.process.env.Getenv("XDG_CONFIG_HOME")
	for name, front := range map[string]string{"own": "", "careful": "tools: [Read, Bash]", "shy": "spawnableBy: [own]\nmode: subagent"} {
		programtest.Write(t, filepath.Join(home, "dragoman", "agents", name+".md"), fmt.Sprintf(strings.Replace(manyAgents, "mode: [primary, subagent]\n", "", 1), name, front))
	}
	r.configure(`
policy: {allow: [{command: "go test *"}, {tool: write_file, path: "**"}], deny: [{path: "**/.env"}]}
agents:
  reviewer: {description: Reads, tools: [read_file, grep, "tracker/list_*"], max_steps: 7}
  writer: {mode: all, disabled_tools: [shell_command, tracker]}
  plan: {description: Mine, instructions: Plan well.}
`)
	made, err := r.profiles.In(t.Context(), []string{r.dir})
	if err != nil {
		t.Fatal(err)
	}
	return r, made
}

func TestAgentsOfFilesAreOffered(t *testing.T) {
	_, made := agentsRoom(t)
	if got := AgentNames(made.Agents); got != "code, plan, reviewer, writer, guest, heir, peeker, narrow, careful, own" {
		t.Errorf("agents: %s", got)
	}
	if got := AgentNames(made.Subagents); got != "explorer, general, writer, guest, heir, peeker, narrow, careful, own, shy" {
		t.Errorf("subagents: %s", got)
	}
	for _, a := range slices.Concat(made.Agents, made.Subagents) {
		if a.Description == "takes over" {
			t.Errorf("a file took the place of %s", a.Name)
		}
	}
	if p, _ := made.Agent("plan"); p.Description != "Mine" {
		t.Errorf("plan: %+v", p)
	}
	if r, _ := made.role("narrow"); r.model != "" || r.steps != 3 {
		t.Errorf("a file of the workspace chose its model: %+v", r)
	}
}

// Whatever an agent's text says, it has no more rights than the policy gives; an agent that only
// reads changes nothing.
func TestRights(t *testing.T) {
	_, made := agentsRoom(t)
	trusted := core.Settings{Trust: true}
	auto := func(c core.Check) core.Check { c.Origin.Approvals = core.ApprovalsAuto; return c }
	for _, c := range []struct {
		what  string
		check core.Check
		want  core.Effect
	}{
		{"code writes by rule", write("code", core.Settings{}), core.Allow},
		{"the empty name is code", write("", core.Settings{}), core.Allow},
		{"own writes by rule", write("own", core.Settings{}), core.Allow},
		{"general writes by rule", write("general", core.Settings{}), core.Allow},
		{"plan writes", write("plan", core.Settings{}), core.Deny},
		{"plan writes, trusted", write("plan", trusted), core.Deny},
		{"plan writes, auto", auto(write("plan", trusted)), core.Deny},
		{"explorer writes", write("explorer", trusted), core.Deny},
		{"peeker writes", write("peeker", trusted), core.Deny},
		{"plan runs what a rule allows", run("plan", "go test ./..."), core.MustAsk},
		{"plan runs, auto", auto(run("plan", "go test ./...")), core.MustAsk},
		{"explorer runs", run("explorer", "go test ./..."), core.Deny},
		{"guest writes what a rule allows", write("guest", core.Settings{}), core.MustAsk},
		{"guest writes, trusted", write("guest", trusted), core.MustAsk},
		{"guest writes, auto", auto(write("guest", core.Settings{})), core.MustAsk},
		{"guest runs what a rule allows", run("guest", "go test ./..."), core.MustAsk},
		{"narrow writes", write("narrow", trusted), core.Deny},
		{"careful writes, which is not on its list", write("careful", trusted), core.MustAsk},
		{"careful runs, which is on its list", run("careful", "go test ./..."), core.Allow},
		{"careful's list allows nothing", run("careful", "make"), core.MustAsk},
		{"reviewer writes", write("reviewer", trusted), core.Deny},
		{"what inherits from reviewer runs, as its own file has it", run("heir", "go test ./..."), core.Deny},
		{"writer writes", write("writer", core.Settings{}), core.Allow},
		{"writer runs", run("writer", "go test ./..."), core.Deny},
	} {
		if v := made.Policy.Decide(c.check); v.Effect != c.want {
			t.Errorf("%s: %+v, want %s", c.what, v, c.want)
		}
	}
}

// Delegating a task does not circumvent the limits of an agent.
func TestTasksDoNotCircumventLimits(t *testing.T) {
	_, made := agentsRoom(t)
	for from, to := range map[string]map[string]core.Effect{
		"":         {"general": core.Allow, "explorer": core.Allow, "guest": core.Allow, "code": core.Deny, "shy": core.Deny},
		"plan":     {"explorer": core.Allow, "peeker": core.Allow, "general": core.Deny, "writer": core.Deny, "guest": core.Deny, "plan": core.Deny, "code": core.Deny},
		"explorer": {"general": core.Deny},
		"guest":    {"general": core.Deny, "writer": core.Deny, "explorer": core.Allow, "narrow": core.Allow},
		"own":      {"shy": core.Allow},
		"reviewer": {"explorer": core.Deny}, // the tool is not offered to it
	} {
		for name, want := range to {
			if v := made.Policy.Decide(spawn(from, name)); v.Effect != want {
				t.Errorf("%q hands a task to %s: %+v, want %s", from, name, v, want)
			}
		}
	}
	c := spawn("plan", "x")
	for _, args := range []string{`{}`, `{"agent":""}`, `[]`, `{"agent":7}`, `{"Agent":"general"}`, `{"agent":"general","Agent":"explorer"}`} {
		c.Call.Args = []byte(args)
		v := made.Policy.Decide(c)
		if strings.Contains(args, `"agent":"general"`) && v.Effect != core.Deny {
			t.Errorf("plan hands a task over with %s: %+v", args, v)
		}
	}
}

// A task has the rights of the agent that delegated it, and no more.
func TestTasksHaveTheRightsOfBothAgents(t *testing.T) {
	_, made := agentsRoom(t)
	under := func(agent string, c core.Check) core.Check {
		c.Meta.Parent, c.Meta.ParentAgent = "s0", agent
		return c
	}
	read := write("general", core.Settings{})
	read.Call.Tool, read.Spec.Name, read.Call.Kind, read.Spec.Kind = "read_file", "read_file", core.KindRead, core.KindRead
	read.Access = []core.Access{{Op: core.OpRead, Path: "/src/a.go"}}
	for _, c := range []struct {
		what  string
		check core.Check
		want  core.Effect
	}{
		{"code has general run by rule", under("", run("general", "go test ./...")), core.Allow},
		{"code has general run something else", under("code", run("general", "make")), core.MustAsk},
		{"writer, which has no shell, has general run by rule", under("writer", run("general", "go test ./...")), core.Deny},
		{"writer has general write", under("writer", write("general", core.Settings{})), core.Allow},
		{"code has writer run", under("code", run("writer", "go test ./...")), core.Deny},
		{"reviewer, which has two tools, has general write", under("reviewer", write("general", core.Settings{Trust: true})), core.Deny},
		{"reviewer has general read", under("reviewer", read), core.Allow},
		{"plan has general write", under("plan", write("general", core.Settings{Trust: true})), core.Deny},
		{"guest, of the workspace, has own write by rule", under("guest", write("own", core.Settings{Trust: true})), core.MustAsk},
		{"careful has general write, which is not on its list", under("careful", write("general", core.Settings{Trust: true})), core.MustAsk},
	} {
		v := made.Policy.Decide(c.check)
		if v.Effect != c.want {
			t.Errorf("%s: %+v, want %s", c.what, v, c.want)
		}
	}
	v := made.Policy.Decide(under("writer", run("general", "make")))
	if want := "the agent writer is not offered the tool shell_command, and it handed over this task"; v.Why != want {
		t.Errorf("why: %q, want %q", v.Why, want)
	}
}

// Agents that only read may ask for approval to read, but not to change anything.
func TestPlanMayAskToLook(t *testing.T) {
	_, made := agentsRoom(t)
	read := core.Check{
		Call: core.Call{Server: core.Native, Tool: "read_file", Kind: core.KindRead}, Spec: core.Spec{Server: core.Native, Name: "read_file", Kind: core.KindRead, ReadOnly: true},
		Access: []core.Access{{Op: core.OpRead, Path: "/etc/hosts", Outside: true}}, Settings: core.Settings{Agent: "plan"}, Meta: core.Meta{Roots: []string{"/src"}},
	}
	if v := made.Policy.Decide(read); v.Effect != core.MustAsk {
		t.Errorf("reading outside: %+v", v)
	}
	read.Access[0].Path = "/src/.env"
	if v := made.Policy.Decide(read); v.Effect != core.Deny {
		t.Errorf("what a rule forbids: %+v", v)
	}
	read.Access = []core.Access{{Op: core.OpRead, Path: "/etc/hosts", Outside: true}}
	read.Origin.Approvals = core.ApprovalsDeny
	if v := made.Policy.Decide(read); v.Effect != core.Deny {
		t.Errorf("where nobody may be asked: %+v", v)
	}
}

// A rule that allows one of our tools allows no tool of the same name on an MCP server; one that
// forbids it does.
func TestRulesAreNotForNamesakes(t *testing.T) {
	made, err := profileOf(t, "policy: {allow: [{tool: write_file}, {tool: search_issues}, {server: tracker, tool: edit_file}], deny: [{tool: read_file}]}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]core.Effect{
		"native/write_file": core.Allow, "evil/write_file": core.MustAsk, "evil/search_issues": core.Allow, "tracker/edit_file": core.Allow,
		"native/edit_file": core.MustAsk, "evil/read_file": core.Deny, "native/read_file": core.Deny,
	} {
		server, tool, _ := strings.Cut(name, "/")
		check := core.Check{Call: core.Call{Server: server, Tool: tool}, Spec: core.Spec{Server: server, Name: tool}, Meta: core.Meta{Cwd: "/src", Roots: []string{"/src"}}}
		if server == core.Native {
			check.Access = []core.Access{{Op: core.OpWrite, Path: "/src/a.go"}}
		}
		if v := made.Policy.Decide(check); v.Effect != want {
			t.Errorf("%s: %+v, want %s", name, v, want)
		}
	}
}

// Files that the rules forbid to read are not listed or searched either.
func TestForbiddenFilesAreNotListed(t *testing.T) {
	r, _ := agentsRoom(t)
	forbids, err := forbids(r.host())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{".env": true, "a/.ENV": true, "a/b.go": false, "a/.env.go": false} {
		if got := forbids(core.Access{Op: core.OpRead, Path: filepath.Join(r.dir, filepath.FromSlash(name))}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Nor does a guide of the workspace include them in the system prompt.
func TestForbiddenFilesAreNotIncluded(t *testing.T) {
	r := newRoom(t, nil, map[string]string{
		"AGENTS.md": "See @notes.txt and @secrets/notes.txt and @also.txt.", "notes.txt": "These are notes.", "secrets/notes.txt": "canary one",
	})
	if err := os.Symlink(filepath.Join("secrets", "notes.txt"), filepath.Join(r.dir, "also.txt")); err != nil {
		t.Skip(err)
	}
	said := func() string {
		t.Helper()
		if _, err := r.profiles.Load(); err != nil {
			t.Fatal(err)
		}
		return systemText(builtinRoles()[0], r.profiles.edition().guides, core.Meta{Cwd: r.dir, Roots: []string{r.dir}})
	}
	r.configure("policy: {deny: [{path: \"secrets/**\"}]}\n")
	if got := said(); !strings.Contains(got, "These are notes") || strings.Contains(got, "canary") {
		t.Errorf("the system prompt: %s", got)
	}
	r.configure("policy: {deny: [{path: notes.txt}, {command: \"*\"}]}\n") // the files are unchanged
	if got := said(); strings.Contains(got, "These are notes") || strings.Contains(got, "canary") {
		t.Errorf("after another rule: %s", got)
	}
}

// No call may read or change the stored keys.
func TestKeysAreOutOfReach(t *testing.T) {
	r, made := agentsRoom(t)
	path := r.profiles.process.logins.Path()
	for _, op := range []core.AccessOp{core.OpRead, core.OpWrite} {
		c := write("code", core.Settings{Trust: true})
		c.Access = []core.Access{{Op: op, Path: path, Outside: true}}
		if v := made.Policy.Decide(c); v.Effect != core.Deny {
			t.Errorf("%s: %+v", op, v)
		}
	}
	if v := made.Policy.Decide(run("code", "cat "+path)); v.Effect == core.Allow {
		t.Errorf("a command: %+v", v)
	}
}

// An agent that only reads is offered the tools that are useful to it.
func TestExplorerIsOfferedReadingTools(t *testing.T) {
	explorer := builtinRoles()[2]
	for spec, want := range map[*core.Spec]bool{
		{Server: core.Native, Name: "read_file", Kind: core.KindRead, ReadOnly: true}:     true,
		{Server: core.Native, Name: "web_fetch", Kind: core.KindFetch}:                    true,
		{Server: core.Native, Name: "write_file", Kind: core.KindEdit}:                    false,
		{Server: core.Native, Name: "shell_command", Kind: core.KindExecute}:              false,
		{Server: "tracker", Name: "list", Kind: core.KindOther, ReadOnly: true}:           true,
		{Server: "tracker", Name: "close", Kind: core.KindRead}:                           false,
		{Server: core.Native, Name: guide.SkillTool, Kind: core.KindRead, ReadOnly: true}: true,
	} {
		if got := explorer.Offers(*spec); got != want {
			t.Errorf("explorer and %s/%s: %v", spec.Server, spec.Name, got)
		}
	}
}
