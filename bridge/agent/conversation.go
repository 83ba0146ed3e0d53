package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/brief"
	"dragoman/bridge/agent/judge"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/stage"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/files"
	"dragoman/core/shell"
)

// bound is the part of a conversation that the session's log keeps (core.Bound).
type bound struct {
	Session string `json:"session"`         // the agent's id
	Fresh   bool   `json:"fresh,omitempty"` // of an earlier version: Heard is nothing
	Briefed bool   `json:"briefed,omitempty"`
}

// conversation is the agent's side of one session.
type conversation struct {
	b         *Backend
	bind      core.Binding
	guard     *child.Guard
	release   func()  // gives the guard and the sandbox back
	box       Sandbox // of the terminals; nil: there is none
	places    *files.Workspace
	terminals *shell.Terminals
	flow      flow           // of the reading goroutine
	stage     *stage.Stage   // has the turn that updates belong to
	serving   serving        // the session's tools for the agent
	after     sync.WaitGroup // of what goes on behind an answer
	lock      launch.SessionLock
	parent    *conversation // of a sub-agent; nil: it is the session's

	mu        sync.Mutex        // guards the fields below
	peer      *peer             // nil: the agent does not run
	session   string            // the agent's id; "": it has none yet
	heard     core.Pos          // the end of what the agent knows of the log; the zero value: it knows all of it
	briefed   bool              // the agent's session began with a brief: its titles are of that
	chosen    core.Choices      // as the session's settings have them
	moved     map[string]string // what the agent has changed since, and the settings do not have yet
	choosing  int               // requests to set an option that the agent has not answered
	offered   core.Offered
	opening   bool // the session is being opened in the program
	open      int  // requests of the agent that wait for an answer
	used      time.Time
	cancels   bool            // of a sub-agent: it can be cancelled
	answered  chan struct{}   // closed when the agent has answered the last prompt; nil: none is open
	ready     bool            // the session is open: what the agent offers is logged
	older     map[string]bool // the choices that the agent offers in the older forms
	tally     tally
	grants    map[string]grant     // by the agent's ids of the calls
	subs      map[string]*subagent // by the agent's ids of their sessions
	spooled   string               // the folder of files that prompts name; "": none
	importing *importing           // nil: none goes on
}

var (
	_ core.Conversation = (*conversation)(nil)
	_ core.Chooser      = (*conversation)(nil)
	_ core.Rester       = (*conversation)(nil)
)

func newConversation(b *Backend, bind core.Binding) (*conversation, error) {
	c := &conversation{b: b, bind: bind, used: b.o.Time(), chosen: bind.Settings.Choices, moved: map[string]string{}, grants: map[string]grant{}, subs: map[string]*subagent{}}
	if bind.State != nil {
		var state bound
		if err := json.Unmarshal(bind.State, &state); err != nil {
			return nil, fmt.Errorf("the log's note of its session: %w", err)
		}
		c.session, c.briefed = state.Session, state.Briefed
		if c.heard = bind.Heard; state.Fresh {
			c.heard = brief.Nothing
		}
	}
	c.guard, c.release = b.o.Guards.Hold(string(bind.Meta.Principal) + " " + string(bind.Meta.ID))
	c.places = judge.Workspace(bind)
	c.terminals = &shell.Terminals{Shell: shell.Find(""), Guard: c.guard, Environ: b.o.Environ, Keep: b.o.Keep}
	if b.o.Sandbox != nil {
		box, leave := b.o.Sandbox(bind.Meta, bind.Host)
		release := c.release
		c.terminals.Guard, c.box = box, box
		c.release = func() {
			leave()
			release()
		}
	}
	c.lock.Locks = b.o.Locks
	c.flow.c, c.stage = c, c.newStage()
	c.serving.Know(bind.Tools)
	return c, nil
}

// ensure returns the agent's program with the session open in it, and starts it if it does not
// run.
func (c *conversation) ensure(ctx context.Context, waits waiting) (*peer, error) {
	c.mu.Lock()
	p := c.peer
	c.mu.Unlock()
	if p != nil && p.alive() && !c.renewed(ctx, p) {
		return p, nil
	}
	if p != nil {
		<-p.gone
	}
	if err := c.lock.Take(ctx, c.bind.Meta); err != nil {
		return nil, err
	}
	p, err := launch.Begin(ctx, c.b.attempts, c.b.o.Name, c.bind.Meta, waits,
		func() (*peer, error) { return c.b.program(ctx, c, waits) },
		func(p *peer) error { return c.openOn(ctx, p) })
	wants := errors.As(err, new(*core.SignInError))
	if ctx.Err() == nil && (wants || err == nil) {
		c.b.note(ctx, wants)
	}
	return p, err
}

// take is ensure for a turn: the program does not make room for others until it is given back.
func (c *conversation) take(ctx context.Context, waits waiting) (*peer, error) {
	for {
		p, err := c.ensure(ctx, waits)
		if err != nil || p.take() {
			return p, err
		}
	}
}

// openOn opens the session in a program that runs, and ends one that nobody else uses if that
// fails.
func (c *conversation) openOn(ctx context.Context, p *peer) error {
	c.mu.Lock()
	c.peer, c.opening = p, true
	c.mu.Unlock()
	err := c.lock.Under(p.guard)
	if err == nil {
		err = c.openSession(ctx, p)
	}
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
	if p.leave(c) {
		p.end(errUnused)
	}
	return err
}

// lost says that the program has ended. It runs behind the reading goroutine.
func (c *conversation) lost(p *peer) {
	c.flow.end()
	c.serving.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer == p {
		c.peer = nil
	}
}

// Set implements core.Conversation: the settings apply from the next turn on. Only what was chosen
// since the last time counts: the agent may have changed the other options by itself.
func (c *conversation) Set(ctx context.Context, set core.Settings) error {
	c.mu.Lock()
	was, now := c.chosen.All(), set.Choices.All()
	maps.DeleteFunc(now, func(id, value string) bool { return was[id] == value })
	for id := range now {
		delete(c.moved, id)
	}
	c.chosen = set.Choices
	p := c.peer
	c.mu.Unlock()
	if p != nil && p.alive() {
		c.applyChoices(ctx, p, now)
	}
	return nil
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
	return !c.busy() && p.hello.reloads() && idle > 0 && c.b.o.Time().Sub(used) >= idle
}

// busy reports whether anything goes on, besides a turn that was prompted: a question, a command, a
// turn of the agent's own.
func (c *conversation) busy() bool {
	c.mu.Lock()
	busy := c.open > 0 || c.answered != nil || c.opening
	c.mu.Unlock()
	t := c.stage.Current()
	return busy || c.terminals.Busy() || t != nil && t.Begun() && t.State().Turn == t.ID()
}

// waits counts the requests of the agent that wait for an answer.
func (c *conversation) waits(n int) {
	c.mu.Lock()
	c.open += n
	c.used = c.b.o.Time()
	c.mu.Unlock()
}

// Close implements core.Conversation.
func (c *conversation) Close(ctx context.Context) error {
	if !c.stage.Close() {
		return nil
	}
	c.mu.Lock()
	p, session := c.peer, c.session
	c.mu.Unlock()
	c.terminals.Close()
	if p != nil {
		if p.alive() && c.b.o.Shared && bool(p.hello.Caps.Session.Close) {
			limit, cancel := context.WithTimeout(ctx, time.Second)
			_ = p.conn.Ask(limit, "session/close", acp.SessionID{SessionID: session}, nil) // it may have been closed already
			cancel()
		}
		if p.leave(c) {
			p.end(errUnused)
		}
	}
	c.after.Wait()
	c.endSubagents()
	c.serving.Close()
	err := c.places.Close()
	c.mu.Lock()
	dir := c.spooled
	c.mu.Unlock()
	if dir != "" {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	c.release()
	return errors.Join(err, c.lock.Release())
}

// program returns the program of the agent; nil: it does not run.
func (c *conversation) program() *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer
}

// failure words an error with which the agent answered a request.
func (b *Backend) failure(method string, err error) error {
	var e *jrpc2.Error
	if errors.As(err, &e) && int(e.Code) == acp.CodeAuthRequired {
		var data acp.AuthRequired
		_ = json.Unmarshal(e.Data, &data) // another form has no details
		return &core.SignInError{Agent: b.o.Name, Text: strings.Trim(e.Message+": "+data.Details, ": ")}
	}
	return words(method, err)
}

// words returns an error with which an agent answered a request, in its words.
func words(method string, err error) error {
	var e *jrpc2.Error
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s: %s (error %d)", method, refusal(e).Words(), e.Code)
}

func refusal(e *jrpc2.Error) acp.Refusal {
	return acp.Refusal{Code: int(e.Code), Message: e.Message, Data: e.Data}
}
