package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/paths"
	"dragoman/core"
	"dragoman/core/child"
)

// The parts that all kinds of agents share.
type (
	// Options configure the back end of one agent.
	Options = launch.Options
	// Program is the program of an agent as it is started.
	Program = launch.Program
	// Pool limits the programs of agents that run at once.
	Pool = launch.Pool
	// Sandbox starts commands, and says how far they are confined.
	Sandbox = launch.Sandbox

	waiting = launch.Waiting
)

// NewPool returns a pool without programs.
func NewPool() *Pool { return launch.NewPool() }

// limits are the times that an agent has for an answer, and one of ours. A prompt has none: its user can stop it.
type limits struct {
	hello  time.Duration // to initialize
	open   time.Duration // to a request that opens a session
	choose time.Duration // to the choice of an option
	cancel time.Duration // to a prompt that was cancelled; the program is ended after it
	place  time.Duration // ours: how long Open waits for a place for its program
}

// defaultLimits allow for agents that update themselves first: one took 20 s.
var defaultLimits = limits{hello: time.Minute, open: 2 * time.Minute, choose: 20 * time.Second, cancel: 10 * time.Second, place: 5 * time.Second}

// Backend is an agent behind the gateway. It implements core.Backend.
type Backend struct {
	o        Options
	limits   limits
	paths    mapping
	attempts *launch.Attempts
	wg       sync.WaitGroup // of the peers

	mu       sync.Mutex // guards the fields below
	last     *hello     // of the newest program; nil: none was started
	shared   map[string]*sharing
	method   string    // by which the user has signed in; "": by none in this process
	wants    bool      // its last answer was that it wants a login
	in       bool      // the user has signed in here since it wanted that last
	relisted time.Time // when its sessions were listed last
}

var _ core.Backend = (*Backend)(nil)

// New returns the back end of an agent. It starts nothing.
func New(o Options) *Backend {
	return &Backend{o: o, limits: defaultLimits, paths: mapping{paths.New(o.Paths)}, attempts: launch.NewAttempts(o.Time), shared: map[string]*sharing{}}
}

// Caps implements core.Backend. It starts nothing: whether an agent forks is known once it has run.
func (b *Backend) Caps(context.Context) (core.BackendCaps, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return core.BackendCaps{
		OwnsHistory: true, Load: true, Fork: b.last != nil && bool(b.last.Caps.Session.Fork),
		// What an agent does not take is translated for it.
		Images: true, Audio: true, Resources: true,
	}, nil
}

// Open implements core.Backend. It starts the agent, unless the last attempt has just failed or no place
// is free: then the next prompt does.
func (b *Backend) Open(ctx context.Context, bind core.Binding) (core.Conversation, error) {
	c, err := newConversation(b, bind)
	if err != nil {
		return nil, err
	}
	later := bind.Fork == nil // a copy is made now
	if later && b.attempts.Delayed(launch.Starts, bind.Meta.ID) {
		return c, nil
	}
	later = later && (bind.State != nil || bind.Meta.From.Session == "") // so is an import
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

// met notes what an agent that has just been started can do.
func (b *Backend) met(h hello) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = &h
}

// proxied reports whether an environment has a proxy for HTTP.
func proxied(env []string) bool {
	return slices.ContainsFunc(env, func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return value != "" && (strings.EqualFold(name, "http_proxy") || strings.EqualFold(name, "all_proxy"))
	})
}

func (b *Backend) log(level, text string) {
	b.o.Say(level, text)
}

// sharing is a program that several conversations use.
type sharing struct {
	turn chan struct{} // held by whoever starts or ends it
	peer *peer
}

// program returns the program for a conversation: one of its own, or the shared one of its folder.
func (b *Backend) program(ctx context.Context, c *conversation, waits waiting) (*peer, error) {
	dir := c.bind.Meta.Cwd
	if !b.o.Shared {
		return b.place(ctx, dir, c.bind.Host, waits, func() (launch.Confined, error) {
			return c.lock.Guarded(b.o.Confined(c.bind.Meta, c.bind.Host, func() (*child.Guard, func()) { return c.guard, func() {} }))
		})
	}
	b.mu.Lock()
	s := b.shared[dir]
	if s == nil {
		s = &sharing{turn: make(chan struct{}, 1)}
		b.shared[dir] = s
	}
	b.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
	case <-waits("", 0): // another session waits for a place
		return nil, launch.ErrNotNow
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if s.peer != nil && s.peer.alive() {
		return s.peer, nil
	}
	p, err := b.place(ctx, dir, c.bind.Host, waits, func() (launch.Confined, error) {
		m := core.Meta{ID: c.bind.Meta.ID, Principal: c.bind.Meta.Principal, Cwd: dir} // all of its sessions work there
		return c.lock.Guarded(b.o.Confined(m, c.bind.Host, func() (*child.Guard, func()) { return b.o.Guards.Hold("agent " + b.o.Name + " in " + dir) }))
	})
	if err != nil {
		return nil, err
	}
	s.peer = p
	return p, nil
}

// place starts a program when there is room for it.
func (b *Backend) place(ctx context.Context, dir string, h core.Host, waits waiting, hold func() (launch.Confined, error)) (*peer, error) {
	is, err := b.o.Program(ctx, h) // it may ask somebody, and holds no place meanwhile
	if err != nil {
		return nil, err
	}
	leave, err := b.o.Pool.Place(ctx, waits)
	if err != nil {
		return nil, err
	}
	in, err := hold()
	if err != nil {
		leave()
		return nil, fmt.Errorf("start agent %s: %w", b.o.Name, err)
	}
	return b.start(ctx, is, dir, in, leave)
}
