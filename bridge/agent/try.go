package agent

import (
	"context"
	"errors"
	"fmt"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/launch"
	"dragoman/core"
	"dragoman/core/child"
)

// Trial describes what an agent did when it was tried.
type Trial = launch.Trial

// Try starts an agent's program in a folder, opens a session in it without any MCP server, and ends
// it. With an error the trial has what was seen before; a core.SignInError says that the agent
// wants a login. It blocks until nothing of the program is left.
func Try(ctx context.Context, o Options, dir string) (t Trial, err error) {
	o.Pool = NewPool()
	b := New(o)
	program, err := o.Program(ctx, nil)
	if err != nil {
		return t, err
	}
	in, err := b.o.Confined(core.Meta{Cwd: dir}, nil, func() (*child.Guard, func()) { return o.Guards.Hold("trial of agent " + o.Name) })
	if err != nil {
		return t, fmt.Errorf("start agent %s: %w", o.Name, err)
	}
	begun := b.o.Time()
	p, err := b.start(ctx, program, dir, in, func() {})
	if err != nil {
		return t, err
	}
	defer func() {
		t.Said = p.proc.Last(5) // before the end: many agents complain about that
		p.end(errUnused)
		b.wg.Wait()
	}()
	t.Hello = b.o.Time().Sub(begun)
	p.hello.describe(&t)
	if bool(p.hello.Caps.Auth.Status) {
		var status acp.AuthStatus
		if p.conn.Ask(ctx, "auth/status", struct{}{}, &status) == nil {
			t.State = status.State
		}
	}
	begun = b.o.Time()
	var is opened
	err = p.conn.Ask(ctx, "session/new", map[string]any{"cwd": b.paths.There(dir), "mcpServers": []any{}}, &is)
	switch {
	case ctx.Err() != nil:
		return t, fmt.Errorf("session/new: %w", context.Cause(ctx))
	case errors.Is(err, wire.ErrClosed):
		return t, fmt.Errorf("session/new: %w", p.reason())
	case err != nil:
		return t, b.failure("session/new", err)
	case is.SessionID == "":
		return t, errors.New("session/new: the answer has no sessionId")
	}
	t.Session = b.o.Time().Sub(begun)
	t.Choices = is.choices()
	return t, nil
}

// describe fills in what an agent says about itself.
func (h hello) describe(t *Trial) {
	t.Name, t.Version, t.Reloads = h.AgentInfo.Name, h.AgentInfo.Version, h.reloads()
	for _, c := range []struct {
		name string
		can  bool
	}{
		{"load", h.Caps.LoadSession},
		{"resume", bool(h.Caps.Session.Resume)},
		{"list", bool(h.Caps.Session.List)},
		{"fork", bool(h.Caps.Session.Fork)},
		{"close", bool(h.Caps.Session.Close)},
		{"images", h.Caps.PromptCapabilities.Image},
		{"audio", h.Caps.PromptCapabilities.Audio},
		{"embedded resources", h.Caps.PromptCapabilities.EmbeddedContext},
		{"MCP over HTTP", h.Caps.MCPCapabilities.HTTP},
		{"MCP over SSE", h.Caps.MCPCapabilities.SSE},
		{"logout", bool(h.Caps.Auth.Logout)},
	} {
		if c.can {
			t.Caps = append(t.Caps, c.name)
		}
	}
	for _, m := range h.AuthMethods {
		t.SignIns = append(t.SignIns, m.Name)
	}
}
