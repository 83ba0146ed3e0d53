package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/guide"
	"dragoman/core/loop"
)

// guides caches the instructions of each workspace, and of the user: AGENTS.md, rules
// and skills. A guide is loaded when it is first needed, and again when a look finds that
// one of its files has changed.
type guides struct {
	options guide.Options                            // without Roots
	changed func(*guide.Guide, context.Context) bool // checks its files for changes

	mu   sync.Mutex // guards the field below
	made map[string]*guide.Guide
}

func newGuides(env configs.Env) *guides {
	home := program.Home(env)
	xdg, _ := env("XDG_CONFIG_HOME")
	dirs := guide.ConfigDirs(xdg, home)
	if file := configs.UserFile(env); file != "" && !slices.Contains(dirs, filepath.Dir(file)) {
		dirs = append([]string{filepath.Dir(file)}, dirs...) // the platform's own place
	}
	return &guides{
		options: guide.Options{Home: home, ConfigDirs: dirs, BuiltIn: builtIns()},
		changed: (*guide.Guide).Changed,
		made:    map[string]*guide.Guide{},
	}
}

// look returns the guide of a workspace after a look at its files; nil if its folders are not
// accessible.
func (g *guides) look(ctx context.Context, roots []string) *guide.Guide {
	have := g.kept(roots)
	if have != nil && !g.changed(have, ctx) {
		return have
	}
	return g.load(ctx, roots, have)
}

// last returns the guide of a workspace as of the last look. If there was none it is loaded.
func (g *guides) last(ctx context.Context, roots []string) *guide.Guide {
	if have := g.kept(roots); have != nil {
		return have
	}
	return g.load(ctx, roots, nil)
}

func (g *guides) kept(roots []string) *guide.Guide {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.made[strings.Join(roots, "\x00")]
}

// load reads a guide. If that fails it returns the previous one.
func (g *guides) load(ctx context.Context, roots []string, have *guide.Guide) *guide.Guide {
	o := g.options
	o.Roots = roots
	made, err := guide.Load(ctx, o)
	if err != nil {
		return have
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.made[strings.Join(roots, "\x00")] = made
	return made
}

// forget makes the guides load again: the files that they must not include may have changed.
func (g *guides) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.made)
}

// system returns the addition of the turn's guide to an agent's system prompt.
func (g *guides) system(m core.Meta, agent, model string) (list []loop.Section) {
	have := g.last(context.Background(), m.Roots)
	if have == nil {
		return nil
	}
	for part, text := range have.Sections(agent, model) {
		list = append(list, loop.Section{Part: part, Text: text})
	}
	return list
}

// nested returns the instructions of the folders of some files beyond those in the system
// prompt, and warnings about them.
func (g *guides) nested(
	ctx context.Context,
	m core.Meta,
	files []string,
) (list []loop.Instructions, warnings []string) {
	have := g.last(ctx, m.Roots)
	if have == nil {
		return nil, nil
	}
	parts, wrong := have.InstructionsFor(ctx, files...)
	for _, p := range slices.Backward(parts) { // the outermost first
		list = append(list, loop.Instructions{File: p.File, Text: p.Framed()})
	}
	for _, w := range wrong {
		warnings = append(warnings, w.String())
	}
	return list, warnings
}

// Open implements core.Toolbox: if the workspace or the user has skills, or rules for certain
// work, there are tools that read them.
func (g *guides) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	return &guideTools{guides: g, host: host}, nil
}

// guideTools is a session's tools for reading guidance. Its methods are not called
// concurrently.
type guideTools struct {
	guides *guides
	host   core.ToolHost

	skills, rules bool // there were such files when the tools were listed
}

func (t *guideTools) which(ctx context.Context) (skills, rules bool) {
	if have := t.guides.last(ctx, t.host.Meta().Roots); have != nil {
		skills = len(have.Skills()) > 0
		rules = slices.ContainsFunc(have.Rules(), func(r guide.Rule) bool { return !r.Always })
	}
	return skills, rules
}

// Tools implements core.Toolset.
func (t *guideTools) Tools(ctx context.Context) ([]core.Tool, error) {
	t.skills, t.rules = t.which(ctx)
	var list []core.Tool
	if t.skills {
		list = append(
			list,
			guideTool{
				guide.SkillTool,
				"name",
				"Reads a skill: a text on how to do something well. The system prompt lists them.",
				t.guides,
				t.host,
			},
		)
	}
	if t.rules {
		list = append(
			list,
			guideTool{
				guide.RuleTool,
				"id",
				"Reads a rule for certain work. The system prompt lists them.",
				t.guides,
				t.host,
			},
		)
	}
	return list, nil
}

// Changed implements core.Toolset: there are tools as long as there are files for them.
func (t *guideTools) Changed() <-chan struct{} {
	if skills, rules := t.which(context.Background()); skills == t.skills && rules == t.rules {
		return nil
	}
	now := make(chan struct{})
	close(now)
	return now
}

// Close implements core.Toolset.
func (*guideTools) Close() error { return nil }

// guideTool reads one kind of text by its name. It reads nothing else, so it needs no
// approval.
type guideTool struct {
	name, arg, does string
	guides          *guides
	host            core.ToolHost
}

// Spec implements core.Tool.
func (t guideTool) Spec() core.Spec {
	schema := fmt.Sprintf(
		`{"type":"object","additionalProperties":false,"required":[%q],"properties":{%q:{"type":"string","description":"As the system prompt lists it."}}}`,
		t.arg,
		t.arg,
	)
	return core.Spec{
		Server:      core.Native,
		Name:        t.name,
		Title:       "Read a " + strings.TrimPrefix(t.name, "fetch_"),
		Description: t.does,
		Schema:      json.RawMessage(schema),
		Kind:        core.KindRead,
		ReadOnly:    true,
		Idempotent:  true,
	}
}

// Preview implements core.Tool.
func (t guideTool) Preview(_ context.Context, inv core.Invocation) (core.Preview, error) {
	name, err := t.wanted(inv.Args)
	if err != nil {
		return core.Preview{}, err
	}
	return core.Preview{Title: t.Spec().Title + ": " + display.Line(name, 80), Kind: core.KindRead}, nil
}

// Run implements core.Tool.
func (t guideTool) Run(ctx context.Context, inv core.Invocation) (core.Result, error) {
	name, err := t.wanted(inv.Args)
	if err != nil {
		return core.Result{}, err
	}
	have := t.guides.last(ctx, t.host.Meta().Roots)
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

// commands lists the commands with which a user can begin a prompt.
func (g *guides) commands(ctx context.Context, roots []string) []core.Command {
	have := g.last(ctx, roots)
	if have == nil {
		return nil
	}
	return have.List()
}

// expand implements Client.Expand.
func (p *edition) expand(
	ctx context.Context, roots []string, name string, args map[string]string,
) (text string, ok bool, err error) {
	have := p.guides.look(ctx, roots)
	if have == nil {
		return "", false, nil
	}
	c, ok := have.Command(name)
	if !ok || !c.Prompts() {
		return "", false, nil
	}
	text, err = have.ExpandNamed(name, args)
	return text, true, err
}
