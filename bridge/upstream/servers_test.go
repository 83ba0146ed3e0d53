package upstream

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/login"
	"dragoman/bridge/login/logintest"
	"dragoman/core"
	"dragoman/core/board"
)

// serversOf lists the servers whose tools a session has.
func serversOf(t *testing.T, s core.Toolset) string {
	t.Helper()
	list, err := listed(bridgetest.Patient(t), s)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list {
		if name := tool.Spec().Server; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// of finds a tool of a server.
func of(t *testing.T, s core.Toolset, server, name string) core.Tool {
	t.Helper()
	list, err := listed(bridgetest.Patient(t), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		if spec := tool.Spec(); spec.Server == server && spec.Name == name {
			return tool
		}
	}
	t.Fatalf("%s has no tool %s", server, name)
	return nil
}

// pid returns the process of a session's server.
func pid(t *testing.T, s core.Toolset, server string) string {
	t.Helper()
	res, err := call(t, of(t, s, server, "pid"), "{}")
	if err != nil {
		t.Fatal(err)
	}
	return text(res)
}

// breaks runs a call that waits for ever, does something while it runs, and returns the call's
// error.
func breaks(t *testing.T, waits core.Tool, do func()) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := waits.Run(t.Context(), core.Invocation{Args: []byte("{}")})
		ended <- err
	}()
	for u, calls := waits.(*tool).up, 0; calls == 0; runtime.Gosched() {
		u.mu.Lock()
		calls = u.calls
		u.mu.Unlock()
		if len(ended) > 0 {
			t.Fatalf("the call did not wait: %v", <-ended)
		}
	}
	do()
	select {
	case err := <-ended:
		return err
	case <-bridgetest.Patient(t).Done():
		t.Fatal("the call goes on")
		return nil
	}
}

// A server with an unchanged configuration keeps its process, a changed one ends at once, and
// open sessions get the new ones.
func TestChangedConfigurationEndsOnlyWhatChanged(t *testing.T) {
	server := func(name string, rev int) Server { return Server{Name: name, Rev: rev, Endpoint: plays("sdk")} }
	h := &host{}
	b, s := open(t, h, Options{Servers: []Server{server("same", 1), server("other", 1), server("gone", 1)}})
	same, other := pid(t, s, "same"), pid(t, s, "other")
	late := of(t, s, "gone", "pid")
	err := breaks(t, of(t, s, "other", "wait"), func() {
		b.Set([]Server{server("new", 1), server("same", 1), server("other", 2)})
	})
	if err == nil || !strings.HasPrefix(err.Error(), "the MCP server other ") || !strings.Contains(err.Error(), whyOver) {
		t.Errorf("a call of a server that has changed: %v", err)
	}
	if _, err := call(t, late, "{}"); err == nil || !strings.Contains(err.Error(), whyOver) {
		t.Errorf("a tool of a server that is gone: %v", err)
	}
	select {
	case <-s.Changed():
	case <-bridgetest.Patient(t).Done():
		t.Fatal("the session was not told")
	}
	if got := serversOf(t, s); got != "new same other" {
		t.Errorf("the session has %s", got)
	}
	if now := pid(t, s, "same"); now != same {
		t.Errorf("process %s, then %s", same, now)
	}
	if now := pid(t, s, "other"); now == other {
		t.Error("a server that has changed goes on")
	}
	awaitStatus(t, h.board, "new", statusRunning)
	if got := statusNow(t, h.board, "gone"); got != "gone" {
		t.Errorf("what is not configured any more is %s", got)
	}
	b.Set([]Server{server("new", 1), {Name: "same", Rev: 2, Disabled: true, Endpoint: plays("sdk")}})
	awaitStatus(t, h.board, "same", statusDisabled)
	if got := serversOf(t, s); got != "new" {
		t.Errorf("with one disabled the session has %s", got)
	}
}

// Nothing of a stopped server runs until it is started again; calls report that.
func TestStopAndStart(t *testing.T) {
	t.Parallel()
	h := &host{}
	b, s := open(t, h, Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}, {Name: "off", Disabled: true, Endpoint: plays("sdk")}}})
	t.Cleanup(b.Close)
	if b.Start(nil, "nowhere") == nil || b.Stop("nowhere") == nil {
		t.Error("no error")
	}
	before, echo := pid(t, s, "up"), of(t, s, "up", "echo")
	err := breaks(t, of(t, s, "up", "wait"), func() {
		if err := b.Stop("up"); err != nil {
			t.Error(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), whyStopped) {
		t.Errorf("a call: %v", err)
	}
	if _, err := call(t, echo, `{"text":"x"}`); err == nil || !strings.Contains(err.Error(), "the MCP server up does not run: "+whyStopped) {
		t.Errorf("a call that may be repeated: %v", err)
	}
	awaitStatus(t, h.board, "up", statusStopped)
	if got := serversOf(t, s); got != "" {
		t.Errorf("the session still has %s", got)
	}
	next, err := b.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if got := serversOf(t, next); got != "" {
		t.Errorf("a new session has %s", got)
	}
	if len(b.Commands("")) > 0 || len(b.List(t.Context(), nil, "", 10)) > 0 {
		t.Error("its prompts and resources are offered")
	}
	if err := b.Start(h.meta.Roots, "up"); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, h.board, "up", statusRunning)
	if now := pid(t, s, "up"); now == before {
		t.Error("it is the same process")
	}
	if pid(t, next, "up") == "" {
		t.Error("the other session does not have it")
	}
	// A disabled server also runs, once a user has started it.
	if err := b.Start(h.meta.Roots, "off"); err != nil {
		t.Fatal(err)
	}
	if item := awaitStatus(t, h.board, "off", statusRunning); !item.Disabled || serversOf(t, s) != "up off" {
		t.Errorf("it is %+v, and the session has %s", item, serversOf(t, s))
	}
	if err := b.Stop("off"); err != nil {
		t.Fatal(err)
	}
	if awaitStatus(t, h.board, "off", statusDisabled); serversOf(t, s) != "up" {
		t.Errorf("the session has %s", serversOf(t, s))
	}
	if err := b.Start(h.meta.Roots, "off"); err != nil { // the session's connection may still be ending
		t.Fatal(err)
	}
	awaitStatus(t, h.board, "off", statusRunning)
}

// A user who starts a failed server does not wait for its pause.
func TestStartAfterAFailure(t *testing.T) {
	shown := board.New()
	tries := make(chan struct{}, 100)
	b := New(Options{Servers: []Server{{Name: "up", Endpoint: func(context.Context) (Endpoint, error) {
		tries <- struct{}{}
		return Endpoint{}, errors.New("it is nowhere")
	}}}, Board: shown, FirstPause: 24 * time.Hour})
	defer b.Close()
	for range 3 {
		if err := b.Start(nil, "up"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tries:
		case <-bridgetest.Patient(t).Done():
			t.Fatal("it was not tried")
		}
		if item := awaitStatus(t, shown, "up", statusFailed); item.Why != "it is nowhere" {
			t.Errorf("why: %s", item.Why)
		}
	}
}

// A server can be started before there is any session, and shows its tools.
func TestStartWithoutASession(t *testing.T) {
	shown := board.New()
	b := New(Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk"), Location: Location{Command: "up-mcp", Args: []string{"-x"}}}}, Environ: environ(), Board: shown})
	defer b.Close()
	b.Announce()
	if got := statusNow(t, shown, "up"); got != statusStopped {
		t.Errorf("before: %s", got)
	}
	if err := b.Start([]string{t.TempDir()}, "up"); err != nil {
		t.Fatal(err)
	}
	item := awaitItem(t, shown, "up", "running with what it offers", func(item board.Server) bool {
		return item.Status == statusRunning && len(item.Resources) > 0
	})
	if len(item.Tools) == 0 || len(item.Prompts) != 1 || item.Prompts[0].Name != "greet" || item.Resources[0].URI != "up://one" {
		t.Errorf("it has %+v", item)
	}
	if item.Command != "up-mcp" || len(item.Args) != 1 {
		t.Errorf("it is %q %q", item.Command, item.Args)
	}
	if err := b.Stop("up"); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, shown, "up", statusStopped)
}

// statusNow returns the present status on the board.
func statusNow(t *testing.T, b *board.Board, server string) string {
	t.Helper()
	posted, _, err := b.Next(bridgetest.Patient(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range posted {
		if p.Topic.Name == server {
			if item, ok := p.Item.(board.Server); ok {
				return item.Status
			}
		}
	}
	return "gone"
}

// The state of a server's login is removed with the server's configuration.
func TestLoginIsForgottenWithTheConfiguration(t *testing.T) {
	a := newAuthority(t)
	h := &host{}
	b, _ := open(t, h, Options{Servers: []Server{loginServer(a, login.Config{})}, Tokens: &logintest.Memory{}})
	awaitStatus(t, h.board, "up", "requires-auth")
	b.Set([]Server{{Name: "up", Rev: 1, Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{}, errors.New("it is nowhere") }}})
	t.Cleanup(b.Close)
	if err := b.Start(h.meta.Roots, "up"); err != nil {
		t.Fatal(err)
	}
	if item := awaitStatus(t, h.board, "up", statusFailed); item.Why != "it is nowhere" || item.LoggedIn {
		t.Errorf("it is %+v", item)
	}
}

// A server that does not start is tried a few times, and after that only when a person starts it.
func TestStartsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		b := New(Options{Servers: []Server{{Name: "up", Endpoint: func(context.Context) (Endpoint, error) {
			tries.Add(1)
			return Endpoint{}, errors.New("it is nowhere")
		}}}, Board: board.New()})
		defer b.Close()
		for round := range int32(2) {
			if err := b.Start(nil, "up"); err != nil {
				t.Fatal(err)
			}
			<-time.After(24 * time.Hour)
			if n := tries.Load(); n != (round+1)*maxTries {
				t.Errorf("%d tries after %d days", n, round+1)
			}
		}
	})
}
