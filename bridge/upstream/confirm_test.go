package upstream

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
)

// The user is asked once about all servers that a client brings, each with its whole command; a
// permanent answer is kept for each of them, so that one more is asked about alone.
func TestClientsServersAreAskedAboutTogether(t *testing.T) {
	e, err := plays("sdk")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec := func(name string, args ...string) core.ServerSpec {
		return core.ServerSpec{Name: name, Command: e.Command, Args: args, Env: []string{bridgetest.PlayVar + "=sdk"}}
	}
	var asked []core.Ask
	h := &host{meta: core.Meta{Cwd: t.TempDir()}, servers: []core.ServerSpec{spec("one", "-a b"), spec("two")}}
	h.ask = func(a core.Ask) core.Reply {
		asked = append(asked, a)
		return core.Reply{Outcome: core.OutcomeAnswered, Option: "always"}
	}
	options := Options{AgreedFile: filepath.Join(t.TempDir(), "agreed.json")}
	_, s := open(t, h, options)
	runs := func(s core.Toolset) map[string]bool {
		t.Helper()
		list, err := listed(bridgetest.Patient(t), s)
		if err != nil {
			t.Fatal(err)
		}
		servers := map[string]bool{}
		for _, tool := range list {
			servers[tool.Spec().Server] = true
		}
		return servers
	}
	if got := runs(s); !got["one"] || !got["two"] || len(asked) != 1 {
		t.Fatalf("%v run, asked %d times", got, len(asked))
	}
	for _, part := range []string{"wants to start 2 MCP servers", "\none: " + e.Command + ` "-a b" in `, "\ntwo: " + e.Command + " in "} {
		if !strings.Contains(asked[0].Text, part) {
			t.Errorf("%q is not in %q", part, asked[0].Text)
		}
	}
	if label := asked[0].Options[0].Label; label != "Start them" {
		t.Errorf("the first option is %q", label)
	}
	h.servers = append(h.servers, spec("three", "-c"))
	_, again := open(t, h, options) // another process
	if got := runs(again); !got["three"] || len(asked) != 2 || !strings.Contains(asked[1].Text, "the MCP server three,") {
		t.Errorf("%v run, asked %d times, the last time %+v", got, len(asked), asked[len(asked)-1])
	}
}

// A refusal holds for all servers of the question; without an answer none of them starts, and
// none asks by itself.
func TestOneAnswerHoldsForAllServersOfAClient(t *testing.T) {
	e, err := plays("sdk")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []core.Reply{{Outcome: core.OutcomeAnswered, Option: "no"}, {Outcome: core.OutcomeExpired}} {
		asked := 0
		h := &host{meta: core.Meta{Cwd: t.TempDir()}}
		for _, name := range []string{"one", "two", "three"} {
			h.servers = append(h.servers, core.ServerSpec{Name: name, Command: e.Command, Env: []string{bridgetest.PlayVar + "=sdk"}})
		}
		h.ask = func(core.Ask) core.Reply { asked++; return reply }
		_, s := open(t, h, Options{FirstPause: time.Hour}) // listing does not try them again
		if list, err := listed(bridgetest.Patient(t), s); err != nil || len(list) > 0 || asked != 1 {
			t.Errorf("%s: %d tools, %v, asked %d times", reply.Outcome, len(list), err, asked)
		}
	}
}

// A server whose environment is another one each time that it is looked up, such as a token that a
// program prints, is asked about once.
func TestChangingSecretsAreAskedAboutOnce(t *testing.T) {
	e, err := plays("sdk")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	looked, asked := 0, 0
	h := &host{meta: core.Meta{Cwd: t.TempDir()}, ask: func(core.Ask) core.Reply {
		asked++
		return core.Reply{Outcome: core.OutcomeAnswered, Option: map[bool]string{true: "start", false: "no"}[asked == 1]}
	}}
	_, s := open(t, h, Options{Servers: []Server{{Name: "x", Confirm: true, Endpoint: func(context.Context) (Endpoint, error) {
		looked++
		return Endpoint{Command: e.Command, Args: e.Args, Env: map[string]string{bridgetest.PlayVar: "sdk", "TOKEN": strconv.Itoa(looked)}}, nil
	}}}})
	if list, err := listed(bridgetest.Patient(t), s); err != nil || len(list) == 0 || asked != 1 {
		t.Errorf("%d tools, %v, asked %d times", len(list), err, asked)
	}
}

// Nothing is asked if the answers have come meanwhile in another session.
func TestNothingIsAskedThatIsAnswered(t *testing.T) {
	h := &host{meta: core.Meta{Cwd: t.TempDir()}, ask: func(a core.Ask) core.Reply {
		t.Errorf("asked %q", a.Text)
		return core.Reply{}
	}}
	e := Endpoint{Command: "no-such-program"}.In(h.meta.Cwd)
	server := Server{Name: "x", Confirm: true, Endpoint: func(context.Context) (Endpoint, error) { return e, nil }}
	b := New(Options{})
	t.Cleanup(func() { b.Close() })
	b.confirmed[consentKey{h.meta.Principal, agreementOf(e)}] = true
	u := newUpstream(b, server, h, &b.guard, func() {})
	if err := u.ask(t.Context(), e, []Server{server}); err != nil {
		t.Error(err)
	}
}
