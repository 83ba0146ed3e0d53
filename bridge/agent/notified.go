package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// notified takes a notification that is no update, on the reading goroutine. Nothing that it says ends a
// session. Those of protocols of the agent's own are passed on to clients of their session.
func (p *peer) notified(method string, params json.RawMessage) {
	var q struct {
		SessionID     string `json:"sessionId"`
		ElicitationID string `json:"elicitationId"`
		acp.AuthStatus
	}
	if len(params) == 0 || wire.Unmarshal(params, &q) != nil {
		return
	}
	switch {
	case strings.TrimPrefix(method, "_") == acp.AuthChanged:
		p.signInChanged(q.AuthStatus)
	case method == "elicitation/complete":
		p.mu.Lock()
		seen := p.pages[q.ElicitationID]
		p.mu.Unlock()
		if seen != nil {
			seen()
		}
	case strings.HasPrefix(method, "_"):
		p.mu.Lock()
		r := p.talks[q.SessionID]
		p.mu.Unlock()
		if r.c != nil && r.sub == nil && r.c.imports() == nil {
			r.c.flow.passOn(method, params)
		}
	}
}

// passOn passes a notification on to the clients of the session.
func (f *flow) passOn(method string, params json.RawMessage) {
	if len(params) > maxForeign {
		f.emitApart(core.Notice{
			Severity: core.Warning,
			Text:     fmt.Sprintf("A notification of agent %s (%.60s) was dropped: it has %d bytes, and at most %d are passed on.", f.c.b.o.Name, method, len(params), maxForeign),
		})
		return
	}
	f.emitApart(core.Foreign{Protocol: acp.Protocol, Method: method, Raw: append(json.RawMessage{}, params...)})
}

// signInChanged takes what the agent says by itself about its login. Clients of its sessions may ask again.
func (p *peer) signInChanged(is acp.AuthStatus) {
	var talks []*conversation
	p.mu.Lock()
	p.status = &is
	for _, r := range p.talks {
		if r.sub == nil {
			talks = append(talks, r.c)
		}
	}
	p.mu.Unlock()
	for _, c := range talks {
		c.flow.emitApart(core.Foreign{Protocol: acp.Protocol, Method: acp.AuthChanged, Raw: json.RawMessage("{}")})
	}
	if is.State != acp.Authenticated && is.State != acp.Unauthenticated {
		return
	}
	if is.State == acp.Authenticated {
		p.signedOut(false)
	}
	p.asks.Go(func() { p.b.note(p.life, is.State == acp.Unauthenticated) }) // it writes a file
}

// said returns the status of the login that the agent has said by itself; nil: none.
func (p *peer) said() *acp.AuthStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// errSeen ends the offer of a page that the agent knows to have been used.
var errSeen = errors.New("the agent knows that the page was used")

// offers returns a context that ends with errSeen when the agent says that a page has been used. id is the
// agent's.
func (p *peer) offers(ctx context.Context, id string) (offer context.Context, done func()) {
	offer, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[id] = func() { cancel(errSeen) }
	return offer, func() {
		cancel(nil)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.pages, id)
	}
}
