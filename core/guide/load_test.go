package guide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"dragoman/core/commands"
)

func load(t testing.TB, o Options) *Guide {
	t.Helper()
	o.BuiltIn = builtIns()
	g, err := Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// builtIns returns the built-in commands of the program.
func builtIns() (list []BuiltIn) {
	for _, b := range commands.Table() {
		list = append(list, BuiltIn(b))
	}
	return list
}

func everything(t testing.TB) (dir string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/everything.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return tree(t, slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "ask" || f.Name == "answers" }))
}

func TestConfigDirs(t *testing.T) {
	for _, tt := range []struct{ xdg, home, want string }{
		{"", "", ""},
		{"", "/h", "/h/.config/dragoman /h/.config/eca"},
		{"/x", "/h", "/x/dragoman /h/.config/dragoman /x/eca /h/.config/eca"},
		{"/h/.config", "/h", "/h/.config/dragoman /h/.config/eca"},
		{"relative", "", ""},
	} {
		if filepath.IsAbs("/h") {
			if got := strings.Join(ConfigDirs(tt.xdg, tt.home), " "); got != tt.want {
				t.Errorf("%q, %q: %s, want %s", tt.xdg, tt.home, got, tt.want)
			}
		}
	}
}

func TestLoadErrors(t *testing.T) {
	for _, o := range []Options{{Roots: []string{"relative"}}, {Home: "."}, {ConfigDirs: []string{"x/y"}}} {
		if _, err := Load(t.Context(), o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := Load(ctx, options(everything(t), "")); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	dir := tree(t, []txtar.File{{Name: "file"}})
	g := load(t, Options{Roots: []string{filepath.Join(dir, "missing"), filepath.Join(dir, "file")}, Home: filepath.Join(dir, "nobody"), ConfigDirs: []string{filepath.Join(dir, "none")}})
	if w := g.Warnings(); len(w) != 2 || g.System("", "") != "" {
		t.Errorf("%v", w)
	}
}

// Two loads of the same files give the same text, whatever other files there are.
func TestStable(t *testing.T) {
	dir := everything(t)
	g := load(t, options(dir, ""))
	for range 5 {
		h := load(t, options(dir, ""))
		if h.System("code", "acme/large") != g.System("code", "acme/large") || h.Stamp() != g.Stamp() {
			t.Fatal("another load, another text")
		}
	}
	// The same folder twice, or under another name, counts once.
	o := options(dir, "")
	o.Roots = append(o.Roots, o.Roots[0], o.Roots[0]+"/docs/..")
	o.ConfigDirs = append(o.ConfigDirs, o.ConfigDirs...)
	if h := load(t, o); h.System("", "") != g.System("", "") || len(h.Warnings()) > 0 {
		t.Errorf("%s\n%v", h.System("", ""), h.Warnings())
	}
}

func TestChanged(t *testing.T) {
	write := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, filepath.FromSlash(name))
			mkdir(t, filepath.Dir(path))
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   bool
	}{
		{"nothing", func(*testing.T, string) {}, false},
		{"another file", write("ws/main.go", "package main"), false},
		{"instructions", write("ws/AGENTS.md", "other"), true},
		{"included", write("ws/docs/style.md", "Long functions, if you must."), true},
		{"same size, later", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "ws", "docs", "style.md")
			write("ws/docs/style.md", "Small functions.\n")(t, dir)
			later := time.Now().Add(time.Minute)
			if err := os.Chtimes(path, later, later); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"removed", remove("ws/CLAUDE.md"), true},
		{"new rule", write("ws/.dragoman/rules/new.md", "x"), true},
		{"first agent of a folder", write("ws/.dragoman/agents/a.md", "x"), true},
		{"new rule in a folder below", write("ws/.eca/rules/api/new.md", "x"), true},
		{"skill", write("ws/.eca/skills/lint/SKILL.md", "---\ndescription: other\n---\n"), true},
		{"new skill", write("ws/.claude/skills/x/SKILL.md", "---\ndescription: x\n---\n"), true},
		{"a skill's other file", write("ws/.eca/skills/lint/x.sh", "x"), false},
		{"user's", write("home/.config/eca/AGENTS.md", "x"), true},
		{"user's new folder", write("home/.config/eca/agents/x.md", "x"), true},
		{"workspace", remove("ws"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := everything(t)
			g := load(t, options(dir, ""))
			tt.change(t, dir)
			if got := g.Changed(t.Context()); got != tt.want {
				t.Errorf("changed: %v", got)
			}
			if h := load(t, options(dir, "")); (h.Stamp() != g.Stamp()) != tt.want {
				t.Error("the stamp says something else")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if g.Changed(ctx) {
				t.Error("changed although nobody looked")
			}
		})
	}
}

// A skill or a rule is read when it is requested, even after a change; the text in the
// system prompt stays.
func TestLazy(t *testing.T) {
	dir := everything(t)
	g := load(t, options(dir, ""))
	before := g.System("", "")
	for name, text := range map[string]string{"ws/.eca/skills/lint/SKILL.md": "---\ndescription: x\n---\nnew", "ws/.eca/rules/api/style.md": "new", "ws/AGENTS.md": "new"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, _, err := g.Skill("lint"); err != nil || text != "new" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := g.RuleText(filepath.Join(dir, "ws", ".eca", "rules", "api", "style.md")); err != nil || text != "new" {
		t.Errorf("%q, %v", text, err)
	}
	if g.System("", "") != before {
		t.Error("the prompt changed")
	}
	if err := os.RemoveAll(filepath.Join(dir, "ws", ".eca")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.Skill("lint"); err == nil {
		t.Error("a skill that is gone was read")
	}
	if _, err := g.Expand("lint", ""); err == nil {
		t.Error("a command that is gone was read")
	}
}

// A guide is shared by sessions.
func TestShared(t *testing.T) {
	dir := everything(t)
	g := load(t, options(dir, ""))
	want := g.System("code", "acme/large")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 20 {
				if g.System("code", "acme/large") != want || g.Changed(context.Background()) {
					t.Error("it changed")
				}
				_, err1 := g.Expand("review", fmt.Sprint(i))
				_, _, err2 := g.Skill("lint")
				if g.ShowRules("", "") == "" {
					t.Error("no rules are shown")
				}
				g.InstructionsFor(context.Background(), filepath.Join(dir, "ws", "docs", "x"))
				g.RulesFor(filepath.Join(dir, "ws", "src", "api", "x.ts"))
				if err := errors.Join(err1, err2); err != nil {
					t.Error(err)
				}
				for _, c := range g.Commands() {
					c.Name = "changed"
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkLoad(b *testing.B) {
	o := options(everything(b), "")
	b.ReportAllocs()
	for b.Loop() {
		load(b, o)
	}
}

func BenchmarkChanged(b *testing.B) {
	g := load(b, options(everything(b), ""))
	b.ReportAllocs()
	for b.Loop() {
		if g.Changed(context.Background()) {
			b.Fatal("changed")
		}
	}
}

func BenchmarkSystem(b *testing.B) {
	g := load(b, options(everything(b), ""))
	b.ReportAllocs()
	for b.Loop() {
		g.System("code", "acme/large")
	}
}
