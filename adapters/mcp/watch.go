package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/core"
)

// watches follow the logs of the sessions to whose resources clients have subscribed, one
// goroutine for each session.
type watches struct {
	host *host
	wg   sync.WaitGroup

	mu   sync.Mutex // guards the field below
	open map[core.SessionID]*watch
}

// watch is one followed session. watches.mu guards it.
type watch struct {
	uris map[string]int // the number of subscriptions to each
	stop context.CancelFunc
}

// subscribe records a subscription to a resource (Server, Resources, Subscriptions; at 2026-07-28
// subscriptions/listen). A resource that does not exist cannot be subscribed to.
func (h *host) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	uri := req.Params.URI
	c := h.client(req)
	p, ofSession := parseResource(uri)
	if !ofSession {
		switch uri {
		case sessionsURI, serversURI, toolsURI:
			return nil
		}
		if o := h.server.opts.Subscribe; o != nil && o(uri) {
			return nil
		}
		return mcp.ResourceNotFoundError(uri)
	}
	s, err := c.open(ctx, req, p.session)
	if errors.Is(err, core.ErrNotFound) {
		return mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%p %s", req.Session, uri)
	c.mu.Lock()
	again, left := c.watched[key], c.left
	if c.watched == nil {
		c.watched = map[string]bool{}
	}
	c.watched[key] = true
	c.mu.Unlock()
	if again || left {
		return nil
	}
	h.watches.add(s.a, uri)
	return nil
}

// unsubscribe ends a subscription; a missing one is not an error.
func (h *host) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	c := h.client(req)
	key := fmt.Sprintf("%p %s", req.Session, req.Params.URI)
	c.mu.Lock()
	known := c.watched[key]
	delete(c.watched, key)
	c.mu.Unlock()
	if known {
		h.watches.drop(req.Params.URI)
	}
	return nil
}

// add follows a session for one of its resources.
func (w *watches) add(to *core.Attachment, uri string) {
	id := to.Meta().ID
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[core.SessionID]*watch{}
	}
	if have := w.open[id]; have != nil {
		have.uris[uri]++
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	made := &watch{uris: map[string]int{uri: 1}, stop: stop}
	w.open[id] = made
	w.wg.Go(func() {
		defer stop()
		w.follow(ctx, to, made)
		w.mu.Lock()
		if w.open[id] == made {
			delete(w.open, id)
		}
		w.mu.Unlock()
	})
}

// drop ends one subscription.
func (w *watches) drop(uri string) {
	p, ok := parseResource(uri)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	have := w.open[p.session]
	if have == nil {
		return
	}
	if have.uris[uri]--; have.uris[uri] <= 0 {
		delete(have.uris, uri)
	}
	if len(have.uris) == 0 {
		delete(w.open, p.session)
		have.stop()
	}
}

// close ends all of them.
func (w *watches) close() {
	w.mu.Lock()
	for _, have := range w.open {
		have.stop()
	}
	w.mu.Unlock()
	w.wg.Wait()
}

// follow announces a session's changes until ctx ends or the session is closed, at most once each
// tellEvery.
func (w *watches) follow(ctx context.Context, to *core.Attachment, of *watch) {
	a := to.Attach(core.Client{Name: "a subscription over MCP", Principal: w.host.of.Principal, Role: core.Observe})
	defer a.Close()
	for from := a.Head(); ; {
		if changes(ctx, a, from) != nil || !pause(ctx, notifyAfter) {
			return
		}
		from = a.Head()
		w.mu.Lock()
		uris := make([]string, 0, len(of.uris))
		for uri := range of.uris {
			uris = append(uris, uri)
		}
		w.mu.Unlock()
		for _, uri := range uris {
			w.host.updated(ctx, uri)
		}
		if !pause(ctx, notifyEvery-notifyAfter) {
			return
		}
	}
}

// changes blocks until there is a lasting record after a position.
func changes(ctx context.Context, a *core.Attachment, from core.Pos) error {
	r := a.Read(from)
	defer r.Close()
	for !from.Before(r.Pos()) {
		if _, err := r.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}
