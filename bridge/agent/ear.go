package agent

import (
	"context"
	"encoding/json"
	"net/url"
	"sync"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/core/display"
)

// ear passes on what a program says while somebody signs in: the lines of its standard error, and
// pages that it wants opened without naming a session. The zero value has no listener.
type ear struct {
	mu   sync.Mutex // guards the field below
	list []*Listener
}

// listen adds a listener, until leave is called; nil: none.
func (e *ear) listen(hear Listener) (leave func()) {
	if hear == nil {
		return func() {}
	}
	l := &hear
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, l)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for i, other := range e.list {
			if other == l {
				e.list = append(e.list[:i:i], e.list[i+1:]...)
				return
			}
		}
	}
}

// listeners returns the listeners of the moment.
func (e *ear) listeners() []*Listener {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list
}

// hear tells the listeners, and reports whether one of them has shown it.
func (e *ear) hear(ctx context.Context, s Saying) (shown bool) {
	for _, l := range e.listeners() {
		shown = (*l)(ctx, s) || shown
	}
	return shown
}

// page answers an elicitation/create that is about no session. Only a page is possible, because a
// login asks for nothing that we should see.
func (e *ear) page(ctx context.Context, params json.RawMessage) (any, error) {
	var q struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
	}
	if err := wire.Unmarshal(params, &q); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: %v", elicitMethod, err)
	}
	if q.Mode != "url" || !isPage(q.URL) || !e.hear(ctx, Saying{Text: display.Seen(q.Message), URL: q.URL}) {
		return elicitation{Action: decline}, nil
	}
	return elicitation{Action: accept}, nil
}

// isPage reports whether an address is one that a browser may be sent to.
func isPage(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
