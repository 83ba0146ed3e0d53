package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/cmd/internal/program/programtest"
	"dragoman/configs/configstest"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
	"dragoman/core/loop"
	"dragoman/core/policy"
)

// others are external agents of a test: back ends that say their name, in the order in which they
// were made.
type others struct {
	asked []External
	made  []*coretest.Backend
}

// withOthers lets the room's profiles have external agents.
func (r *room) withOthers() *others {
	o := &others{}
	r.profiles.process.externals.backend = func(e External) core.Backend {
		b := &coretest.Backend{Run: func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
			return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: "I am " + e.Name + "."})
		}}
		o.asked, o.made = append(o.asked, e), append(o.made, b)
		return b
	}
	return o
}

// An external agent is offered to people, to other agents, or to both, beside the built-in ones.
func TestExternalAgentsAreOffered(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.withOthers()
	r.configure(`
default_agent: claude
agents:
  claude: {acp: {command: claude-agent-acp}}
  both: {acp: {command: [ssh, box, codex-acp]}, mode: all, description: On the box}
  sub: {acp: {command: /opt/gemini --acp}, mode: subagent}
`)
	made, err := r.profiles.In(t.Context(), []string{r.dir})
	if err != nil {
		t.Fatal(err)
	}
	if people, tasks := AgentNames(made.Agents), AgentNames(made.Subagents); people != "claude, code, plan, both" || tasks != "explorer, general, both, sub" {
		t.Errorf("for people %s, for tasks %s", people, tasks)
	}
	for name, want := range map[string]string{"claude": "External agent (claude-agent-acp)", "both": "On the box", "sub": "External agent (gemini)"} {
		if a, ok := made.Agent(name); !ok || !a.External || a.Description != want {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a, _ := made.Agent("code"); a.External {
		t.Error("the built-in agent is an external one")
	}
	if got := r.say("hello"); got != "I am claude." {
		t.Errorf("the default agent: %s", got)
	}
}

// A change of an entry that concerns its program makes another revision, whose predecessor is
// closed; any other change keeps it, also for the sessions of other connections.
func TestExternalAgentsAreRemadeOnlyByTheirOwnSettings(t *testing.T) {
	r := newRoom(t, nil, nil)
	o := r.withOthers()
	const entry = "agents: {claude: {acp: {command: claude, env: {A: '${env:A}'}}, options: {mode: plan}}}\n"
	r.configure(entry)
	if err := r.att.Set(t.Context(), core.Settings{Agent: "claude"}); err != nil {
		t.Fatal(err)
	}
	other := r.connect(optionsOfAda, true)
	rev := func(c *Client) core.Agent {
		t.Helper()
		made, err := c.In(t.Context(), []string{r.dir})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := made.Agent("claude")
		return a
	}
	r.say("hello")
	was := rev(r.profiles)
	for _, text := range []string{
		"# a comment\n" + entry, "limits: {max_turn_requests: 9}\n" + entry, strings.Replace(entry, "acp", "description: other, mode: all, acp", 1),
		"agents: {claude: {acp: {command: [claude], env: {A: '${env:A}'}}, idle: 10m, options: {mode: 'plan'}}, two: {}}\n",
	} {
		r.configure(text)
		r.say("again")
		if now, there := rev(r.profiles), rev(other); now.Rev != was.Rev || there.Rev != was.Rev {
			t.Errorf("%s: the revision was %s and is %s, and %s for another connection", text, was.Rev, now.Rev, there.Rev)
		}
	}
	r.configure(strings.Replace(entry, "acp", "description: other, acp", 1))
	if a := rev(r.profiles); a.Description != "other" || len(o.made) != 1 || len(o.made[0].Bindings()) != 1 {
		t.Errorf("%+v; %d back ends", a, len(o.made))
	}
	for i, text := range []string{
		strings.Replace(entry, "'${env:A}'", "b", 1), strings.Replace(entry, "mode: plan", "mode: ask", 1),
		strings.Replace(entry, "acp", "idle: 5m, acp", 1), strings.Replace(entry, "acp", "paths: {/a: /b}, acp", 1),
	} {
		r.configure(text)
		r.say("again")
		if now := rev(r.profiles); now.Rev == was.Rev || len(o.made) != i+2 {
			t.Errorf("%s: the revision is still %s", text, now.Rev)
		}
		if n := o.made[i].Closed(); n != 1 {
			t.Errorf("%s: %d conversations with the back end before were closed", text, n)
		}
		rev(other) // it does not keep the old one any more
		was = rev(r.profiles)
	}
	r.configure("")
	r.say("gone")
	rev(other)
	other.Close()
	if n := len(r.profiles.process.externals.made); n != 0 {
		t.Errorf("%d external agents are kept", n)
	}
	if err := r.gateway.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for i, b := range o.made {
		if n := b.Ended(); n != 1 {
			t.Errorf("back end %d was closed %d times", i, n)
		}
	}
}

// agents.json is watched like the configuration: its creation, a change, and its removal.
func TestAgentsFileIsWatched(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.withOthers()
	path := r.profiles.process.env.AgentsFile()
	for _, step := range []struct{ text, want string }{
		{"", "code, plan"},
		{`{"agents": {"one": {"acp": {"command": ["x"]}}}}`, "code, plan, one"},
		{`{"agents": {"one": {"acp": {"command": ["x"]}}, "second": {"command": "y"}}}`, "code, plan, one, second"},
		{"", "code, plan"},
	} {
		if step.text != "" {
			programtest.Write(t, path, step.text)
		} else if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		made, err := r.profiles.In(t.Context(), []string{r.dir})
		if err != nil || AgentNames(made.Agents) != step.want {
			t.Errorf("%s: %v", step.text, err)
		}
	}
}

// The last connection that has an external agent takes it along.
func TestExternalAgentsEndWithTheirLastConnection(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.withOthers()
	r.configure("agents: {claude: {acp: {command: claude}}}\n")
	one, two := r.connect(optionsOfAda, true), r.connect(optionsOfBob, true)
	for _, c := range []*Client{one, two} {
		if _, err := c.In(t.Context(), []string{r.dir}); err != nil {
			t.Fatal(err)
		}
	}
	one.Close()
	if n := len(r.profiles.process.externals.made); n != 1 {
		t.Errorf("%d external agents after the first has left", n)
	}
	two.Close()
	if n := len(r.profiles.process.externals.made); n != 0 {
		t.Errorf("%d external agents after the last has left", n)
	}
}

// An agent delegates a task to an external one, if it may change things itself.
func TestTasksOfExternalAgents(t *testing.T) {
	r := newRoom(t, nil, nil)
	o := r.withOthers()
	r.configure("agents: {claude: {acp: {command: claude}, mode: subagent}}\npolicy: {allow: [{tool: spawn_agent}]}\n")
	task := string(coretest.Args(map[string]string{"agent": "claude", "task": "Say who you are."}))
	r.profiles.process.backend = func(name string) core.Backend {
		if name != codeAgent && name != planAgent {
			return nil
		}
		script := coretest.NewScript(coretest.Answer{}.Call("c1", "spawn_agent", task), coretest.Answer{}.Say("Done."))
		return loop.New(loop.Options{Model: func(context.Context, *core.Turn) (inference.Model, error) { return script, nil }})
	}
	spawned := func(agent string) (last core.Call) {
		t.Helper()
		r.begin()
		if err := r.att.Set(t.Context(), core.Settings{Agent: agent}); err != nil {
			t.Fatal(err)
		}
		if got := r.say("Hand it over."); got != "Done." {
			t.Errorf("%s: %s", agent, got)
		}
		for _, ev := range r.events {
			if e, ok := ev.(core.CallChanged); ok {
				last = e.Call
			}
		}
		return last
	}
	call := spawned(codeAgent)
	if call.State != core.Succeeded || !strings.Contains(fmt.Sprint(call.Content), "I am claude.") || call.Child == "" {
		t.Errorf("the task: %+v", call)
	}
	if len(o.made) != 1 || !slices.Equal(o.made[0].Heard(), []string{"Say who you are."}) {
		t.Errorf("it has heard %q", o.made[0].Heard())
	}
	if call = spawned(planAgent); call.State != core.Rejected || !strings.Contains(call.Why, "it can hand tasks only to agents that look, such as explorer") {
		t.Errorf("a plan's task: %+v", call)
	}
}

// A file cannot make an agent of an external one, nor take its name.
func TestFilesInheritNothingFromExternalAgents(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.withOthers()
	r.configure("agents: {claude: {acp: {command: claude}}}\n")
	write := func(name, text string) {
		programtest.Write(t, filepath.Join(r.dir, ".dragoman", "agents", name+".md"), "---\n"+text+"\n---\nDo it.\n")
	}
	write("evil", "description: x\ninherit: claude")
	write("Claude", "description: x")
	made, err := r.profiles.In(t.Context(), []string{r.dir})
	if err != nil {
		t.Fatal(err)
	}
	if role, ok := made.role("evil"); !ok || role.program != nil || AgentNames(made.Agents) != "code, plan, claude, evil" {
		t.Errorf("%+v; %s", role, AgentNames(made.Agents))
	}
	if a, _ := made.Agent("evil"); a.External {
		t.Error("it is an external agent")
	}
	r.wants("/doctor", "nothing is inherited from the agent claude, which is a program of its own", "there already is an agent claude")
}

// The turns of an external agent, too, say that the configuration has a mistake, and its
// conversation still is what it was.
func TestFaultsAreReportedByExternalAgents(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.withOthers()
	r.configure("default_agent: claude\nagents: {claude: {acp: {command: claude}}}\n")
	r.say("hello")
	r.configure("nonsense: 1\n")
	got := r.say("hello")
	told := slices.ContainsFunc(r.events, func(ev core.Event) bool {
		n, ok := ev.(core.Notice)
		return ok && strings.Contains(n.Text, "The configuration has a mistake")
	})
	if got != "I am claude." || !told {
		t.Errorf("%s; %v", got, r.events)
	}
	type both struct {
		core.Conversation
		core.Chooser
		core.Rester
	}
	for _, c := range []struct {
		of             core.Conversation
		chooses, rests bool
	}{
		{both{}, true, true},
		{struct {
			core.Conversation
			core.Chooser
		}{}, true, false},
		{struct {
			core.Conversation
			core.Rester
		}{}, false, true},
		{struct{ core.Conversation }{}, false, false},
	} {
		conv := reporting(c.of)
		_, chooses := conv.(core.Chooser)
		_, rests := conv.(core.Rester)
		if chooses != c.chooses || rests != c.rests {
			t.Errorf("%T: chooses %v, rests %v", c.of, chooses, rests)
		}
	}
}

// The rights of an external agent are those of the policy.
func TestRightsOfExternalAgents(t *testing.T) {
	roles, err := newRoles(configstest.Parsed(t, "agents: {claude: {acp: {command: claude}, mode: all}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	role := roles[len(roles)-1].Role
	if role.Name != "claude" || !role.Primary || !role.Sub || role.Looks || role.Foreign || !role.Offers(core.Spec{Server: "x", Name: "y"}) || policy.CheckTools(role.Never) != nil {
		t.Errorf("%+v", role)
	}
}
