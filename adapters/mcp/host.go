package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core/access"
)

// host serves the clients of one holder: it holds the SDK's server with the tools, prompts and
// resources. Over a pipe it has one client.
type host struct {
	server  *Server
	of      access.Holder
	sdk     *mcp.Server
	tools   func()                    // adds the tools to sdk, once
	client  func(mcp.Request) *client // returns the sender; quick
	watches watches
	gone    chan struct{} // closed when the host serves no more clients
	wg      sync.WaitGroup
}

// newHost returns a host. client returns the sender of a request. Call close when the last
// connection has ended.
func (s *Server) newHost(of access.Holder, client func(mcp.Request) *client) *host {
	h := &host{server: s, of: of, client: client, gone: make(chan struct{})}
	h.watches.host = h
	h.sdk = h.newSDK()
	return h
}

// leave ends waiting calls and watches. Turns continue.
func (h *host) leave() { close(h.gone) }

// close waits for everything that the host has started, after leave.
func (h *host) close() {
	h.watches.close()
	h.wg.Wait()
}

// until returns a context that also ends when a channel is closed; stop releases it.
func until(ctx context.Context, gone <-chan struct{}, cause error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-gone:
			cancel(cause)
		case <-over:
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		close(over)
		wg.Wait()
		cancel(nil)
	}
}
