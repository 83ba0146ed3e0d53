package upstream

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/board"
)

// gated returns an endpoint that lets its server start when the gate is closed.
func gated(gate <-chan struct{}, of func(context.Context) (Endpoint, error)) func(context.Context) (Endpoint, error) {
	return func(ctx context.Context) (Endpoint, error) {
		select {
		case <-gate:
			return of(ctx)
		case <-ctx.Done():
			return Endpoint{}, context.Cause(ctx)
		}
	}
}

func namesOf(list []core.Tool) (names []string) {
	for _, tool := range list {
		names = append(names, tool.Spec().Name)
	}
	return names
}

// A list waits for no server. One that is starting is named, and its tools are listed when it runs.
func TestToolsOfASlowServerComeLater(t *testing.T) {
	gate := make(chan struct{})
	_, s := open(t, &host{}, Options{Wait: time.Millisecond, Servers: []Server{
		{Name: "slow", Endpoint: gated(gate, plays("sdk"))}, {Name: "dies", Endpoint: plays("dies")},
	}})
	ctx := bridgetest.Patient(t)
	s.(*set).ups[1].settled(ctx)
	s.(core.Starter).Await(ctx, false) // gives up
	if list, err := s.Tools(ctx); err != nil || len(list) > 0 {
		t.Errorf("before: %q, %v", namesOf(list), err)
	}
	if names := s.(core.Starter).Starting(); !slices.Equal(names, []string{"slow"}) {
		t.Errorf("starting: %q", names)
	}
	for len(s.Changed()) > 0 { // that the other one has failed
		<-s.Changed()
	}
	close(gate)
	select {
	case <-s.Changed():
	case <-ctx.Done():
		t.Fatal("nothing has changed")
	}
	toolOf(t, s, "echo")
	if names := s.(core.Starter).Starting(); len(names) > 0 {
		t.Errorf("starting: %q", names)
	}
}

// Who waits for the whole start of a server has its tools, however slow it is. A required server that has
// not started is an error that names it and the reason.
func TestWaitForTheWholeStartOfAServer(t *testing.T) {
	gate := make(chan struct{})
	_, s := open(t, &host{}, Options{Wait: time.Millisecond, Servers: []Server{{Name: "slow", Endpoint: gated(gate, plays("sdk"))}}})
	ctx := bridgetest.Patient(t)
	s.(core.Starter).Await(ctx, false) // gives up
	time.AfterFunc(10*time.Millisecond, func() { close(gate) })
	s.(core.Starter).Await(ctx, true)
	toolOf(t, s, "echo")
	if err := s.(core.Starter).Require(ctx); err != nil {
		t.Error(err)
	}
	_, s = open(t, &host{}, Options{Servers: []Server{{Name: "up", Endpoint: plays("sdk")}, {Name: "down", Endpoint: plays("dies")}}})
	err := s.(core.Starter).Require(ctx)
	if err == nil || !strings.Contains(err.Error(), "have not started: down (") || strings.Contains(err.Error(), "up (") {
		t.Errorf("%v", err)
	}
}

// The wait for a server does not end before the list is said to have changed: the turn that has
// waited gets the tools.
func TestWhoHasWaitedForAServerGetsItsTools(t *testing.T) {
	known, goOn := make(chan struct{}), make(chan struct{})
	defer close(goOn)
	_, s := open(t, &host{}, Options{
		Wait: bridgetest.Patience, Servers: []Server{{Name: "up", Endpoint: plays("sdk")}},
		Log: func(_, _, text string) {
			if strings.HasPrefix(text, "runs: ") { // it is not yet said to run
				close(known)
				<-goOn
			}
		},
	})
	ctx := bridgetest.Patient(t)
	select {
	case <-known:
	case <-ctx.Done():
		t.Fatal("it does not start")
	}
	s.(core.Starter).Await(ctx, false)
	select {
	case <-s.Changed():
	default:
		t.Error("nothing is said to have changed")
	}
	if list, err := s.Tools(ctx); err != nil || !slices.Contains(namesOf(list), "echo") {
		t.Errorf("%q, %v", namesOf(list), err)
	}
}

// The wait for a server ends after Options.Wait from the beginning of its start, whenever the wait
// began; the time in which the user is being asked does not count.
func TestWaitForAServerIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		consent := make(chan struct{})
		h := &host{meta: core.Meta{Cwd: "/w"}, ask: func(core.Ask) core.Reply {
			<-consent
			return core.Reply{Outcome: core.OutcomeAnswered, Option: "start"}
		}}
		never := make(chan struct{})
		hangs := gated(never, nil)
		begun := time.Now()
		_, s := open(t, h, Options{Wait: 2 * time.Second, Servers: []Server{{Name: "slow", Endpoint: hangs}}})
		s.(core.Starter).Await(t.Context(), false)
		s.(core.Starter).Await(t.Context(), false)
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("both waits took %v", took)
		}
		asks := Server{Name: "asks", Confirm: true, Endpoint: func(context.Context) (Endpoint, error) { return Endpoint{Command: "no-such-program"}, nil }}
		_, s = open(t, h, Options{Wait: 2 * time.Second, Servers: []Server{asks}})
		waited := make(chan struct{})
		go func() { s.(core.Starter).Await(t.Context(), false); close(waited) }()
		<-time.After(time.Hour)
		select {
		case <-waited:
			t.Error("the wait ended before the user had answered")
		default:
		}
		if names := s.(core.Starter).Starting(); len(names) > 0 {
			t.Errorf("said to be starting before the user has agreed: %q", names)
		}
		close(consent)
		<-waited
	})
}

// While a server starts that has been used before, the model has its tools as they were agreed to. A
// call waits for the server, and a tool that has changed meanwhile is asked about first.
func TestPinnedToolsAreKnownBeforeTheirServerRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pins.json")
	asked := 0
	h := &host{meta: core.Meta{Cwd: t.TempDir()}, ask: func(core.Ask) core.Reply {
		asked++
		return core.Reply{Outcome: core.OutcomeAnswered, Option: optionNo}
	}}
	two := func(description string) string {
		return strings.Replace(bridgetest.DescribedTool("t", description), `"tools":[`, `"tools":[{"name":"same","inputSchema":{"type":"object"}},`, 1)
	}
	plays := func(description string) func(context.Context) (Endpoint, error) {
		return plays("script", "SCRIPT="+bridgetest.Greeting+two(description)+bridgetest.ToolDone)
	}
	_, s := open(t, h, Options{PinFile: file, Servers: []Server{{Name: "x", Endpoint: plays("adds")}}})
	toolOf(t, s, "t")

	gate := make(chan struct{})
	_, s = open(t, h, Options{PinFile: file, Servers: []Server{{Name: "x", Endpoint: gated(gate, plays("deletes"))}}})
	list, err := s.Tools(t.Context())
	if err != nil || !slices.Equal(namesOf(list), []string{"same", "t"}) || list[1].Spec().Description != "adds" {
		t.Fatalf("before the start: %q, %v", namesOf(list), err)
	}
	if names := s.(core.Starter).Starting(); len(names) > 0 {
		t.Errorf("said to be starting, although its tools are known: %q", names)
	}
	close(gate)
	if res, err := call(t, list[0], `{}`); err != nil || res.Failed || asked != 0 {
		t.Errorf("the tool that is as it was: %+v, %v, asked %d times", res, err, asked)
	}
	if res, err := call(t, list[1], `{}`); err != nil || !res.Failed || asked != 1 {
		t.Errorf("the tool that has changed: %+v, %v, asked %d times", res, err, asked)
	}

	_, s = open(t, h, Options{PinFile: file, Servers: []Server{{Name: "x", Deny: []string{"same"}, Endpoint: gated(nil, nil)}}})
	if list, err := s.Tools(t.Context()); err != nil || !slices.Equal(namesOf(list), []string{"t"}) {
		t.Errorf("with a tool that is not offered: %q, %v", namesOf(list), err)
	}
	h.board = board.New()
	_, s = open(t, h, Options{PinFile: file, Servers: []Server{{Name: "x", Confirm: true, Endpoint: gated(nil, nil)}}})
	if list, err := s.Tools(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("before the user has agreed: %q, %v", namesOf(list), err)
	}
	_, s = open(t, h, Options{PinFile: file, Servers: []Server{{Name: "x", Endpoint: bridgeless}}})
	if _, err := s.Tools(t.Context()); err != nil {
		t.Error(err)
	}
	awaitItem(t, h.board, "x", "failed without tools", func(item board.Server) bool { return item.Status == "failed" && len(item.Tools) == 0 })
	if list, err := s.Tools(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("of a server that cannot be started: %q, %v", namesOf(list), err)
	}
}

// bridgeless is the endpoint of a server that cannot be started.
func bridgeless(context.Context) (Endpoint, error) {
	return Endpoint{Command: "no-such-program"}, nil
}

// Servers start before there is a session, all but those that need consent, start with each session,
// are disabled or were stopped. Their prompts and resources are known then.
func TestServersStartBeforeTheFirstSession(t *testing.T) {
	h := &host{board: board.New()}
	var opened atomic.Bool // the session asks about one, and starts another
	forbidden := func(name string) func(context.Context) (Endpoint, error) {
		return func(context.Context) (Endpoint, error) {
			if !opened.Load() {
				t.Errorf("%s was started", name)
			}
			return bridgeless(t.Context())
		}
	}
	b := New(Options{Board: h.board, FirstPause: time.Hour, Environ: environ(), Servers: []Server{
		{Name: "up", Endpoint: plays("sdk")},
		{Name: "dies", Endpoint: plays("dies")},
		{Name: "asks", Confirm: true, Endpoint: forbidden("asks")},
		{Name: "each", Eager: true, Endpoint: forbidden("each")},
		{Name: "off", Disabled: true, Endpoint: forbidden("off")},
		{Name: "ended", Endpoint: forbidden("ended")},
	}})
	t.Cleanup(b.Close)
	b.Announce()
	if err := b.Stop("ended"); err != nil {
		t.Fatal(err)
	}
	roots := []string{t.TempDir()}
	settled := b.Warm(roots)
	if settled == nil {
		t.Fatal("nothing is being started")
	}
	select {
	case <-settled:
	case <-bridgetest.Patient(t).Done():
		t.Fatal("they do not settle")
	}
	awaitStatus(t, h.board, "up", "running")
	awaitStatus(t, h.board, "dies", "failed")
	item := awaitItem(t, h.board, "up", "known", func(s board.Server) bool { return len(s.Prompts) > 0 && len(s.Resources) > 0 })
	if len(item.Tools) == 0 || len(b.Commands("")) == 0 || len(b.List(t.Context(), roots, "one", 10)) == 0 {
		t.Errorf("known: %+v, %d commands", item, len(b.Commands("")))
	}
	for _, name := range []string{"asks", "each", "ended"} {
		awaitStatus(t, h.board, name, "stopped")
	}
	opened.Store(true)
	s, err := b.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Tools(t.Context())
	if err != nil || !slices.Contains(namesOf(list), "echo") {
		t.Errorf("the first session lists %q, %v", namesOf(list), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// The prompt of a server that is not known to run waits for the server's start, and fails with it.
func TestPromptOfAServerThatStarts(t *testing.T) {
	gate := make(chan struct{})
	b, _ := open(t, &host{}, Options{Servers: []Server{
		{Name: "up", Endpoint: gated(gate, plays("sdk"))},
		{Name: "dies", Endpoint: plays("dies")},
		{Name: "asks", Confirm: true, Endpoint: bridgeless},
		{Name: "off", Disabled: true, Endpoint: bridgeless},
	}})
	t.Cleanup(b.Close)
	ctx, m := bridgetest.Patient(t), core.Meta{ID: "s", Roots: []string{t.TempDir()}}
	var waited []string
	expand := func(command, args string) (string, bool, error) {
		return b.Expand(ctx, m, command, args, func(server string) {
			if waited = append(waited, server); server == "up" {
				close(gate)
			}
		})
	}
	if text, ok, err := expand("up:greet", "ann"); !ok || err != nil || !strings.HasPrefix(text, "Greet ann") {
		t.Errorf("%q, %v, %v", text, ok, err)
	}
	if _, ok, err := expand("dies:greet", ""); !ok || err == nil || !strings.Contains(err.Error(), "cannot find the license file") {
		t.Errorf("of a server that does not start: %v, %v", ok, err)
	}
	for _, command := range []string{"up:other", "up", "asks:x", "off:x", "none:x", "/tmp/up:x"} {
		if _, ok, err := expand(command, ""); ok || err != nil {
			t.Errorf("%s: %v, %v", command, ok, err)
		}
	}
	if !slices.Equal(waited, []string{"up", "dies"}) {
		t.Errorf("waited for %q", waited)
	}
}
