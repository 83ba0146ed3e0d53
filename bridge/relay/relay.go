package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/child"
)

// Server passes one server on to clients, message by message and session to session: each client
// has a connection of its own to the server, and messages pass as they were written, whatever
// the version.
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

// advice is for the user of a server that cannot be started.
const advice = "run `dragoman mcp-servers list` to see whether it starts, then connect the client again"

// Serve relays one client of p's that speaks over a pipe, whose server is started in dir, and
// again when it ends. It blocks until the client leaves, the server has ended for good, or ctx
// ends, and closes both.
func (r *Server) Serve(
	ctx context.Context, p core.Principal, dir string, in io.ReadCloser, out io.WriteCloser,
) error {
	first, err := r.dial(ctx, dir)
	if err != nil {
		in.Close()
		out.Close()
		return fmt.Errorf("the MCP server %s cannot be started: %w; %s", r.export.Server.Name, err, advice)
	}
	c := newPipeSession(r, p, dir, out)
	defer c.patience.close()
	c.first = first
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	keeping, end := context.WithCancelCause(writing)
	defer end(nil)
	c.end = end
	var kept sync.WaitGroup // of what ends with keeping
	kept.Go(func() { r.export.Keep(keeping, c.keeper) })
	kept.Go(func() { c.releaseHeld(keeping) })
	_, _ = c.keeper.Acquire(keeping, false) // one that has ended already is noticed below
	left, written := make(chan struct{}), make(chan struct{})
	go func() { // it is waited for
		defer close(left)
		c.fromClient(keeping, wire.Lines(in, upstream.MaxMessage))
	}()
	go func() { // likewise
		defer close(written)
		_ = c.down.Run(writing) // the reading end notices
	}()
	select {
	case <-left:
		c.drain(ctx, keeping)
	case <-keeping.Done():
	case <-ctx.Done():
	}
	in.Close()
	err = context.Cause(keeping) // why the server has ended; nil: it has not
	end(wire.ErrClosed)
	kept.Wait()
	c.close(err)
	<-left
	c.close(err) // requests that came meanwhile
	c.down.Drain(ctx)
	stop()
	<-written
	if _, after := errors.AsType[*leftError](err); after {
		err = nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// drain waits a while for the server's answers after the client has left.
func (c *pipeSession) drain(ctx, keeping context.Context) {
	if s := c.current(); s != nil {
		s.out.Close()
	}
	limit := time.NewTimer(upstream.DrainFor)
	defer limit.Stop()
	select {
	case <-keeping.Done(): // the client may still read
	case <-c.idle:
	case <-limit.C:
	case <-ctx.Done():
	}
}
