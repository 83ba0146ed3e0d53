package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/display"
)

func init() { // the test's program is the agent, too
	if o, ok := agenttest.FromEnv(); ok {
		os.Exit(agenttest.Run(context.Background(), o, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
}

// scripted returns the options of a scripted agent.
func scripted(t *testing.T, o agenttest.Options) Options {
	t.Helper()
	guards := &child.Guards{}
	return Options{
		Name: "scripted", Guards: guards, Version: "1",
		Program: func(context.Context, core.Host) (Program, error) {
			return Program{Path: os.Args[0], Env: map[string]string{agenttest.Variable: o.Value()}}, nil
		},
	}
}

// A trial says what the agent can do, and nothing of it is left.
func TestTry(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	got, err := Try(t.Context(), scripted(t, agenttest.Options{Record: record, Load: true, Fork: true, Audio: true, Config: agenttest.SampleConfig()}), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "scripted" || got.Version == "" || got.Hello <= 0 || got.Session <= 0 || !got.Reloads || strings.Join(got.Caps, ", ") != "load, fork, audio" || len(got.Choices) != 4 || got.Choices[3].ID != "fast" {
		t.Errorf("%+v", got)
	}
	ended(t, record)
}

// A trial ends with its context, also if the agent does not answer, and says where.
func TestTryOfAnAgentThatDoesNotAnswer(t *testing.T) {
	for method, want := range map[string]string{"initialize": "initialize: too late", "session/new": "session/new: too late"} {
		record := filepath.Join(t.TempDir(), "record")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("too late"))
		_, err := Try(ctx, scripted(t, agenttest.Options{Record: record, Faults: map[string]string{method: "silent"}}), t.TempDir())
		cancel()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", method, err)
		}
		ended(t, record)
	}
}

// A program that speaks something else is known by its words: often an argument is missing. They are
// bounded, harmless on a screen, and without secrets.
func TestTryOfAProgramThatSpeaksSomethingElse(t *testing.T) {
	const advice = " instead of ACP messages: an argument such as --acp may be missing"
	for prints, want := range map[string]string{
		"echo Welcome; echo More; cat >/dev/null": `too late; it printed "Welcome"`,
		"printf 'Name? '; cat >/dev/null":         `too late; it printed "Name?"`,
		"echo Usage: scripted; exit 2":            `ended with exit code 2; it printed "Usage: scripted"`,
		`echo '{"level":"info"}'; exit`:           `it printed "{\"level\":\"info\"}"`,
		`printf '\033[2Jhello canary\n'; exit`:    `it printed "` + display.Line("\x1b[2Jhello [KEY]", 100) + `"`,
		"printf '%0500d\\n' 1; exit":              `it printed "` + strings.Repeat("0", 199) + `…"`,
		"exit 3":                                  "",
	} {
		t.Run(prints, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("too late"))
			defer cancel()
			o := scripted(t, agenttest.Options{})
			o.Program = func(context.Context, core.Host) (Program, error) {
				return Program{Path: "sh", Args: []string{"-c", prints}, Hide: strings.NewReplacer("canary", "[KEY]").Replace}, nil
			}
			_, err := Try(ctx, o, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), want) || strings.HasSuffix(err.Error(), want+advice) == (want == "") {
				t.Error(err)
			}
		})
	}
}

// An agent that wants a login is a core.SignInError with its own words.
func TestTryOfAnAgentThatWantsALogin(t *testing.T) {
	got, err := Try(t.Context(), scripted(t, agenttest.Options{Auth: []agenttest.AuthMethod{{ID: "key", Name: "API key"}}}), t.TempDir())
	var signIn *core.SignInError
	if !errors.As(err, &signIn) || signIn.Agent != "scripted" || !strings.Contains(signIn.Text, "sign in") || strings.Contains(signIn.Text, "{") {
		t.Errorf("%v", err)
	}
	if got.State != "unauthenticated" || len(got.SignIns) != 1 || got.SignIns[0] != "API key" {
		t.Errorf("%+v", got)
	}
}

// ended fails the test if the program of a record still runs.
func ended(t *testing.T, record string) {
	t.Helper()
	var pid int
	text, err := os.ReadFile(record)
	if err == nil {
		_, err = fmt.Sscanf(string(text), "start %d", &pid)
	}
	if err != nil || pid == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	if child.Alive(pid) {
		t.Errorf("process %d still runs", pid)
	}
}
