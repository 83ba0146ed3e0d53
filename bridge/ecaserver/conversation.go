package ecaserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/bridge/agent/brief"
	"dragoman/bridge/agent/judge"
	"dragoman/bridge/agent/launch"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
	"dragoman/core/files"
)

// bound is the part of a conversation that the session's log keeps (core.Bound).
type bound struct {
	Chat    string   `json:"chat"` // the server's id, which we have made
	Briefed bool     `json:"briefed,omitempty"`
	Marks   []string `json:"marks,omitempty"` // the newest of conversation.marks: the last may be lost with the server
}

// conversation is the server's side of one session.
type conversation struct {
	b       *Backend
	bind    core.Binding
	guard   *child.Guard
	release func() // gives the guard back
	places  *files.Workspace
	root    *chat          // the session's own
	tools   tools          // the session's tools for the server
	after   sync.WaitGroup // of what goes on behind an answer
	lock    launch.SessionLock

	mu      sync.Mutex // guards the fields below
	peer    *peer      // nil: the server does not run
	briefed bool       // the chat began with a brief: its titles are of that
	heard   core.Pos   // the end of what the server knows of the log; the zero value: it knows all of it
	begun   bool       // the server has the chat
	chosen  map[string]string
	own     config // what the server has said about this chat alone
	told    core.Offered
	ready   bool // the chat is open: what the server offers is logged
	opening bool
	list    []core.Command
	open    int // requests of the server, and calls, that wait for somebody
	used    time.Time
	prompt  *prompting     // nil: none is open
	marks   []mark         // the messages of the user that the server has, in their order
	seen    core.Pos       // up to where the log was compared with them
	stored  []string       // the marks in the log when the conversation was opened
	jobs    map[string]job // by the server's ids
}

var (
	_ core.Conversation = (*conversation)(nil)
	_ core.Chooser      = (*conversation)(nil)
	_ core.Rester       = (*conversation)(nil)
)

func newConversation(b *Backend, bind core.Binding) (*conversation, error) {
	c := &conversation{b: b, bind: bind, used: b.o.Time(), chosen: bind.Settings.Choices.All(), jobs: map[string]job{}}
	c.root = newChat(c, "", bind.Host, bind.Meta)
	if bind.State != nil {
		var state bound
		if err := json.Unmarshal(bind.State, &state); err != nil {
			return nil, fmt.Errorf("the log's note of its chat: %w", err)
		}
		c.briefed, c.stored = state.Briefed, state.Marks
		c.root.id, c.heard, c.begun = state.Chat, bind.Heard, state.Chat != "" && bind.Heard != brief.Nothing
	}
	c.guard, c.release = b.o.Guards.Hold(string(bind.Meta.Principal) + " " + string(bind.Meta.ID))
	c.lock.Locks = b.o.Locks
	c.places = judge.Workspace(bind)
	c.tools.Know(bind.Tools)
	return c, nil
}

// hold returns the guard of the session, which the conversation releases.
func (c *conversation) hold() (*child.Guard, func()) { return c.guard, func() {} }

// judging returns the judge of the session's calls.
func (c *conversation) judging() judge.Judge {
	return judge.Judge{Agent: c.b.o.Name, Paths: c.b.paths, Far: len(c.b.o.Paths) > 0, Places: c.places, Cwd: c.bind.Meta.Cwd}
}

// ensure returns the server's program with the chat open in it, and starts it if it does not run.
func (c *conversation) ensure(ctx context.Context, waits launch.Waiting) (*peer, error) {
	c.mu.Lock()
	p := c.peer
	c.mu.Unlock()
	if p != nil && p.alive() {
		return p, nil
	}
	if p != nil {
		<-p.gone
	}
	if err := c.lock.Take(ctx, c.bind.Meta); err != nil {
		return nil, err
	}
	p, err := launch.Begin(ctx, c.b.attempts, c.b.o.Name, c.bind.Meta, waits,
		func() (*peer, error) { return c.b.place(ctx, c, waits) },
		func(p *peer) error { return c.openOn(ctx, p) })
	if wants := errors.As(err, new(*core.SignInError)); ctx.Err() == nil && (wants || err == nil) {
		c.b.note(wants)
	}
	return p, err
}

// take is ensure for a turn: the program does not make room for others until it is given back.
func (c *conversation) take(ctx context.Context, waits launch.Waiting) (*peer, error) {
	for {
		p, err := c.ensure(ctx, waits)
		if err != nil || p.take() {
			return p, err
		}
	}
}

// openOn opens the chat in a program that runs, and ends it if that fails.
func (c *conversation) openOn(ctx context.Context, p *peer) error {
	c.mu.Lock()
	c.peer, c.opening = p, true
	c.mu.Unlock()
	err := c.openChat(ctx, p)
	c.mu.Lock()
	c.opening = false
	if err != nil {
		c.peer = nil
	}
	c.mu.Unlock()
	if err == nil {
		return nil
	}
	if errors.Is(err, wire.ErrClosed) {
		err = p.reason()
	}
	p.end(errUnused)
	return err
}

// lost says that the program has ended. It runs behind the reading goroutine.
func (c *conversation) lost(p *peer, why error) {
	c.root.over()
	c.dropJobs()
	c.endSubagents()
	c.tools.Close()
	c.mu.Lock()
	if c.peer == p {
		c.peer = nil
	}
	pr := c.prompt
	c.mu.Unlock()
	if pr != nil {
		c.settled(pr, fmt.Errorf("agent %s ended in the middle of the turn: %w", c.b.o.Name, why))
	}
}

// Rest implements core.Rester.
func (c *conversation) Rest() bool {
	c.mu.Lock()
	p, used := c.peer, c.used
	c.mu.Unlock()
	if p == nil || !p.alive() {
		return true
	}
	idle := c.b.o.Idle
	return !c.busy() && idle > 0 && c.b.o.Time().Sub(used) >= idle
}

// busy reports whether anything goes on, besides a turn that was prompted: a question, a job, a turn that
// the server has begun.
func (c *conversation) busy() bool {
	c.mu.Lock()
	busy := c.open > 0 || c.prompt != nil || c.opening
	for _, j := range c.jobs {
		busy = busy || j.info.Status == board.JobRunning
	}
	c.mu.Unlock()
	t := c.root.stage.Current()
	return busy || t != nil && t.Begun() && t.State().Turn == t.ID()
}

// waits counts what waits for somebody.
func (c *conversation) waits(n int) {
	c.mu.Lock()
	c.open += n
	c.used = c.b.o.Time()
	c.mu.Unlock()
}

// Close implements core.Conversation.
func (c *conversation) Close(context.Context) error {
	if !c.root.stage.Close() {
		return nil
	}
	if p := c.program(); p != nil {
		p.end(errUnused)
	}
	c.after.Wait()
	c.endSubagents()
	c.tools.Close()
	err := c.places.Close()
	c.release()
	return errors.Join(err, c.lock.Release())
}

// program returns the program of the server; nil: it does not run.
func (c *conversation) program() *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer
}

// notice shows the user a text, in a turn or not.
func (c *conversation) notice(s core.Severity, text string) {
	c.root.apart(core.Notice{Severity: s, Text: "Agent " + c.b.o.Name + ": " + text})
}

// words returns an error with which the server answered a request, in its words.
func words(method string, err error) error {
	var e *jrpc2.Error
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s: %s (error %d)", method, strings.TrimSpace(e.Message), e.Code)
}

// unsupported reports whether the server does not know a method.
func unsupported(err error) bool {
	var e *jrpc2.Error
	return errors.As(err, &e) && e.Code == jrpc2.MethodNotFound
}
