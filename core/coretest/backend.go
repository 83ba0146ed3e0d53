package coretest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"dragoman/core"
)

// Backend is a core.Backend whose turns are run by a function. The other fields may
// have their zero values.
type Backend struct {
	Run     func(context.Context, *core.Turn) (core.StopReason, error)
	CapsNow core.BackendCaps // before Switch
	// Offers lists commands of its own, available once a conversation is open.
	Offers []core.Command
	// Begins is called when a conversation is opened; its error is Open's.
	Begins func(context.Context, core.Binding) error
	// Chooses makes the conversations Choosers.
	Chooses func(ctx context.Context, b core.Binding, id, value string) error

	mu       sync.Mutex // guards the fields below
	heard    []string
	switched *core.BackendCaps
	bindings []core.Binding
	closed   int
	ended    int
}

// Heard lists the texts of the turns' prompts.
func (b *Backend) Heard() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.heard...)
}

// Switch changes the capabilities of the back end.
func (b *Backend) Switch(caps core.BackendCaps) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.switched = &caps
}

// Ended counts the calls of Close.
func (b *Backend) Ended() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

// Bindings lists the arguments of the calls of Open.
func (b *Backend) Bindings() []core.Binding {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]core.Binding(nil), b.bindings...)
}

// Closed counts the conversations that were closed.
func (b *Backend) Closed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// Caps implements core.Backend.
func (b *Backend) Caps(context.Context) (core.BackendCaps, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.switched != nil {
		return *b.switched, nil
	}
	return b.CapsNow, nil
}

// Open implements core.Backend.
func (b *Backend) Open(ctx context.Context, bind core.Binding) (core.Conversation, error) {
	if b.Begins != nil {
		if err := b.Begins(ctx, bind); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bindings = append(b.bindings, bind)
	if b.Offers != nil {
		bind.Offer(b.Offers)
	}
	if b.Chooses != nil {
		return chooser{conversation{b}, bind}, nil
	}
	return conversation{b}, nil
}

// Close implements core.Backend. It fails while a conversation is open.
func (b *Backend) Close(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended++
	if open := len(b.bindings) - b.closed; open > 0 {
		return fmt.Errorf("%d conversations are open", open)
	}
	return nil
}

type conversation struct{ b *Backend }

func (c conversation) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	if p := t.Prompt(); len(p) > 0 {
		if text, ok := p[0].(core.Text); ok {
			c.b.mu.Lock()
			c.b.heard = append(c.b.heard, text.Text)
			c.b.mu.Unlock()
		}
	}
	return c.b.Run(ctx, t)
}

func (c conversation) Set(context.Context, core.Settings) error { return nil }

func (c conversation) Close(context.Context) error {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.b.closed++
	return nil
}

type chooser struct {
	conversation
	bind core.Binding
}

// Choose implements core.Chooser.
func (c chooser) Choose(ctx context.Context, id, value string) error {
	return c.b.Chooses(ctx, c.bind, id, value)
}

// Tool is a core.Tool made of functions; nil ones do nothing.
type Tool struct {
	Is       core.Spec
	Previews func(context.Context, core.Invocation) (core.Preview, error)
	Runs     func(context.Context, core.Invocation) (core.Result, error)
}

// Spec implements core.Tool.
func (t Tool) Spec() core.Spec { return t.Is }

// Preview implements core.Tool.
func (t Tool) Preview(ctx context.Context, inv core.Invocation) (core.Preview, error) {
	if t.Previews == nil {
		return core.Preview{Title: t.Is.Title}, nil
	}
	return t.Previews(ctx, inv)
}

// Run implements core.Tool.
func (t Tool) Run(ctx context.Context, inv core.Invocation) (core.Result, error) {
	if t.Runs == nil {
		return core.Result{Blocks: []core.Block{core.Text{Text: "done"}}}, nil
	}
	return t.Runs(ctx, inv)
}

// Tools is a core.Toolbox and also the Toolset of every session.
type Tools []core.Tool

// Open implements core.Toolbox.
func (t Tools) Open(context.Context, core.ToolHost) (core.Toolset, error) { return t, nil }

// Tools implements core.Toolset.
func (t Tools) Tools(context.Context) ([]core.Tool, error) { return t, nil }

// Changed implements core.Toolset.
func (t Tools) Changed() <-chan struct{} { return nil }

// Close implements core.Toolset.
func (t Tools) Close() error { return nil }

// Policy is a function as a core.Policy.
type Policy func(core.Check) core.Verdict

// Decide implements core.Policy.
func (p Policy) Decide(c core.Check) core.Verdict { return p(c) }

// Always returns a policy that always gives the same verdict.
func Always(v core.Verdict) Policy { return func(core.Check) core.Verdict { return v } }

// Args is a shorthand for a call's arguments.
func Args(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Gateway returns a gateway over the store with one agent, whose turns are run.
func Gateway(
	store core.Store, run func(context.Context, *core.Turn) (core.StopReason, error),
	policy core.Policy, tools ...core.Tool,
) *core.Gateway {
	prof := &core.Profile{
		Agents:    []core.Agent{{Name: "code", Backend: &Backend{Run: run, CapsNow: core.BackendCaps{Steer: true, Images: true, Resources: true}}}},
		Toolboxes: []core.Toolbox{Tools(tools)},
		Policy:    policy,
	}
	return core.New(core.Config{
		AskMark:  func() string { return "" },
		Store:    store,
		Node:     "test",
		Profiles: Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
}
