package ecaserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/paths"
	"dragoman/bridge/agent/signin"
	"dragoman/core"
)

// Options configure the back end of one agent. Name, Program, Pool and Guards must be set. Of those of
// package launch, Direct, Shared, Sandbox and Keep mean nothing here.
type Options struct {
	launch.Options
	Board Board // nil: jobs are only told
}

// limits are the times that a server has for an answer, and one of ours. A prompt has none: its user can
// stop it.
type limits struct {
	hello  time.Duration // to initialize
	offer  time.Duration // to say what can be chosen
	open   time.Duration // to a request that opens a chat
	end    time.Duration // between the signs that a turn is over
	cancel time.Duration // to end a turn that was stopped; the program is ended after it
	place  time.Duration // ours: how long Open waits for a place for its program
}

var defaultLimits = limits{
	hello: time.Minute, offer: 5 * time.Second, open: 2 * time.Minute, end: 2 * time.Second, cancel: 10 * time.Second, place: 5 * time.Second,
}

// Backend is an ECA server behind the gateway. It implements core.Backend.
type Backend struct {
	o        Options
	limits   limits
	paths    paths.Mapping
	attempts *launch.Attempts
	wg       sync.WaitGroup // of the peers

	mu       sync.Mutex           // guards the fields below
	wants    bool                 // its last answer was that it wants a login
	in       bool                 // the user has signed in here since
	ways     []signin.Method      // to sign in, as it has listed them last
	asked    bool                 // it has listed them
	relisted map[string]time.Time // when what is kept was renewed last, by folder
}

var _ core.Backend = (*Backend)(nil)

// New returns the back end of an agent. It starts nothing.
func New(o Options) *Backend {
	return &Backend{o: o, limits: defaultLimits, paths: paths.New(o.Paths), attempts: launch.NewAttempts(o.Time), relisted: map[string]time.Time{}}
}

// Caps implements core.Backend. It starts nothing.
func (b *Backend) Caps(context.Context) (core.BackendCaps, error) {
	return core.BackendCaps{OwnsHistory: true, Rewind: true, Steer: true, Load: true, Images: true, Resources: true}, nil
}

// Open implements core.Backend. It starts the server, unless the last attempt has just failed or no place
// is free: then the next prompt does.
func (b *Backend) Open(ctx context.Context, bind core.Binding) (core.Conversation, error) {
	if bind.Fork != nil {
		return nil, fmt.Errorf("agent %s cannot copy a chat with its last answer", b.o.Name)
	}
	c, err := newConversation(b, bind)
	if err != nil {
		return nil, err
	}
	if b.attempts.Delayed(launch.Starts, bind.Meta.ID) {
		return c, nil
	}
	later := bind.State != nil || bind.Meta.From.Session == "" // an import is made now
	_, err = c.ensure(ctx, func(string, time.Duration) <-chan time.Time { return time.After(b.limits.place) })
	if err != nil && !(later && errors.Is(err, launch.ErrNotNow)) {
		_ = c.Close(context.WithoutCancel(ctx)) // the first error is the reason
		return nil, err
	}
	return c, nil
}

// Close implements core.Backend. All conversations have been closed.
func (b *Backend) Close(context.Context) error {
	b.wg.Wait()
	return nil
}

// place starts the server for a conversation when there is room for it.
func (b *Backend) place(ctx context.Context, c *conversation, waits launch.Waiting) (*peer, error) {
	is, err := b.o.Program(ctx, c.bind.Host) // it may ask somebody, and holds no place meanwhile
	if err != nil {
		return nil, err
	}
	leave, err := b.o.Pool.Place(ctx, waits)
	if err != nil {
		return nil, err
	}
	in, err := c.lock.Guarded(b.o.Confined(c.bind.Meta, c.bind.Host, c.hold))
	if err != nil {
		leave()
		return nil, fmt.Errorf("start agent %s: %w", b.o.Name, err)
	}
	p, err := b.start(ctx, is, place{meta: c.bind.Meta, c: c, editor: editorCaps(c.bind.Host)}, in, leave, nil)
	if err != nil {
		return nil, err
	}
	b.o.Pool.Add(p)
	if !p.alive() { // it may have been removed before
		b.o.Pool.Remove(p)
	}
	b.wg.Go(b.o.Guards.Spare) // where there is one session, another one may follow
	return p, nil
}
