package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/guide"
	"dragoman/core/loop"
)

// guides keeps what each workspace, and the user, tell the agent: AGENTS.md, rules
// and skills. A guide is loaded when it is first needed, and anew when one of its
// files has changed.
type guides struct {
	options guide.Options // without Roots

	mu   sync.Mutex // guards the field below
	made map[string]*guide.Guide
}

func newGuides(env configs.Env) *guides {
	home := homeOf(env)
	xdg, _ := env("XDG_CONFIG_HOME")
	dirs := guide.ConfigDirs(xdg, home)
	if file := configs.UserFile(env); file != "" && !slices.Contains(dirs, filepath.Dir(file)) {
		dirs = append([]string{filepath.Dir(file)}, dirs...) // the platform's own place
	}
	return &guides{options: guide.Options{Home: home, ConfigDirs: dirs}, made: map[string]*guide.Guide{}}
}

// of is the guide of a workspace; nil where its folders cannot be looked at.
func (g *guides) of(ctx context.Context, roots []string) *guide.Guide {
	key := strings.Join(roots, "\x00")
	g.mu.Lock()
	have := g.made[key]
	g.mu.Unlock()
	if have != nil && !have.Changed(ctx) {
		return have
	}
	o := g.options
	o.Roots = roots
	made, err := guide.Load(ctx, o)
	if err != nil {
		return have
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.made[key] = made
	return made
}

// system is what the guide adds to an agent's system prompt.
func (g *guides) system(m core.Meta, agent, model string) string {
	if have := g.of(context.Background(), m.Roots); have != nil {
		return have.System(agent, model)
	}
	return ""
}

// Open implements core.Toolbox: where the workspace or the user has skills, or
// rules for certain work, there are tools that read them.
func (g *guides) Open(ctx context.Context, host core.ToolHost) (core.Toolset, error) {
	set := guideTools{}
	have := g.of(ctx, host.Meta().Roots)
	if have == nil {
		return set, nil
	}
	if len(have.Skills()) > 0 {
		set = append(set, guideTool{guide.SkillTool, "name", "Reads a skill: a text on how to do something well. The system prompt lists them.", g, host})
	}
	if slices.ContainsFunc(have.Rules(), func(r guide.Rule) bool { return !r.Always }) {
		set = append(set, guideTool{guide.RuleTool, "id", "Reads a rule for certain work. The system prompt lists them.", g, host})
	}
	return set, nil
}

// guideTools is a session's tools for reading guidance.
type guideTools []core.Tool

// Tools implements core.Toolset.
func (t guideTools) Tools(context.Context) ([]core.Tool, error) { return t, nil }

// Changed implements core.Toolset: what is listed stays, so that the prompt does.
func (guideTools) Changed() <-chan struct{} { return nil }

// Close implements core.Toolset.
func (guideTools) Close() error { return nil }

// guideTool reads one kind of text by its name. It reads nothing else, so nobody
// needs to be asked.
type guideTool struct {
	name, arg, does string
	guides          *guides
	host            core.ToolHost
}

// Spec implements core.Tool.
func (t guideTool) Spec() core.Spec {
	schema := fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":[%q],"properties":{%q:{"type":"string","description":"As the system prompt lists it."}}}`, t.arg, t.arg)
	return core.Spec{
		Server: core.Native, Name: t.name, Title: "Read a " + strings.TrimPrefix(t.name, "fetch_"), Description: t.does,
		Schema: json.RawMessage(schema), Kind: core.KindRead, ReadOnly: true, Idempotent: true,
	}
}

// Preview implements core.Tool.
func (t guideTool) Preview(_ context.Context, inv core.Invocation) (core.Preview, error) {
	name, err := t.wanted(inv.Args)
	if err != nil {
		return core.Preview{}, err
	}
	return core.Preview{Title: t.Spec().Title + ": " + oneLine(name, 80), Kind: core.KindRead}, nil
}

// Run implements core.Tool.
func (t guideTool) Run(ctx context.Context, inv core.Invocation) (core.Result, error) {
	name, err := t.wanted(inv.Args)
	if err != nil {
		return core.Result{}, err
	}
	have := t.guides.of(ctx, t.host.Meta().Roots)
	if have == nil {
		return core.Result{}, errors.New("the workspace's folders cannot be read")
	}
	text, folder := "", ""
	if t.name == guide.SkillTool {
		text, folder, err = have.Skill(name)
	} else {
		text, err = have.RuleText(name)
	}
	if err != nil {
		return core.Result{Blocks: []core.Block{core.Text{Text: err.Error()}}, Failed: true}, nil
	}
	if folder != "" {
		text = "Its files are in " + folder + ".\n\n" + text
	}
	return core.Result{Blocks: []core.Block{core.Text{Text: text}}}, nil
}

func (t guideTool) wanted(args json.RawMessage) (string, error) {
	var m map[string]string
	if err := json.Unmarshal(args, &m); err != nil || m[t.arg] == "" || len(m) != 1 {
		return "", fmt.Errorf("%s needs one argument, %q, a text", t.name, t.arg)
	}
	return m[t.arg], nil
}

// commands lists what a user can begin a prompt with. Built-in commands that only
// an editor could carry out are not among them.
func (g *guides) commands(ctx context.Context, roots []string) []core.Command {
	have := g.of(ctx, roots)
	if have == nil {
		return nil
	}
	var list []core.Command
	for _, c := range have.Commands() {
		if c.Does == guide.Acts {
			continue
		}
		cmd := core.Command{Kind: core.CommandBuiltin, Name: c.Name, Description: c.Description}
		switch c.Kind {
		case guide.Custom:
			cmd.Kind = core.CommandCustom
		case guide.OfSkill:
			cmd.Kind = core.CommandSkill
		case guide.BuiltIn:
		}
		for _, a := range c.Arguments {
			cmd.Arguments = append(cmd.Arguments, core.Argument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		list = append(list, cmd)
	}
	return list
}

// command carries out a prompt that begins with a slash: a text of the workspace's
// or the user's takes its place, or it is answered from what is known here.
func (g *guides) command(m *models, config *configs.Config) func(context.Context, *core.Turn, string) (loop.Command, bool, error) {
	return func(ctx context.Context, t *core.Turn, text string) (loop.Command, bool, error) {
		have := g.of(ctx, t.Meta().Roots)
		name, args, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
		if have == nil {
			return loop.Command{}, false, nil
		}
		c, ok := have.Command(name)
		if !ok || c.Does == guide.Acts {
			return loop.Command{}, false, nil
		}
		if c.Does == guide.Prompts {
			prompt, err := have.Expand(name, strings.TrimSpace(args))
			return loop.Command{Prompt: prompt}, true, err
		}
		state := guide.State{Session: t.State(), Agent: t.Settings().Agent, Config: string(configs.Marshal(config))}
		if config.Source != "" {
			state.ConfigFiles = []string{config.Source}
		}
		if model, err := m.of("")(ctx, t.Settings().Model); err == nil {
			state.Model = model.Info()
		}
		answer, err := have.Show(name, state)
		return loop.Command{Answer: answer}, true, err
	}
}
