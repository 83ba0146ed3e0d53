package core_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// A turn that begins between the end of another one and the moment in which its goroutine looks for
// the next is not run: nobody has prompted it.
func TestATurnThatBeginsRightBehindAnotherIsNotRun(t *testing.T) {
	empty := make(chan core.TurnID, 1000)
	be := &coretest.Backend{Run: func(_ context.Context, turn *core.Turn) (core.StopReason, error) {
		if len(turn.Prompt()) == 0 {
			empty <- turn.ID()
		}
		return core.StopEnd, nil
	}}
	prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: be}}}
	g := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	defer closeGateway(t, g)
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "tester", Asks: true, Questions: true})
	reader := a.Read(a.Head())
	defer reader.Close()
	follow(t, reader, prompt(t, a, say("open")))
	host := be.Bindings()[0].Host
	for range 500 {
		id := prompt(t, a, say("hello"))
		for { // until the prompt's turn has ended
			if _, err := host.Begin(t.Context(), core.Origin{}); err == nil {
				break
			} else if !errors.As(err, new(*core.BusyError)) {
				t.Fatal(err)
			}
			runtime.Gosched()
		}
		follow(t, reader, id)
	}
	if n := len(empty); n > 0 {
		t.Errorf("%d of 500 were run", n)
	}
}
