package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/child"
)

// Relay hands one server on to clients, message by message and session to session:
// each connection of a client has one of its own to the server, and what both say
// passes as it was written, whatever version they speak. Nothing is renamed.
type Relay struct {
	filter
	// from makes the connection, where the server is one of this process; nil: it is
	// started, or called.
	from func(p core.Principal, dir string, shared bool) *link
}

// Relay returns the relay to a configured server; false: there is none of that
// name, or it is disabled. check is asked before each tools/call, whose error refuses
// it, or has the client's user asked (AskFirst); nil: no rule refuses anything.
func (b *Box) Relay(name string, check func(tool string, args json.RawMessage) error) (*Relay, bool) {
	s, ok := b.find(name)
	if !ok || s.Disabled {
		return nil, false
	}
	return &Relay{filter: filter{box: b, server: s, check: check}}, true
}

// Current reports whether the configuration still has the server as it was.
func (r *Relay) Current() bool { return r.box.configured(r.server) }

// drainFor is how long a server may still answer when the client has sent its last.
const drainFor = 5 * time.Second

// dial makes a connection to the server in the folder dir, for a principal. shared:
// it is for all requests of 2026-07-28.
func (r *Relay) dial(ctx context.Context, p core.Principal, dir string, shared bool) (*link, Endpoint, error) {
	if r.from != nil {
		return r.from(p, dir, shared), Endpoint{}, nil
	}
	e, err := r.server.Endpoint(ctx)
	if err != nil {
		return nil, e, err
	}
	if e.Dir == "" {
		e.Dir = dir
	}
	guard := &child.Guard{}
	d := r.box.dialer(r.server, guard)
	d.whole = true
	l, err := d.dial(e)
	if err != nil {
		guard.Close()
		return nil, e, err
	}
	end := l.close
	l.close = func() {
		end()
		guard.Close()
	}
	return l, e, nil
}

// Serve relays one client that speaks over a pipe, whose server is started in dir.
// It blocks until the client or the server leaves, or ctx ends, and closes both.
func (r *Relay) Serve(ctx context.Context, dir string, in io.ReadCloser, out io.WriteCloser) error {
	l, _, err := r.dial(ctx, core.Local, dir, false)
	if err != nil {
		in.Close()
		out.Close()
		return err
	}
	c := newRelayed(r, core.Local, l, out)
	pumps, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	reading, halt := context.WithCancel(pumps)
	defer halt()
	down, up := make(chan struct{}), make(chan struct{})
	go func() { // both end when their streams do, and are waited for
		defer close(up)
		c.fromServer(reading)
	}()
	go func() {
		defer close(down)
		c.fromClient(pumps, wire.Lines(in, maxMessage))
	}()
	written := c.run(pumps)
	early := false // the server has left before the last answer
	select {
	case <-down:
		c.up.Close()
		drain := time.NewTimer(drainFor)
		defer drain.Stop()
		select {
		case <-up:
			early = c.waits() // the client may still read
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
	c.up.Close()
	l.close()
	halt() // a client that does not read keeps nobody
	<-up
	if err != nil {
		err = fmt.Errorf("the MCP server %s: %s", r.server.Name, l.why())
	}
	why := err
	if early {
		why = fmt.Errorf("the MCP server %s: %s", r.server.Name, l.why())
	}
	c.lost(why)
	<-down
	c.lost(why) // what came meanwhile
	stop()
	<-written
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
