package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/child"
)

// Server hands one server on to clients, message by message and session to session:
// each connection of a client has one of its own to the server, and what both say
// passes as it was written, whatever version they speak. Nothing is renamed.
type Server struct {
	export *upstream.Export
	// connect makes a connection in the folder dir; nil: as the configuration has the server.
	connect func(dir string) *upstream.Link
}

// New returns the relay to a configured server; false: there is none of that name,
// or it is disabled. A nil check refuses nothing.
func New(b *upstream.Box, name string, check upstream.Check) (*Server, bool) {
	e, ok := b.Export(name, check)
	return &Server{export: e}, ok
}

// Current reports whether the configuration still has the server as it was.
func (r *Server) Current() bool { return r.export.Current() }

// dial makes a connection to the server in the folder dir.
func (r *Server) dial(ctx context.Context, dir string) (*upstream.Link, error) {
	if r.connect != nil {
		return r.connect(dir), nil
	}
	e, err := r.export.Server.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	e = e.In(dir)
	guard := &child.Guard{}
	l, err := r.export.DialVerbatim(e, guard)
	if err != nil {
		guard.Close()
		return nil, err
	}
	end := l.Close
	l.Close = func() {
		end()
		guard.Close()
	}
	return l, nil
}

// Serve relays one client of p's that speaks over a pipe, whose server is started in dir.
// It blocks until the client or the server leaves, or ctx ends, and closes both.
func (r *Server) Serve(ctx context.Context, p core.Principal, dir string, in io.ReadCloser, out io.WriteCloser) error {
	l, err := r.dial(ctx, dir)
	if err != nil {
		in.Close()
		out.Close()
		return err
	}
	c := newRelayed(r, p, l, out)
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
		c.fromClient(pumps, wire.Lines(in, upstream.MaxMessage))
	}()
	written := c.run(pumps)
	unanswered := false // the server has left before the last answer
	select {
	case <-down:
		c.up.Close()
		drain := time.NewTimer(upstream.DrainFor)
		defer drain.Stop()
		select {
		case <-up:
			unanswered = c.waits() // the client may still read
		case <-c.idle:
		case <-drain.C:
		case <-ctx.Done():
		}
	case <-up:
		err = errors.New("it has ended") // why is known when the link is closed
	case <-ctx.Done():
	}
	in.Close()
	l.In.Close()
	c.up.Close()
	l.Close()
	defer c.patience.close()
	halt() // a client that does not read keeps nobody
	<-up
	if err != nil {
		err = fmt.Errorf("the MCP server %s: %s", r.export.Server.Name, l.Why())
	}
	why := err
	if unanswered {
		why = fmt.Errorf("the MCP server %s: %s", r.export.Server.Name, l.Why())
	}
	c.lost(why)
	<-down
	c.lost(why) // what came meanwhile
	c.down.Drain(ctx)
	stop()
	<-written
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
