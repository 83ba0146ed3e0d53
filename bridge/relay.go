package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
)

// Relay hands one server on to clients, message by message and session to session:
// each connection of a client has one of its own to the server, and what both say
// passes as it was written, whatever version they speak. Nothing is renamed.
type Relay struct {
	box    *Box
	server Server
	check  func(tool string, args json.RawMessage) error
}

// Relay returns the relay to a configured server; false: there is none of that
// name, or it is disabled. check is asked before each tools/call, whose error refuses
// it; nil: nothing is refused beyond what the server's own lists take out.
func (b *Box) Relay(name string, check func(tool string, args json.RawMessage) error) (*Relay, bool) {
	s, ok := b.find(name)
	if !ok || s.Disabled {
		return nil, false
	}
	return &Relay{box: b, server: s, check: check}, true
}

// Current reports whether the configuration still has the server as it was.
func (r *Relay) Current() bool { return r.box.configured(r.server) }

// drainFor is how long a server may still answer when the client has sent its last.
const drainFor = 5 * time.Second

// dial makes a connection to the server in the folder dir.
func (r *Relay) dial(ctx context.Context, dir string) (*link, Endpoint, error) {
	e, err := r.server.Endpoint(ctx)
	if err != nil {
		return nil, e, err
	}
	if e.Dir == "" {
		e.Dir = dir
	}
	d := r.box.dialer(r.server)
	d.whole = true
	l, err := d.dial(e)
	return l, e, err
}

// Serve relays one client that speaks over a pipe, whose server is started in dir.
// It blocks until the client or the server leaves, or ctx ends, and closes both.
func (r *Relay) Serve(ctx context.Context, dir string, in io.ReadCloser, out io.WriteCloser) error {
	l, _, err := r.dial(ctx, dir)
	if err != nil {
		in.Close()
		out.Close()
		return err
	}
	c := &relayed{relay: r, link: l, out: out, open: map[string]opened{}, idle: make(chan struct{})}
	down, up := make(chan struct{}), make(chan struct{})
	go func() { // both end when their streams do, and are waited for
		defer close(up)
		c.fromServer()
	}()
	go func() {
		defer close(down)
		c.fromClient(wire.Lines(in, maxMessage))
	}()
	select {
	case <-down:
		l.out.Close()
		drain := time.NewTimer(drainFor)
		defer drain.Stop()
		select {
		case <-up:
		case <-c.idle:
		case <-drain.C:
		case <-ctx.Done():
		}
	case <-up:
		err = errors.New("it has ended") // why is known when the link is closed
	case <-ctx.Done():
	}
	in.Close()
	l.in.Close()
	l.close()
	<-up
	if err != nil {
		err = fmt.Errorf("the MCP server %s: %s", r.server.Name, l.why())
		c.lost(err)
	}
	out.Close()
	<-down
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// opened is a request of the client's that is not answered.
type opened struct {
	id     json.RawMessage
	method string
}

// relayed is one client over a pipe.
type relayed struct {
	relay *Relay
	link  *link
	idle  chan struct{} // closed when the client has sent its last and nothing is open

	put sync.Mutex // held while something is written to the client
	out io.Writer

	mu   sync.Mutex // guards the fields below
	open map[string]opened
	last bool
}

// fromClient hands on what the client says.
func (c *relayed) fromClient(frames wire.Framer) {
	defer c.settle(nil)
	for {
		line, err := frames.Next()
		var fault *wire.FrameError
		if errors.As(err, &fault) {
			c.reply(wire.AppendAnswer(nil, nil, nil, jrpc2.Errorf(jrpc2.ParseError, "%s", fault.Msg)))
			continue
		}
		if err != nil {
			return
		}
		m, err := wire.Parse(line)
		switch {
		case line[0] == '[' && json.Valid(line): // a batch of 2025-03-26
			if err := c.relay.batch(line); err != nil {
				c.reply(wire.AppendAnswer(nil, nil, nil, err))
				continue
			}
		case err != nil && m.Kind() != wire.Response:
			c.reply(wire.AppendAnswer(nil, m.ID, nil, err))
			continue
		case err != nil:
			continue
		case m.Kind() == wire.Request:
			if err := c.relay.permits(m); err != nil {
				c.reply(wire.AppendAnswer(nil, m.ID, nil, err))
				continue
			}
			c.mu.Lock()
			c.open[string(m.ID)] = opened{m.ID, m.Method}
			c.mu.Unlock()
		}
		if _, err := c.link.out.Write(append(line, '\n')); err != nil {
			return
		}
	}
}

// fromServer hands on what the server says.
func (c *relayed) fromServer() {
	frames := wire.Lines(c.link.in, maxMessage)
	for {
		line, err := frames.Next()
		var fault *wire.FrameError
		if errors.As(err, &fault) {
			continue
		}
		if err != nil {
			return
		}
		m, err := wire.Parse(line)
		if err == nil && m.Kind() == wire.Response {
			c.mu.Lock()
			o := c.open[string(m.ID)]
			c.mu.Unlock()
			switch o.method {
			case "initialize":
				var res struct {
					Version json.RawMessage `json:"protocolVersion"`
				}
				var version string
				if json.Unmarshal(m.Result, &res) == nil && json.Unmarshal(res.Version, &version) == nil {
					c.link.settled(version)
				}
			case "tools/list":
				line = c.relay.filtered(line, m)
			}
		}
		c.reply(line)
		if err == nil && m.Kind() == wire.Response {
			c.settle(m.ID)
		}
	}
}

// settle notes that a request is answered, or with nil that no more will come.
func (c *relayed) settle(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.last && len(c.open) == 0
	if id == nil {
		c.last = true
	} else {
		delete(c.open, string(id))
	}
	if !was && c.last && len(c.open) == 0 {
		close(c.idle)
	}
}

// lost answers what the server did not.
func (c *relayed) lost(err error) {
	c.mu.Lock()
	open := c.open
	c.open = map[string]opened{}
	c.mu.Unlock()
	for _, o := range open {
		c.reply(wire.AppendAnswer(nil, o.id, nil, jrpc2.Errorf(jrpc2.InternalError, "%v", err)))
	}
}

// reply writes a line to the client. When it has left there is nobody to tell.
func (c *relayed) reply(line []byte) {
	c.put.Lock()
	defer c.put.Unlock()
	_, _ = c.out.Write(append(line, '\n'))
}

// permits refuses calls that the server's lists or the user's rules take out.
func (r *Relay) permits(m wire.Message) error {
	if m.Method != "tools/call" {
		return nil
	}
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	if err := wire.Unmarshal(m.Params, &p); err != nil {
		return jrpc2.Errorf(jrpc2.InvalidParams, "tools/call: %v", err)
	}
	if !r.server.offers(p.Name) {
		return jrpc2.Errorf(jrpc2.InvalidParams, "there is no tool %.100q", p.Name)
	}
	if r.check == nil {
		return nil
	}
	if err := r.check(p.Name, p.Args); err != nil {
		r.box.opts.Log(r.server.Name, "warn", fmt.Sprintf("a call of %.100q was refused: %v", p.Name, err))
		return jrpc2.Errorf(jrpc2.InvalidRequest, "%v", err)
	}
	return nil
}

// batch refuses a batch for one call in it.
func (r *Relay) batch(line []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(line, &list); err != nil {
		return jrpc2.Errorf(jrpc2.ParseError, "not valid JSON")
	}
	for _, item := range list {
		m, err := wire.Parse(item)
		if err == nil {
			err = r.permits(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// filtered takes out of a list what is not offered. Where nothing is taken out the
// list passes as it was written.
func (r *Relay) filtered(line []byte, m wire.Message) []byte {
	if len(r.server.Allow)+len(r.server.Deny) == 0 || m.Result == nil {
		return line
	}
	var result map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(m.Result, &result) != nil || json.Unmarshal(result["tools"], &tools) != nil {
		return line
	}
	kept := []json.RawMessage{}
	for _, item := range tools {
		var t struct {
			Name string `json:"name"`
		}
		if wire.Unmarshal(item, &t) == nil && r.server.offers(t.Name) {
			kept = append(kept, item)
		}
	}
	if len(kept) == len(tools) {
		return line
	}
	result["tools"] = raw(kept)
	return wire.AppendAnswer(nil, m.ID, raw(result), nil)
}
