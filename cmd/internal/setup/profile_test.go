package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/program/programtest"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/servers"
	"dragoman/configs"
	"dragoman/configs/configstest"
	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/loop"
	"dragoman/core/policy"
)

// profileOf translates a configuration.
func profileOf(t *testing.T, text string, env map[string]string) (*Profile, error) {
	t.Helper()
	layer, err := configs.Parse("config.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := configs.Resolve(layer, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return profilesOf(t, env).edition().make(c, overlay{}, nil)
}

// profilesOf returns the profiles of an environment, with a data folder of their own.
func profilesOf(t *testing.T, env map[string]string) *Client {
	t.Helper()
	e := &program.Environment{
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Err: io.Discard,
		Flags: program.Flags{DataDir: filepath.Join(t.TempDir(), "data")},
	}
	p := newProfiles(t, e)
	t.Cleanup(p.process.Close)
	return p
}

func newProfiles(t *testing.T, e *program.Environment) *Client {
	t.Helper()
	l, err := OpenLog(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	kept := secrets.New(e, nil)
	return New(Options{Env: e, Secrets: kept, Servers: servers.New(e, kept), Log: l}).Client(ClientOptions{Principal: core.Local, People: true})
}

func TestProfileWithoutAnything(t *testing.T) {
	p, err := profileOf(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := AgentNames(p.Agents); got != "code, plan" {
		t.Errorf("agents: %s", got)
	}
	models := inference.ModelsOf(&p.Profile)
	if models.Default != "offline/demo" || len(models.List) != 1 || !models.List[0].Offline || p.AskTimeout != time.Hour || len(p.Toolboxes) != 3 {
		t.Errorf("%+v", p.Profile)
	}
}

func TestProfileTranslatesAgentsAndModels(t *testing.T) {
	p, err := profileOf(t, `
model: groq/big
providers:
  local: {base_url: "http://localhost:1/v1"}
agents:
  reviewer: {description: Reads a change, model: local/small, instructions: Be short.}
  helper: {mode: subagent}
  code: {instructions: Use tabs.}
policy: {ask_timeout: 5m}
`, map[string]string{"OPENAI_API_KEY": "k"})
	if err != nil {
		t.Fatal(err)
	}
	if got := AgentNames(p.Agents); got != "code, plan, reviewer" {
		t.Errorf("agents: %s", got)
	}
	if a, _ := p.Agent("code"); a.Description == "" {
		t.Error("an entry without a description took the one of ours away")
	}
	var ids []string
	for _, m := range inference.ModelsOf(&p.Profile).List {
		if provider, _, _ := strings.Cut(m.ID, "/"); provider != "openai" || m.ID == "openai/gpt-5.1" {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids[1:])
	if want := []string{"groq/big", "local/small", "offline/demo", "openai/gpt-5.1"}; !slices.Equal(ids, want) || len(inference.ModelsOf(&p.Profile).List) < 10 {
		t.Errorf("models: %v", ids)
	}
	if models := inference.ModelsOf(&p.Profile); models.List[0].ID != models.Default {
		t.Errorf("the first model is %s", models.List[0].ID)
	}
	if p.AskTimeout != 5*time.Minute {
		t.Errorf("ask timeout: %v", p.AskTimeout)
	}
}

// The configuration chooses the agent of sessions for which nobody chooses one; its rights are the
// default ones as well.
func TestDefaultAgent(t *testing.T) {
	const agents = "agents: {look: {tools: [read_file]}, explorer: {mode: all}, helper: {mode: subagent}}\n"
	for name, want := range map[string]string{"": "code, plan, explorer, look", "plan": "plan, code, explorer, look", "explorer": "explorer, code, plan, look", "look": "look, code, plan, explorer"} {
		text := agents
		if name != "" {
			text += "default_agent: " + name + "\n"
		}
		p, err := profileOf(t, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := p.Agent("")
		if got := AgentNames(p.Agents); got != want || first.Name != cmp.Or(name, "code") {
			t.Errorf("%q: %s", name, got)
		}
		if offers := p.Rights.Offers("", core.Spec{Server: core.Native, Name: "write_file"}); offers != (name == "") {
			t.Errorf("%q: the default agent is offered write_file: %v", name, offers)
		}
	}
}

// The command line's agent takes precedence; a mistyped one is an error of every request, like a
// mistake in the configuration.
func TestDefaultAgentOfTheCommandLine(t *testing.T) {
	c := profilesOf(t, nil)
	conf := configstest.Parsed(t, "default_agent: look\nagents: {look: {}, helper: {mode: subagent}}\n")
	c.process.chosen = "plan"
	p, err := c.edition().make(conf, overlay{}, nil)
	if err != nil || p.Agents[0].Name != "plan" || p.Rights.Default != "plan" {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]string{
		"lok": `--agent: there is no agent "lok" among code, plan, look; did you mean "look"?`, "helper": `there is no agent "helper"`,
	} {
		c.process.chosen = name
		if _, err := c.edition().make(conf, overlay{}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// systemText returns the text of an agent's system prompt.
func systemText(r role, g *guides, m core.Meta) (text string) {
	for _, section := range systemOf(r, g)(m, "") {
		text += section.Text
	}
	return text
}

func TestSystemPromptHoldsTheInstructions(t *testing.T) {
	meta := core.Meta{Cwd: "/src", Roots: []string{"/src"}}
	base := loop.System("dragoman", meta)
	none := newGuides(func(string) (string, bool) { return "", false })
	if got := systemText(role{Role: policy.Role{Name: codeAgent}}, none, meta); got != base {
		t.Errorf("code: %q", got)
	}
	if got := systemText(role{Role: policy.Role{Name: "reviewer"}, instructions: "Be short.\n"}, none, meta); !strings.HasPrefix(got, base) || !strings.HasSuffix(got, "Be short.\n") {
		t.Errorf("reviewer: %q", got)
	}
	if got := systemText(builtinRoles()[1], none, meta); !strings.Contains(got, "change nothing") {
		t.Errorf("plan: %q", got)
	}
}

func TestInstructionsThatCannotBeReadAreAnError(t *testing.T) {
	_, err := profileOf(t, "agents:\n  a: {instructions: \"${file:none.md}\"}\n", nil)
	if err == nil || !strings.Contains(err.Error(), "config.yaml:2:21: agents.a.instructions: ") {
		t.Errorf("%v", err)
	}
}

// decideOn asks the profile's policy about a call of a native tool.
func decideOn(p *Profile, agent string, access core.Access, remembered map[string]core.Decision) core.Verdict {
	kind := map[core.AccessOp]string{core.OpRead: "read_file", core.OpWrite: "write_file", core.OpRun: "shell_command"}
	return p.Policy.Decide(core.Check{
		Call:   core.Call{Server: core.Native, Tool: kind[access.Op], Args: json.RawMessage("{}")},
		Spec:   core.Spec{Server: core.Native, Name: kind[access.Op], ReadOnly: access.Op == core.OpRead},
		Access: []core.Access{access}, Meta: core.Meta{Cwd: "/src", Roots: []string{"/src"}},
		Settings: core.Settings{Agent: agent}, Remembered: remembered,
	})
}

func TestPolicyIsTheConfigurations(t *testing.T) {
	p, err := profileOf(t, `
policy:
  allow: [{command: "go test *"}, {path: "~/docs/**"}]
  deny: [{path: "**/.env"}]
`, map[string]string{"HOME": "/home/ada", "USERPROFILE": "/home/ada"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		agent string
		a     core.Access
		want  core.Effect
	}{
		{"", core.Access{Op: core.OpRead, Path: "/src/a.go"}, core.Allow},
		{"", core.Access{Op: core.OpRead, Path: "/src/.env"}, core.Deny},
		{"", core.Access{Op: core.OpRead, Path: "/etc/passwd", Outside: true}, core.MustAsk},
		{"", core.Access{Op: core.OpWrite, Path: "/src/a.go"}, core.MustAsk},
		{"", core.Access{Op: core.OpRun, Command: "go test ./...", Path: "/src"}, core.Allow},
		{"", core.Access{Op: core.OpRun, Command: "make", Path: "/src"}, core.MustAsk},
		{"plan", core.Access{Op: core.OpRead, Path: "/src/a.go"}, core.Allow},
		{"plan", core.Access{Op: core.OpWrite, Path: "/src/a.go"}, core.Deny},
		{"plan", core.Access{Op: core.OpRun, Command: "go test ./...", Path: "/src"}, core.Deny},
	} {
		if v := decideOn(p, c.agent, c.a, nil); v.Effect != c.want {
			t.Errorf("%s %+v: %+v", c.agent, c.a, v)
		}
	}
}

func TestRuleThatCannotBeUsedIsPointedAt(t *testing.T) {
	layer, err := configs.Parse("config.yaml", []byte("policy:\n  deny: [{tool: a}, {path: \"x\"}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := configs.Resolve(layer, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Policy.Deny[1].Path = "[" // the file's own check is as strict as the policy's
	_, err = newPolicy(c, func(string) (string, bool) { return "", false })
	if err == nil || !strings.HasPrefix(err.Error(), "config.yaml:2:") || !strings.Contains(err.Error(), "policy.deny[1]: ") {
		t.Errorf("%v", err)
	}
}

// A mistake is reported until it is corrected; after that one profile stays in use.
func TestProfilesAreMadeOnce(t *testing.T) {
	p := programtest.NewPlace(t)
	path := p.Config(t, "modle: x\n")
	ps := newProfiles(t, &program.Environment{Lookup: p.Lookup, Err: os.Stderr})
	var wrong *configs.Error
	if _, err := ps.Profile(context.Background(), nil); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), path+":1:1: modle: ") {
		t.Errorf("%v", err)
	}
	programtest.Write(t, path, "model: groq/x\n")
	first, err := ps.Profile(context.Background(), nil)
	if err != nil || inference.ModelsOf(first).Default != "groq/x" {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := ps.Profile(context.Background(), []string{filepath.Dir(path)}); again != first || err != nil {
		t.Errorf("a second profile was made: %v", err)
	}
	ps.Close()
}
