package core_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// peddler offers a tool for every server that the clients bring along.
type peddler struct {
	opened, closed atomic.Int32
	hosts          func(core.ToolHost) // is given those that a toolset is opened for; nil: none
}

func (p *peddler) Open(_ context.Context, h core.ToolHost) (core.Toolset, error) {
	p.opened.Add(1)
	if p.hosts != nil {
		p.hosts(h)
	}
	return &stall{p, h}, nil
}

type stall struct {
	p *peddler
	h core.ToolHost
}

func (s *stall) Tools(context.Context) (list []core.Tool, err error) {
	for _, spec := range s.h.Servers() {
		list = append(list, coretest.Tool{Is: core.Spec{Server: spec.Name, Name: "tool"}})
	}
	return list, nil
}

func (s *stall) Changed() <-chan struct{} { return nil }

func (s *stall) Close() error { s.p.closed.Add(1); return nil }

// The servers that a client brings along serve its own prompts, and a profile of the same toolboxes
// leaves what is open open.
func TestServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		run := func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			specs, err := turn.Tools(ctx)
			names := []string{}
			for _, s := range specs {
				names = append(names, s.Server)
			}
			seen = append(seen, strings.Join(names, " "))
			return core.StopEnd, err
		}
		box := &peddler{}
		backend := &coretest.Backend{Run: run}
		g := core.New(core.Config{Store: coretest.NewMemory(), Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) {
			return &core.Profile{ // another one each time, as after a reload
				Agents: []core.Agent{{Name: "code", Backend: backend}}, Toolboxes: []core.Toolbox{box}, Policy: coretest.Always(core.Verdict{Effect: core.Allow}),
			}, nil
		})})
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		one := s.Attach(core.Client{Name: "one", Servers: []core.ServerSpec{{Name: "files", Command: "a"}, {Name: "both", Command: "a"}}})
		turn := func(by *core.Attachment) { prompt(t, by, say("go")); synctest.Wait() }
		turn(one)
		two := s.Attach(core.Client{Name: "two", Servers: []core.ServerSpec{{Name: "web", URL: "http://x"}, {Name: "both", Command: "b"}}})
		watcher := s.Attach(core.Client{Name: "watcher", Role: core.Observe, Servers: []core.ServerSpec{{Name: "not", Command: "c"}}})
		turn(one)
		turn(two)
		two.Close()
		turn(one)
		wantLines(t, seen, "both files", "both files", "both web", "both files")
		one.Close()
		watcher.Close()
		closeGateway(t, g)
		if box.opened.Load() != 1 || box.closed.Load() != 1 {
			t.Errorf("opened %d times, closed %d times", box.opened.Load(), box.closed.Load())
		}
	})
}
