package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/tools"
	"dragoman/core/workspace"
)

// noKeys denies files named keys, and folders of that name with their content.
var noKeys = coretest.Policy(func(c core.Check) core.Verdict {
	for _, a := range c.Access {
		if slices.Contains(strings.Split(filepath.ToSlash(a.Path), "/"), "keys") {
			return core.Verdict{Effect: core.Deny, Why: "a rule denies it"}
		}
	}
	return core.Verdict{Effect: core.Allow}
})

// Paths are completed only within the client's folders, and without those that a rule forbids to
// read.
func TestCompletedPathsObeyTheRules(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(top, "app")
	for _, name := range []string{"app/keys/id.pem", "app/src/keys", "app/src/main.go", "app/.env", "beside/b.txt"} {
		if err := os.MkdirAll(filepath.Join(top, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": "../beside", "alias": "keys", "inner": "src"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skipf("no symbolic links: %v", err) // Windows, without the right to make them
		}
	}
	g := core.New(core.Config{
		Store: coretest.NewMemory(), Node: "test",
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) {
			return &core.Profile{
				Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: act}}},
				Policy: noKeys, Workspace: workspace.Contents{Files: tools.NewFiles(tools.FilesOptions{Policy: noKeys})},
			}, nil
		}),
	})
	t.Cleanup(func() { g.Close(context.Background()) }) //nolint:errcheck // only the client's view counts
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			s := mcp.New(mcp.Options{Gateway: g, Principal: core.Local, Roots: []string{root}, Cwd: root})
			cs := join(t, way, "2025-11-25", s, sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil))
			for begin, want := range map[string]string{
				"":                "alias/ inner/ out/ src/",
				".":               ".env",
				"S":               "src/",
				"src/":            "src/main.go",
				"inner/":          "inner/main.go",
				"src/main":        "src/main.go",
				root + "/s":       root + "/src/",
				root + "/src/":    root + "/src/main.go",
				"keys/":           "",
				"alias/":          "",
				root + "/keys/id": "",
				"out/":            "",
				"../":             "",
				"src/../../":      "",
				top + "/beside/":  "",
				"/etc/":           "",
			} {
				res, err := cs.Complete(t.Context(), &sdk.CompleteParams{
					Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "review"}, Argument: sdk.CompleteParamsArgument{Name: "path", Value: begin},
				})
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(res.Completion.Values, " "); got != want {
					t.Errorf("%q: got %q, want %q", begin, got, want)
				}
			}
		})
	}
}
