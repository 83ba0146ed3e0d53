package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// host is a session for tests.
type host struct {
	meta  core.Meta
	board *board.Board
	ask   func(core.Ask) core.Reply // nil: nobody can be asked
	model inference.Model           // nil: none

	beside  func() []string // folders that count beside those of meta; nil: none
	servers []core.ServerSpec
	spills  coretest.Spills
}

func (h *host) Meta() core.Meta {
	m := h.meta
	if h.beside != nil {
		m.Roots = slices.Concat(m.Roots, h.beside())
	}
	return m
}

func (h *host) Editor(string) core.Editor { return nil }
func (h *host) Spills() core.Spills       { return &h.spills }
func (h *host) Texts() *core.Texts        { return nil }

func (*host) Changed(context.Context, string, func(core.Editor) bool) {}

func (h *host) Servers() []core.ServerSpec { return slices.Clone(h.servers) }
func (h *host) Connection() core.Profiles  { return nil }

func (h *host) Profile(context.Context) (*core.Profile, error) {
	if h.model == nil {
		return &core.Profile{}, nil
	}
	find := func(context.Context, string) (inference.Model, error) { return h.model, nil }
	return &core.Profile{Models: inference.Models{Find: find}}, nil
}

func (h *host) Delegate(context.Context, core.Caller) (*core.Attachment, core.Settings, error) {
	return nil, core.Settings{}, fmt.Errorf("no")
}

func (h *host) Settings() core.Settings { return core.Settings{} }

func (h *host) Ask(_ context.Context, a core.Ask) (core.Reply, error) {
	if h.ask == nil {
		return core.Reply{Outcome: core.OutcomeAlone}, nil
	}
	return h.ask(a), nil
}

// open opens the tools of servers in a session, which ends with the test.
func open(t *testing.T, h *host, o Options) (*Box, core.Toolset) {
	t.Helper()
	if h.board == nil {
		h.board = board.New()
	}
	if h.meta.Cwd == "" {
		h.meta.Cwd = t.TempDir()
	}
	if o.Grace == 0 {
		o.Grace = bridgetest.Patience
	}
	if o.Wait == 0 {
		o.Wait = bridgetest.Patience
	}
	if o.FirstPause == 0 {
		o.FirstPause = 10 * time.Millisecond
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Log == nil {
		o.Log = func(server, level, text string) { t.Logf("%s %s: %.500s", server, level, text) }
	}
	o.Board = h.board
	b := New(o)
	b.Announce()
	s, err := b.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, s
}

// listed lists the tools of a session's servers once all of those have started or failed.
func listed(ctx context.Context, s core.Toolset) ([]core.Tool, error) {
	if _, err := s.Tools(ctx); err != nil { // starts those that clients bring along
		return nil, err
	}
	for _, u := range s.(*set).ups {
		u.settled(ctx)
	}
	return s.Tools(ctx)
}

// toolOf finds a tool.
func toolOf(t *testing.T, s core.Toolset, name string) core.Tool {
	t.Helper()
	list, err := listed(bridgetest.Patient(t), s)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list {
		if tool.Spec().Name == name {
			return tool
		}
		names = append(names, tool.Spec().Name)
	}
	t.Fatalf("there is no tool %s, only %q", name, names)
	return nil
}

// call runs a tool.
func call(t *testing.T, tool core.Tool, args string) (core.Result, error) {
	t.Helper()
	inv := core.Invocation{Call: "c", Args: json.RawMessage(args), Output: func(string) {}}
	if _, err := tool.Preview(bridgetest.Patient(t), inv); err != nil {
		t.Fatal(err)
	}
	return tool.Run(bridgetest.Patient(t), inv)
}

// text returns the text of a result.
func text(r core.Result) string {
	var s []string
	for _, b := range r.Blocks {
		s = append(s, textOf(b))
	}
	return strings.Join(s, "\n")
}
