package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/brief"
	"dragoman/core"
)

// openSession opens the session in the agent: the one that it had before, a copy of another one,
// or a new one.
func (c *conversation) openSession(ctx context.Context, p *peer) error {
	limit, opening := c.b.limits.open, ctx
	ctx, cancel := context.WithTimeoutCause(opening, limit, fmt.Errorf("the agent did not open the session within %v", limit))
	defer cancel()
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	from := c.bind.Meta.From
	var err error
	switch {
	case session != "":
		err = c.reopen(ctx, p, session)
	case c.bind.Fork != nil && bool(p.hello.Caps.Session.Fork):
		err = c.fork(ctx, p)
	case from.Session != "" && from.Agent == c.b.o.Name:
		err = c.importSession(ctx, p, from.Session)
	default:
		err = c.newSession(ctx, p)
	}
	if err != nil {
		return err
	}
	c.applyChoices(opening, p, c.wanted())
	c.offer(opening)
	c.b.relist(p)
	return nil
}

// opened is an agent's answer to a request that opens a session.
type opened struct {
	SessionID     string          `json:"sessionId"`
	Modes         *acp.ModeState  `json:"modes"`
	Models        *acp.ModelState `json:"models"`
	ConfigOptions []configOption  `json:"configOptions"`
}

// request sends a request that opens a session. id is the agent's id; "": the answer has it, and
// updates that come before it belong to the session.
func (c *conversation) request(ctx context.Context, p *peer, method, id string, params map[string]any) error {
	params["cwd"] = c.b.paths.There(c.bind.Meta.Cwd)
	servers, left, err := c.servers(p)
	if err != nil {
		return err
	}
	params["mcpServers"] = servers
	if more := c.bind.Meta.Roots; len(more) > 1 && bool(p.hello.Caps.Session.AdditionalDirectories) {
		dirs := make([]string, 0, len(more))
		for _, dir := range more {
			if dir != c.bind.Meta.Cwd {
				dirs = append(dirs, c.b.paths.There(dir))
			}
		}
		params["additionalDirectories"] = dirs
	}
	if id != "" {
		params["sessionId"] = id
		p.join(id, route{c: c})
	} else if err := p.expect(ctx, c); err != nil {
		return err
	}
	got := make(chan error, 1)
	ask, err := p.conn.Start(method, params, func(raw json.RawMessage, err error) {
		got <- c.settled(p, id, raw, err)
	})
	if err == nil {
		select {
		case err = <-got:
		case <-ctx.Done():
			ask.Withdraw()
			err = context.Cause(ctx)
		}
	}
	p.expected(c)
	if err != nil {
		return c.b.failure(method, err)
	}
	for _, text := range left {
		c.notice(core.Warning, text)
	}
	return nil
}

// servers returns the MCP servers for the agent: one of ours with the tools of all servers of the
// session, or those that the clients bring along. left describes those that the agent cannot take.
func (c *conversation) servers(p *peer) (list []mcpServer, left []string, err error) {
	takes := p.hello.Caps.MCPCapabilities
	if c.b.o.Direct {
		list, left = directServers(c.bind.Servers, takes)
		return list, left, nil
	}
	if c.b.o.Tools == nil {
		return []mcpServer{}, nil, nil
	}
	if len(c.b.o.Paths) > 0 { // neither an address of this machine nor our program is there
		if c.serving.Has() {
			left = []string{"it is not given the tools of the session's MCP servers, because it runs elsewhere (paths)"}
		}
		return []mcpServer{}, left, nil
	}
	ours, err := c.serving.offer(c.b.o.Tools, c.bind.Servers, takes.HTTP && (!p.proxied || p.tools != ""), p.tools)
	if err != nil {
		return nil, nil, err
	}
	return []mcpServer{ours}, nil, nil
}

// owns reports whether an agent's call is one of a tool of our server, which the log has by itself.
// known are names that it had before. Our tools show no change and no place of their own.
func (c *conversation) owns(r rawCall, known ...string) bool {
	if c.parent != nil {
		return c.parent.owns(r, known...)
	}
	return !r.changes() && len(r.Locations) == 0 && c.serving.owns(r.Kind, r.RawInput, append(r.names(), known...)...)
}

// settled takes the answer to a request that opens a session, on the reading goroutine: what
// comes behind it in the stream already belongs to the session.
func (c *conversation) settled(p *peer, id string, raw json.RawMessage, err error) error {
	if err != nil {
		return err
	}
	var is opened
	if err := wire.Unmarshal(raw, &is); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	if id == "" {
		if id = is.SessionID; id == "" {
			return errors.New("the answer has no sessionId")
		}
		p.join(id, route{c: c})
	}
	c.mu.Lock()
	c.session = id
	c.mu.Unlock()
	c.flow.pause() // what was repeated is over
	c.setImport(nil)
	c.flow.options(is)
	return nil
}

// expect waits until no other session without an id is being made in the program.
func (p *peer) expect(ctx context.Context, c *conversation) error {
	select {
	case p.making <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.Lock()
	p.opening = c
	p.mu.Unlock()
	return nil
}

func (p *peer) expected(c *conversation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opening == c {
		p.opening = nil
		<-p.making
	}
}

// newSession makes a session.
func (c *conversation) newSession(ctx context.Context, p *peer) error {
	c.renew()
	err := c.request(ctx, p, "session/new", "", map[string]any{})
	if err != nil && c.b.retried(ctx, p, err) {
		err = c.request(ctx, p, "session/new", "", map[string]any{})
	}
	if err != nil {
		return err
	}
	return c.bindTo(ctx)
}

// renew notes that the agent's session knows nothing of what was said.
func (c *conversation) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard, c.briefed = brief.Nothing, false
}

// reopen continues a session of the agent in another process of it. An agent that cannot, or that
// has lost the session, gets a new one, and is told what was said.
func (c *conversation) reopen(ctx context.Context, p *peer, session string) error {
	method := "session/resume"
	switch {
	case bool(p.hello.Caps.Session.Resume):
	case p.hello.Caps.LoadSession:
		method = "session/load" // it repeats what the log has
	default:
		return c.again(ctx, p)
	}
	c.stage.Mute(true)
	err := c.request(ctx, p, method, session, map[string]any{})
	if err != nil && c.b.retried(ctx, p, err) {
		err = c.request(ctx, p, method, session, map[string]any{})
	}
	c.stage.Mute(false)
	var signIn *core.SignInError
	if err == nil || ctx.Err() != nil || errors.As(err, &signIn) || errors.Is(err, wire.ErrClosed) {
		return err
	}
	p.forget(session)
	c.mu.Lock()
	fresh := c.heard == brief.Nothing
	c.mu.Unlock()
	if !fresh {
		c.notice(core.Warning, "The agent could not continue its session, so it got a new one with a summary of what was said: "+err.Error())
	}
	return c.again(ctx, p)
}

// again makes a new session of the agent for one that already has a history.
func (c *conversation) again(ctx context.Context, p *peer) error {
	c.mu.Lock()
	c.session = ""
	c.mu.Unlock()
	return c.newSession(ctx, p)
}

// forget takes a session off the routes.
func (p *peer) forget(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.talks, session)
}

// fork makes a copy of the session that this one was copied from.
func (c *conversation) fork(ctx context.Context, p *peer) error {
	var of bound
	if err := json.Unmarshal(c.bind.Fork, &of); err != nil || of.Session == "" {
		return fmt.Errorf("fork: the original has no session of agent %s", c.b.o.Name)
	}
	params := map[string]any{"sessionId": of.Session}
	if err := c.request(ctx, p, "session/fork", "", params); err != nil {
		return err
	}
	if of.Fresh {
		c.renew()
	}
	return c.bindTo(ctx)
}

// bindTo has the log keep the agent's id of the session.
func (c *conversation) bindTo(ctx context.Context) error {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if c.b.o.History != nil {
		c.after.Go(func() { // only Close waits for the disk
			if err := c.b.o.History.Own(context.Background(), c.b.o.Name, session, c.bind.Meta.ID); err != nil {
				c.b.log("warn", "note a session of the agent: "+err.Error()) // it may be listed twice
			}
		})
	}
	return c.keep(ctx)
}

// keep has the log keep what finds the session again.
func (c *conversation) keep(ctx context.Context) error {
	c.mu.Lock()
	is, heard := bound{Session: c.session, Briefed: c.briefed}, c.heard
	c.mu.Unlock()
	state, err := json.Marshal(is)
	if err != nil {
		return err
	}
	return c.bind.Host.Publish(ctx, core.Bound{Agent: c.b.o.Name, State: state, Heard: heard})
}
