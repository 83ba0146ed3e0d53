package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/glob"
)

// Export is a server of the configuration as MCP clients are given it, where there is no
// user of ours to ask. What the server's own lists take out or a rule denies is refused,
// and so is a tool that is not what was pinned, until somebody has agreed to it
// (dragoman mcp-servers approve). Where a rule wants a call asked about, the client's
// user is asked (consent.go).
type Export struct {
	Server Server

	box   *Box
	check Check
}

// Check is asked before each call of a server's tool. Its error refuses the call; an
// *AskFirst has the client's user asked, and refuses it where that cannot be.
type Check func(server, tool string, args json.RawMessage) error

// Export returns a configured server as clients are given it; false: there is none of
// that name, or it is disabled. A nil check refuses nothing.
func (b *Box) Export(name string, check Check) (*Export, bool) {
	s, ok := b.find(name)
	if !ok || s.Disabled {
		return nil, false
	}
	return &Export{Server: s, box: b, check: check}, true
}

// Exports returns the servers whose names fit one of the patterns (* is any text), by
// name. Those that are disabled are left out, and those that a person would have to
// agree to first.
func (b *Box) Exports(patterns []string, check Check) []*Export {
	var list []*Export
	for _, s := range b.list() {
		named, err := glob.AnyText(patterns, s.Name)
		if err == nil && named && !s.Disabled && !s.Confirm && s.Name != core.Native {
			list = append(list, &Export{Server: s, box: b, check: check})
		}
	}
	slices.SortFunc(list, func(x, y *Export) int { return strings.Compare(x.Server.Name, y.Server.Name) })
	return list
}

// Same reports whether two exports are of the same server, as the configuration of the
// same box has it.
func (e *Export) Same(o *Export) bool { return e.box == o.box && e.Server.is(o.Server) }

// Current reports whether the configuration still has the server as it was.
func (e *Export) Current() bool { return e.box.configured(e.Server) }

// Usable returns why the server must not be used now; nil: it may.
func (e *Export) Usable() error {
	switch {
	case !e.Current():
		return errors.New(whyChanged)
	case e.box.isStopped(e.Server.Name):
		return errors.New(whyStopped)
	}
	return nil
}

// Dial opens a link to the server, whose programs the guard starts. It does not wait for
// the server to say anything.
func (e *Export) Dial(at Endpoint, guard *child.Guard) (*Link, error) {
	return e.box.dialer(e.Server, guard).dial(at)
}

// DialVerbatim is Dial for a link whose messages are passed on as they were written:
// what cannot be understood is not mended.
func (e *Export) DialVerbatim(at Endpoint, guard *child.Guard) (*Link, error) {
	d := e.box.dialer(e.Server, guard)
	d.whole = true
	return d.dial(at)
}

// Client returns the client for requests to the server, which adds the token of its login.
func (e *Export) Client(at Endpoint) *http.Client { return e.box.clientFor(e.Server, at) }

// Log logs a text about the server.
func (e *Export) Log(level, text string) { e.box.Log(e.Server.Name, level, text) }

// WantsLogin returns an error that says how to log in to the server, if it wants that; nil: it
// does not.
func (e *Export) WantsLogin() error { return e.box.wantsLogin(e.Server) }

// View returns what a new connection to the server sees of its tools: nothing yet. Calls
// that wait for their user's answer are kept in c; nil: in consents of the view's own.
func (e *Export) View(c *Consents) *View {
	return &View{
		Export:   e,
		consents: cmp.Or(c, &Consents{}),
		said:     map[string]string{},
		warned:   map[string]string{},
	}
}

// Pins reports whether tools are compared with what they said at first.
func (e *Export) Pins() bool { return e.box.pins.kept() }

// Pinned lists the tools of the server that are pinned and that it may offer.
func (e *Export) Pinned() []string {
	return slices.DeleteFunc(
		e.box.pins.names(e.Server.Name),
		func(tool string) bool { return !e.Server.offers(tool) },
	)
}

// NewKeeper returns a keeper of a client's connection to the server. Keep must follow.
// What people do to the server holds for the connection, too: it ends when the server is
// stopped, until that is started again, and for good when the configuration has changed.
func (e *Export) NewKeeper(j Job) *Keeper {
	b := e.box
	k := newKeeper(e.Server.Name, j, b.pause, func() error { return b.wantsLogin(e.Server) }, nil)
	b.mu.Lock()
	known := slices.ContainsFunc(b.servers, e.Server.is)
	if known {
		b.exported[k] = e.Server
	}
	if b.stopped[e.Server.Name] {
		k.held = whyStopped // nobody else has it yet
	}
	b.mu.Unlock()
	if !known {
		k.retire(whyChanged)
	}
	return k
}

// Keep keeps the connection of a keeper until ctx ends, or it has ended for good.
func (e *Export) Keep(ctx context.Context, k *Keeper) {
	k.run(ctx)
	e.box.mu.Lock()
	defer e.box.mu.Unlock()
	delete(e.box.exported, k)
}

// Introduction is what a server said of itself when it was last started for a client.
type Introduction struct {
	Instructions string
	Refused      bool // it has refused 2026-07-28
	Known        bool // it has been started
}

// Introduction returns what the server said of itself last.
func (e *Export) Introduction() Introduction {
	e.box.mu.Lock()
	defer e.box.mu.Unlock()
	return e.box.introduced[e.Server.Name]
}

// Introduce keeps what the server has said of itself.
func (e *Export) Introduce(i Introduction) {
	e.box.mu.Lock()
	defer e.box.mu.Unlock()
	if e.box.introduced == nil {
		e.box.introduced = map[string]Introduction{}
	}
	e.box.introduced[e.Server.Name] = i
}

// listing lists the tools over a connection of the box's own, which is nobody's session; ok
// is false where the server's version may have no list of them.
func (e *Export) listing(ctx context.Context, dir string) (list []*listed, ok bool, err error) {
	u := e.box.side([]string{dir}, e.Server)
	if u == nil {
		return nil, false, errClosing
	}
	p, err := u.Acquire(ctx, false)
	if err != nil {
		return nil, false, err
	}
	_, _, list = u.state()
	return list, p.Lists(), nil
}
