package core_test

import (
	"context"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// late is a toolset of a server that has started when somebody has waited for it, or never.
type late struct {
	changed chan struct{}
	never   bool
	started bool
}

func (l *late) Open(context.Context, core.ToolHost) (core.Toolset, error) { return l, nil }
func (l *late) Changed() <-chan struct{}                                  { return l.changed }
func (l *late) Close() error                                              { return nil }
func (l *late) Starting() []string                                        { return []string{"late"} }

func (l *late) Tools(context.Context) (list []core.Tool, err error) {
	if l.started {
		list = append(list, coretest.Tool{Is: core.Spec{Server: "late", Name: "tide"}})
	}
	return list, nil
}

func (l *late) Await(ctx context.Context) {
	if l.never {
		<-ctx.Done()
		return
	}
	l.started = true
	l.changed <- struct{}{}
}

// An external agent is opened with the tools of servers that were starting, because Codex lists
// them only once; one that does not start delays it for a moment.
func TestPrepareWaitsForServers(t *testing.T) {
	for _, never := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { prepareWaits(t, never) })
	}
}

func prepareWaits(t *testing.T, never bool) {
	t.Helper()
	var got []core.Spec
	opened := false
	b := &coretest.Backend{Begins: func(ctx context.Context, bind core.Binding) error {
		got, opened = bind.Tools, true
		return bind.Host.Publish(ctx, offer("ask"))
	}}
	prof := &core.Profile{
		Agents:    []core.Agent{{Name: "claude", External: true, Backend: b}},
		Toolboxes: []core.Toolbox{&late{changed: make(chan struct{}, 1), never: never}},
	}
	g := core.New(core.Config{
		Store: coretest.NewMemory(), Node: "test",
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
	s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Prepare(t.Context(), s.Attach(core.Client{Name: "tester"})); err != nil || !opened {
		t.Fatalf("never %v: opened %v, %v", never, opened, err)
	}
	if found := len(got) == 1 && got[0].Name == "tide"; found == never {
		t.Errorf("never %v: the agent is given %v", never, got)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
