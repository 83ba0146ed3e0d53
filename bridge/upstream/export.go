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

// Export is a server of the configuration as offered to MCP clients, which have no user of ours
// to ask. A tool that the server's own lists exclude or a rule denies is refused, and so is a
// tool that differs from its pin, until a user has agreed to it (dragoman mcp-servers approve).
// If a rule requires a question, the client's user is asked (consent.go).
type Export struct {
	Server Server

	box   *Box
	check Check
}

// Check is called before each call of a server's tool. Its error refuses the call; after an
// *AskFirst the client's user is asked, and the call is refused if that is not possible.
type Check func(server, tool string, args json.RawMessage) error

// Export returns a configured server for clients; false: it does not exist or is disabled. A nil
// check refuses nothing.
func (b *Box) Export(name string, check Check) (*Export, bool) {
	s, ok := b.find(name)
	if !ok || s.Disabled {
		return nil, false
	}
	return &Export{Server: s, box: b, check: check}, true
}

// Exports returns the servers whose names match one of the patterns (* is any text), by name.
// Disabled servers are left out, and those that need a person's consent first.
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

// Same reports whether two exports are of the same server in the configuration of the same box.
func (e *Export) Same(o *Export) bool { return e.box == o.box && e.Server.is(o.Server) }

// Current reports whether the configuration of the server is unchanged.
func (e *Export) Current() bool { return e.box.configured(e.Server) }

// Usable returns the reason why the server must not be used now; nil: it may.
func (e *Export) Usable() error {
	switch {
	case !e.Current():
		return errors.New(whyChanged)
	case e.box.isStopped(e.Server.Name):
		return errors.New(whyStopped)
	}
	return nil
}

// Dial opens a link to the server, whose programs the guard starts. It does not wait for a
// message of the server.
func (e *Export) Dial(at Endpoint, guard *child.Guard) (*Link, error) {
	return e.box.dialer(e.Server, guard).dial(at)
}

// DialVerbatim is Dial for a link whose messages are passed on unchanged: unintelligible ones are
// not corrected.
func (e *Export) DialVerbatim(at Endpoint, guard *child.Guard) (*Link, error) {
	d := e.box.dialer(e.Server, guard)
	d.whole = true
	return d.dial(at)
}

// Client returns the client for requests to the server, which adds the token of its login.
func (e *Export) Client(at Endpoint) *http.Client { return e.box.clientFor(e.Server, at) }

// Log logs a text about the server.
func (e *Export) Log(level, text string) { e.box.Log(e.Server.Name, level, text) }

// WantsLogin returns an error with instructions for the login to the server; nil: it requires
// none.
func (e *Export) WantsLogin() error { return e.box.wantsLogin(e.Server) }

// View returns the view of a new connection to the server, which knows no tools yet. Calls that
// wait for their user's answer are stored in c; nil: in consents of the view's own.
func (e *Export) View(c *Consents) *View {
	return &View{
		Export:   e,
		consents: cmp.Or(c, &Consents{}),
		said:     map[string]string{},
		warned:   map[string]bool{},
	}
}

// Pins reports whether tools are compared with their first descriptions.
func (e *Export) Pins() bool { return e.box.pins.kept() }

// Pinned lists the pinned tools of the server that it may offer.
func (e *Export) Pinned() []string {
	return slices.DeleteFunc(
		e.box.pins.names(e.Server.Name),
		func(tool string) bool { return !e.Server.offers(tool) },
	)
}

// NewKeeper returns a keeper of a client's connection to the server, which works in dir. Keep must follow. The users'
// actions on the server also apply to the connection: it ends when the server is stopped, until
// that is started again, and permanently when the configuration has changed.
func (e *Export) NewKeeper(j Job, dir string) *Keeper {
	b := e.box
	k := newKeeper(e.Server.Name, j, b.outages.find(e.Server, dir), b.pause, func() error { return b.wantsLogin(e.Server) },
		func(string) { b.post(e.Server.Name) })
	b.mu.Lock()
	known := slices.ContainsFunc(b.servers, e.Server.is)
	if known {
		b.exported[k] = e.Server
	}
	if b.stopped[e.Server.Name] {
		k.held = whyStopped // no other goroutine has it yet
	}
	b.mu.Unlock()
	if !known {
		k.retire(whyChanged)
	}
	return k
}

// NewVerbatimKeeper is NewKeeper for a connection whose messages pass as they were written. It
// lasts as long as its client: people and the configuration do not end it, but no connection may
// be made again that they are against (Usable).
func (e *Export) NewVerbatimKeeper(j Job) *Keeper {
	return newKeeper(e.Server.Name, j, &outage{}, e.box.pause, func() error { return e.box.wantsLogin(e.Server) }, nil)
}

// Keep keeps the connection of a keeper until ctx ends, or the connection has ended permanently.
func (e *Export) Keep(ctx context.Context, k *Keeper) {
	k.run(ctx)
	e.box.mu.Lock()
	delete(e.box.exported, k)
	e.box.mu.Unlock()
	e.box.post(e.Server.Name)
}

// Introduction describes a server according to its last start for a client.
type Introduction struct {
	Instructions string
	Refused      bool // it has refused version 2026-07-28
	Known        bool // it has been started
	Late         bool // a client has waited for it in vain, and it has never answered any
}

// Introduction returns the server's last description of itself.
func (e *Export) Introduction() Introduction {
	e.box.mu.Lock()
	i := e.box.introduced[e.Server.Name]
	e.box.mu.Unlock()
	if !i.Known {
		i.Late = e.box.lates.has(e.Server) && len(e.Pinned()) == 0
	}
	return i
}

// Introduce stores the server's description of itself.
func (e *Export) Introduce(i Introduction) {
	if i.Known {
		e.box.lates.note(e.Server, false)
	}
	e.box.mu.Lock()
	defer e.box.mu.Unlock()
	if e.box.introduced == nil {
		e.box.introduced = map[string]Introduction{}
	}
	e.box.introduced[e.Server.Name] = i
}

// IsLate records that a client has waited for the server in vain.
func (e *Export) IsLate() { e.box.lates.note(e.Server, true) }

// listing lists the tools over a connection of the box's own, which belongs to no session; ok is
// false if the server's version may have no list of tools.
func (e *Export) listing(ctx context.Context, dir string) (list []*listedTool, ok bool, err error) {
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
