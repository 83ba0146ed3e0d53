package guide

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"dragoman/core"
	"dragoman/core/commands"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// tree writes files below a new folder and returns it. A name that ends in " ->" is a
// symbolic link whose target is the file's content.
func tree(t testing.TB, files []txtar.File) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, link := strings.CutSuffix(f.Name, " ->")
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			mkdir(t, path)
			continue
		}
		mkdir(t, filepath.Dir(path))
		if link {
			target := strings.ReplaceAll(strings.TrimSpace(string(f.Data)), "$T", dir)
			if err := os.Symlink(target, path); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(f.Data), "$T", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// options returns the options for the trees in testdata: the workspace is ws, or the
// folders in roots; the home folder is home.
func options(dir, roots string) Options {
	home := filepath.Join(dir, "home")
	o := Options{Home: home, ConfigDirs: ConfigDirs("", home), BuiltIn: builtIns()}
	for _, r := range strings.Fields(cmp.Or(roots, "ws")) {
		o.Roots = append(o.Roots, filepath.Join(dir, filepath.FromSlash(r)))
	}
	return o
}

// An archive is a tree of files, the questions to ask of it, one a line, and the
// answers. $T is the folder of the tree.
func TestGolden(t *testing.T) {
	coretest.Golden(t, "testdata/*.txtar", *update, func(t *testing.T, _ string, ar *txtar.Archive) {
		var in []txtar.File
		var ask, roots string
		for _, f := range ar.Files {
			switch f.Name {
			case "ask":
				ask = string(f.Data)
			case "roots":
				roots = string(f.Data)
			case "answers":
			default:
				in = append(in, f)
			}
		}
		dir := tree(t, in)
		g, err := Load(t.Context(), options(dir, roots))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for line := range strings.Lines(ask) {
			line = strings.TrimSpace(line)
			b.WriteString("> " + line + "\n" + strings.TrimRight(answer(t, g, dir, line), "\n") + "\n")
		}
		got := filepath.ToSlash(strings.ReplaceAll(b.String(), dir, "$T"))
		ar.Files = slices.DeleteFunc(ar.Files, func(f txtar.File) bool { return f.Name == "answers" })
		ar.Files = append(ar.Files, txtar.File{Name: "answers", Data: []byte(got)})
	})
}

// answer asks a guide one question.
func answer(t *testing.T, g *Guide, dir, line string) string {
	t.Helper()
	what, rest, _ := strings.Cut(line, " ")
	path := filepath.Join(dir, filepath.FromSlash(rest))
	text := func(s string, err error) string {
		if err != nil {
			return "error: " + err.Error()
		}
		return s
	}
	var b strings.Builder
	switch what {
	case "system":
		agent, model, _ := strings.Cut(rest, " ")
		return g.System(agent, model)
	case "warnings":
		for _, w := range g.Warnings() {
			fmt.Fprintln(&b, w)
		}
	case "parts":
		for _, p := range g.Instructions() {
			fmt.Fprintf(&b, "%s (%s): %q\n", p.File, p.owner(), p.Text)
		}
	case "instructions":
		parts, warnings := g.InstructionsFor(context.Background(), path)
		for _, p := range parts {
			fmt.Fprintf(&b, "%s by %q: %q\n", p.File, p.By, p.Text)
		}
		for _, w := range warnings {
			fmt.Fprintln(&b, w)
		}
	case "rules":
		for _, r := range g.Rules() {
			fmt.Fprintf(&b, "%s: %s\n", r.ID, r.when())
		}
	case "rulesfor":
		for _, r := range g.RulesFor(path) {
			fmt.Fprintln(&b, r.ID)
		}
	case "rule":
		return text(g.RuleText(path))
	case "skill":
		s, folder, err := g.Skill(rest)
		return folder + "\n" + text(s, err)
	case "commands":
		for _, c := range g.Commands() {
			if c.Kind != core.CommandBuiltin {
				fmt.Fprintf(&b, "/%s (%s, %s) %s\n  %s\n", c.Name, c.Kind, c.owner(), c.Description, c.File)
			}
			for i, a := range c.Arguments {
				if c.Kind != core.CommandBuiltin {
					fmt.Fprintf(&b, "  {Name:%s Description:%s Required:%t must:%t}\n", a.Name, a.Description, a.Required, c.must[i])
				}
			}
		}
	case "expand":
		name, args, _ := strings.Cut(rest, " ")
		return text(g.Expand(name, args))
	case "agents":
		for _, a := range g.Agents() {
			a.at = place{}
			fmt.Fprintf(&b, "%+v\n", a)
		}
	case "show":
		cost := 0.0042
		shown, ok := commands.Show(g, rest, commands.State{
			Agent: "code", Model: inference.ModelInfo{ID: "acme/large", Window: 200_000}, Config: "model: acme/large\n", ConfigFiles: []string{path},
			Session: core.State{Context: 51_234, Usage: core.Usage{In: 1_234_567, Out: 890, CacheRead: 1_000_000, Cost: &cost}},
		})
		if !ok {
			return text("", fmt.Errorf("/%s shows nothing", rest))
		}
		return text(shown, nil)
	default:
		t.Fatalf("what is %q?", line)
	}
	return b.String()
}
