package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/bridge/agent/elsewhere"
	"dragoman/bridge/agent/known"
	"dragoman/bridge/toolserver"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/child/piped"
	"dragoman/core/shell"
)

// Program is the program of an agent as it is started.
type Program struct {
	Path string // a name to look up in PATH, or an absolute path
	Args []string
	Env  map[string]string // the configured variables
	// Hide removes the values of secrets from a text; nil: there are none.
	Hide func(string) string
}

// Options configure the back end of one agent. Name, Program, Pool and Guards must be set.
type Options struct {
	Name string
	// Program is called before each start. It may run programs that print secrets, and ask the session's
	// host (nil: there is no session) whether the program may be started.
	Program func(context.Context, core.Host) (Program, error)
	Known   known.Agent       // what is known about the agent (known.Of)
	Choices map[string]string // configured values of the agent's own options, by id
	Paths   map[string]string // folders here and where the agent runs; nil: the same
	// Direct passes the MCP servers that clients bring along on to the agent, instead of our own
	// server with all of the session's tools.
	Direct bool
	// Idle is the time after which a program that is not used ends; 0: it does not.
	Idle time.Duration
	// Shared has sessions with the same folder share a program.
	Shared  bool
	Version string // ours
	Pool    *Pool
	History *elsewhere.History // keeps the agent's list of sessions; nil: nothing does
	Tools   *toolserver.Pool   // serves the session's tools to the agent; nil: nothing does
	Notes   *Notes             // keep how to sign in; nil: nothing does
	Guards  *child.Guards      // of sessions, by principal and id
	// Sandbox holds the sandbox in which a session's terminals run, of which the host is asked what
	// they may reach; nil: they run as the user.
	Sandbox func(core.Meta, core.Host) (s Sandbox, release func())
	// Confine makes a sandbox for the program itself, which works in the folders of a session and asks
	// its host what it may reach (nil: nobody is asked); nil: it runs as the user.
	Confine func(core.Meta, core.Host) (Confined, error)
	Keep    []string        // variables that the agent's terminals get besides the harmless ones
	Environ func() []string // nil: os.Environ
	Log     func(level, text string)
	Now     func() time.Time // nil: time.Now
}

// Confined holds the guard that starts an agent's program, and what the program needs to work in a sandbox.
type Confined struct {
	Guard   *child.Guard
	Release func()   // ends the sandbox
	Args    []string // that the program gets in addition
	// Tools is HOST:PORT at which the program reaches Options.Tools; "": as it does without a sandbox.
	Tools string
}

// Sandbox starts commands, and says how far they are confined. Notes returns what has happened to them
// that they do not know, such as connections that were refused, and forgets it.
type Sandbox interface {
	shell.Starter
	Level() child.Level
	Notes() []string
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

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
	attempts *attempts
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
	return &Backend{o: o, limits: defaultLimits, paths: newMapping(o.Paths), attempts: newAttempts(o.now), shared: map[string]*sharing{}}
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
	if later && b.attempts.delayed(starts, bind.Meta.ID) {
		return c, nil
	}
	later = later && (bind.State != nil || bind.Meta.From.Session == "") // so is an import
	_, err = c.ensure(ctx, func(string, time.Duration) <-chan time.Time { return time.After(b.limits.place) })
	if err != nil && !(later && errors.Is(err, errNotNow)) {
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

// environ returns the environment of the program: the part of ours that every program gets, the
// variables by which this agent finds its credentials and settings, and the configured ones.
func (b *Backend) environ(given map[string]string) []string {
	ours := os.Environ
	if b.o.Environ != nil {
		ours = b.o.Environ
	}
	env := piped.Env(ours(), slices.Concat(known.Common, b.o.Known.Env), given)
	kept := env[:0]
	for _, kv := range env {
		if !child.Named(known.Barred, nameOf(kv)) {
			kept = append(kept, kv)
		}
	}
	return kept
}

// proxied reports whether an environment has a proxy for HTTP.
func proxied(env []string) bool {
	return slices.ContainsFunc(env, func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return value != "" && (strings.EqualFold(name, "http_proxy") || strings.EqualFold(name, "all_proxy"))
	})
}

func nameOf(kv string) string {
	for i := range len(kv) {
		if kv[i] == '=' {
			return kv[:i]
		}
	}
	return kv
}

func (b *Backend) log(level, text string) {
	if b.o.Log != nil {
		b.o.Log(level, text)
	}
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
		return b.place(ctx, dir, c.bind.Host, waits, func() (Confined, error) {
			return b.confined(c.bind.Meta, c.bind.Host, func() (*child.Guard, func()) { return c.guard, func() {} })
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
		return nil, errNotNow
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if s.peer != nil && s.peer.alive() {
		return s.peer, nil
	}
	p, err := b.place(ctx, dir, c.bind.Host, waits, func() (Confined, error) {
		m := core.Meta{ID: c.bind.Meta.ID, Principal: c.bind.Meta.Principal, Cwd: dir} // all of its sessions work there
		return b.confined(m, c.bind.Host, func() (*child.Guard, func()) { return b.o.Guards.Hold("agent " + b.o.Name + " in " + dir) })
	})
	if err != nil {
		return nil, err
	}
	s.peer = p
	return p, nil
}

// confined returns what starts the program for a session: a sandbox, or else a guard that is held.
func (b *Backend) confined(m core.Meta, h core.Host, hold func() (*child.Guard, func())) (Confined, error) {
	if b.o.Confine != nil {
		return b.o.Confine(m, h)
	}
	g, release := hold()
	return Confined{Guard: g, Release: release}, nil
}

// place starts a program when there is room for it.
func (b *Backend) place(ctx context.Context, dir string, h core.Host, waits waiting, hold func() (Confined, error)) (*peer, error) {
	leave, err := b.o.Pool.place(ctx, waits)
	if err != nil {
		return nil, err
	}
	in, err := hold()
	if err != nil {
		leave()
		return nil, fmt.Errorf("start agent %s: %w", b.o.Name, err)
	}
	return b.start(ctx, dir, h, in, leave)
}
