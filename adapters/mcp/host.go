package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
)

// host serves the clients of one principal: it holds the SDK's server with the tools, prompts and
// resources. Over a pipe it has one client.
type host struct {
	server    *Server
	principal core.Principal
	sdk       *mcp.Server
	client    func(mcp.Request) *client // who asks; quick
	watches   watches
	gone      chan struct{} // closed when nobody is served any more
	wg        sync.WaitGroup
}

// newHost makes a host. client tells who has sent a request. Call close when the last connection has ended.
func (s *Server) newHost(p core.Principal, client func(mcp.Request) *client) *host {
	h := &host{server: s, principal: p, client: client, gone: make(chan struct{})}
	h.watches.host = h
	h.sdk = h.newSDK()
	return h
}

// leave ends what waits: calls, and whatever is watched. Turns go on.
func (h *host) leave() { close(h.gone) }

// close waits for what the host has started. leave was called before.
func (h *host) close() {
	h.watches.close()
	h.wg.Wait()
}

// until returns a context that also ends when a channel is closed; stop gives it back.
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
