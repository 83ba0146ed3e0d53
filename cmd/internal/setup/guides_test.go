package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/program/programtest"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/policy"
)

// folderWith writes a workspace and returns its folder.
func folderWith(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

type guideHost struct {
	core.ToolHost
	meta core.Meta
}

func (h guideHost) Meta() core.Meta { return h.meta }

// The workspace's instructions reach the system prompt of every agent, also after a change.
func TestGuideInSystemPrompt(t *testing.T) {
	dir := folderWith(t, map[string]string{
		"AGENTS.md":                     "Always run the tests.",
		".dragoman/skills/tea/SKILL.md": "---\nname: tea\ndescription: How to make tea\n---\nBoil water.",
	})
	g := newGuides(func(string) (string, bool) { return "", false })
	m := core.Meta{Cwd: dir, Roots: []string{dir}}
	text := systemText(role{Role: policy.Role{Name: codeAgent}}, g, m)
	for _, want := range []string{"Always run the tests.", "How to make tea", "skill"} {
		if !strings.Contains(text, want) {
			t.Errorf("the system prompt lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Boil water") {
		t.Error("a skill's text is in the prompt before anybody asked for it")
	}
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Never run the tests, ever."), 0o600); err != nil {
		t.Fatal(err)
	}
	g.look(t.Context(), m.Roots) // like the next prompt
	if text = systemText(role{Role: policy.Role{Name: codeAgent}}, g, m); !strings.Contains(text, "Never run the tests, ever.") {
		t.Error("a change of AGENTS.md is not seen")
	}
}

// A skill is read with a tool that needs no approval; without skills there is no such tool.
func TestGuideTools(t *testing.T) {
	dir := folderWith(t, map[string]string{".agents/skills/tea/SKILL.md": "---\nname: tea\ndescription: How to make tea\n---\nBoil water."})
	g := newGuides(func(string) (string, bool) { return "", false })
	set, err := g.Open(t.Context(), guideHost{meta: core.Meta{Cwd: dir, Roots: []string{dir}}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := set.Tools(t.Context())
	if err != nil || len(list) != 1 || list[0].Spec().Name != "skill" {
		t.Fatalf("tools: %v, %v", list, err)
	}
	if s := list[0].Spec(); coretest.ToolFaults("openai", s.Name, s.Description, s.Schema) != nil {
		t.Errorf("it is not plain: %s", s.Schema)
	}
	inv := core.Invocation{Args: coretest.Args(map[string]string{"name": "tea"})}
	pv, err := list[0].Preview(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	made, err := profileOf(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := made.Policy.Decide(core.Check{Spec: list[0].Spec(), Access: pv.Access, Meta: core.Meta{Roots: []string{dir}}}); v.Effect != core.Allow {
		t.Errorf("reading a skill: %v", v)
	}
	res, err := list[0].Run(t.Context(), inv)
	if err != nil || res.Failed || !strings.Contains(res.Blocks[0].(core.Text).Text, "Boil water.") {
		t.Errorf("read %+v, %v", res, err)
	}
	if _, err := list[0].Preview(t.Context(), core.Invocation{Args: []byte(`{"nam":"tea"}`)}); err == nil {
		t.Error("a wrong argument was taken")
	}
	empty := t.TempDir()
	set, err = g.Open(t.Context(), guideHost{meta: core.Meta{Cwd: empty, Roots: []string{empty}}})
	if err != nil {
		t.Fatal(err)
	}
	if list, _ := set.Tools(context.Background()); len(list) != 0 {
		t.Errorf("an empty workspace has %d tools", len(list))
	}
}

// Commands are listed with their owners.
func TestGuideCommands(t *testing.T) {
	dir := folderWith(t, map[string]string{
		".dragoman/commands/show.md":  "---\ndescription: Shows a file\n---\nread $1\n",
		".agents/skills/tea/SKILL.md": "---\nname: tea\ndescription: How to make tea\n---\nBoil water.",
	})
	g := newGuides(func(string) (string, bool) { return "", false })
	kinds := map[string]core.CommandKind{}
	for _, c := range g.commands(t.Context(), []string{dir}) {
		kinds[c.Name] = c.Kind
	}
	for name, want := range map[string]core.CommandKind{
		"costs": core.CommandBuiltin, "init": core.CommandBuiltin, "show": core.CommandCustom, "tea": core.CommandSkill, "login": core.CommandBuiltin, "fork": core.CommandBuiltin, "nothing": "",
	} {
		if kinds[name] != want {
			t.Errorf("%s: got %q, want %q", name, kinds[name], want)
		}
	}
}

// The text of a workspace's command becomes the prompt.
func TestMCPExpand(t *testing.T) {
	p := programtest.NewPlace(t)
	dir := filepath.Join(p.Work, ".dragoman", "commands")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "greet.md"), []byte("---\narguments:\n  - name: name\n    required: true\n---\nSay hello to $1.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expand := newProfiles(t, &program.Environment{Lookup: p.Lookup, Err: os.Stderr}).Expand
	text, ok, err := expand(context.Background(), []string{p.Work}, "greet", map[string]string{"name": "Ada"})
	if err != nil || !ok || strings.TrimSpace(text) != "Say hello to Ada." {
		t.Errorf("%q, %v, %v", text, ok, err)
	}
	for _, name := range []string{"costs", "nothing"} {
		if _, ok, err := expand(context.Background(), []string{p.Work}, name, nil); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

// The folders of files that a tool has used have instructions beyond those of the system prompt,
// the outermost first. Files that a rule forbids to read are left out.
func TestInstructionsOfFolders(t *testing.T) {
	dir := folderWith(t, map[string]string{
		"AGENTS.md":           "Of all.",
		"sub/AGENTS.md":       "Of sub. @secret.md",
		"sub/secret.md":       "Never shown.",
		"sub/deep/CLAUDE.md":  "Of deep.",
		"vendor/x/AGENTS.md":  "Of others.",
		"beside/it/AGENTS.md": "Of the folder beside.",
	})
	g := newGuides(func(string) (string, bool) { return "", false })
	g.options.Refuse = func(path string) bool { return strings.HasSuffix(path, "secret.md") }
	at := func(names ...string) (paths []string) {
		for _, n := range names {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(n)))
		}
		return paths
	}
	m := core.Meta{Cwd: dir, Roots: []string{dir}}
	list, warnings := g.nested(t.Context(), m, at("sub/deep/a.go", "sub/b.go", "vendor/x/c.go", "d.go"))
	if len(list) != 2 || list[0].File != at("sub/AGENTS.md")[0] || list[1].File != at("sub/deep/CLAUDE.md")[0] {
		t.Fatalf("%+v", list)
	}
	if !strings.HasPrefix(list[0].Text, `<instructions file="`) || !strings.Contains(list[0].Text, "Of sub.") || strings.Contains(list[0].Text, "Never shown.") {
		t.Errorf("%s", list[0].Text)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "forbids") {
		t.Errorf("warnings: %q", warnings)
	}
	if list, _ := g.nested(t.Context(), m, []string{filepath.Join(filepath.Dir(dir), "elsewhere", "x")}); len(list) != 0 {
		t.Errorf("outside of the workspace: %+v", list)
	}
}
