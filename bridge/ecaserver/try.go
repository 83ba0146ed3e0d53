package ecaserver

import (
	"context"
	"errors"
	"fmt"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/launch"
	"dragoman/core"
	"dragoman/core/child"
)

// Try starts a server's program in a folder, asks what it can do, and ends it. A chat needs no request of its own.
// With an error the trial has what was seen before; a core.SignInError says that none of its providers can be
// used. It blocks until nothing of the program is left.
func Try(ctx context.Context, o Options, dir string) (t launch.Trial, err error) {
	o.Pool = launch.NewPool()
	b := New(o)
	m := core.Meta{Cwd: dir}
	is, err := o.Program(ctx, nil)
	if err != nil {
		return t, err
	}
	in, err := o.Confined(m, nil, func() (*child.Guard, func()) { return o.Guards.Hold("trial of agent " + o.Name) })
	if err != nil {
		return t, fmt.Errorf("start agent %s: %w", o.Name, err)
	}
	begun := o.Time()
	p, err := b.start(ctx, is, place{meta: m}, in, func() {}, nil)
	if err != nil {
		return t, err
	}
	defer func() {
		t.Said = p.proc.Last(5) // before the end: many complain about that
		p.end(errUnused)
		b.wg.Wait()
	}()
	t.Hello = o.Time().Sub(begun)
	t.Name, t.Version = p.hello.Server.Name, p.hello.Server.Version
	if t.Name == "" {
		t.Name = "ECA server"
	}
	begun = o.Time()
	list, err := p.providers(ctx)
	if err != nil {
		return t, closed(p, err)
	}
	works := len(list) == 0
	for _, is := range list {
		works = works || is.works()
	}
	for _, m := range methods(list) {
		t.SignIns = append(t.SignIns, m.Name)
	}
	if err := p.awaitOffer(ctx); err != nil {
		return t, closed(p, err)
	}
	t.Caps, t.Reloads = []string{"load", "images", "embedded resources"}, true
	switch _, err := p.list(ctx, dir); {
	case err == nil:
		t.Caps = append(t.Caps, "list")
	case errors.Is(err, wire.ErrClosed):
		return t, p.reason()
	default:
		t.Reloads = false
	}
	p.mu.Lock()
	t.Choices = p.config.choices()
	p.mu.Unlock()
	t.Session = max(o.Time().Sub(begun), 1)
	t.State = string(eca.AuthAuthenticated)
	if !works {
		t.State = string(eca.AuthUnauthenticated)
		return t, &core.SignInError{Agent: o.Name, Text: "it has access to no provider of models"}
	}
	return t, nil
}

// closed returns why a program has ended, if that is the error.
func closed(p *peer, err error) error {
	if errors.Is(err, wire.ErrClosed) {
		return p.reason()
	}
	return err
}
