package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp/edge"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/core"
)

const (
	// maxGuests limits the clients that are served over HTTP at a time: sessions of the protocol
	// and, at 2026-07-28, names.
	maxGuests = 1000
	// maxOfClient limits the guests of one program on one machine.
	maxOfClient = 250
	// guestIdle limits the time that a guest may be silent: without an open request, a stream or a
	// running turn.
	guestIdle = 15 * time.Minute
)

// visit holds a client's state between its requests.
type visit struct {
	place  *wire.Guest
	client *client
	id     string       // the session's; "": none yet, or a name at 2026-07-28; the door's lock guards it
	filter *edge.Filter // of messages to the client
}

func (v *visit) filtered() *edge.Filter {
	if v == nil {
		return nil
	}
	return v.filter
}

// visit finds the visit of a request's session; nil: there is none.
func (d *door) visit(r *http.Request) *visit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.visits[r.Header.Get(proto.HeaderSession)]
}

// open finds a session of the protocol; nil: there is none.
func (d *door) open(id string) *mcp.ServerSession {
	for ss := range d.sdk.Sessions() {
		if id != "" && ss.ID() == id {
			return ss
		}
	}
	return nil
}

// enter takes a place for the session that a request may begin. settle must follow.
func (d *door) enter(r *http.Request, name string) (*visit, error) {
	v := &visit{client: d.newClient(make(chan struct{}))}
	var err error
	v.place, err = d.guests.Enter(d.programOf(r, name), v.client.works, func() { d.endSession(v) })
	return v, err
}

// programOf identifies the program that sent a request, by the holder, the address without its
// port, and the name.
func (d *door) programOf(r *http.Request, name string) string {
	return d.of.Key() + "\x00" + streamable.Machine(r) + "\x00" + name
}

// noteSession records the session that a visit's first request has begun.
func (d *door) noteSession(v *visit, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v.id = id
	d.visits[id] = v
}

// settle ends a visit's first request. If it has begun no session the visit is released.
func (d *door) settle(v *visit) {
	v.place.Done()
	d.releaseEnded(v)
}

// releaseEnded releases a visit if its session no longer exists.
func (d *door) releaseEnded(v *visit) {
	d.mu.Lock()
	id := v.id
	d.mu.Unlock()
	if d.open(id) != nil {
		return
	}
	v.place.Leave()
	d.mu.Lock()
	if d.visits[id] == v {
		delete(d.visits, id)
	}
	d.mu.Unlock()
	v.client.close()
}

// endSession ends the session of a client that has been silent. Turns continue.
func (d *door) endSession(v *visit) {
	v.client.leave()
	d.mu.Lock()
	id := v.id
	delete(d.visits, id)
	d.mu.Unlock()
	if ss := d.open(id); ss != nil {
		ss.Close() //nolint:errcheck // it is gone either way
	}
	v.client.close()
}

func (d *door) newClient(gone chan struct{}) *client {
	return &client{
		host: d.host, server: d.server, caller: d.of.Caller(newCaller()), gone: gone,
		held: map[core.SessionID]*heldSession{},
	}
}

// newCaller returns a new identity of a client for policies.
func newCaller() core.Caller { return core.Caller(strings.ToLower(rand.Text())) }

// namedCaller derives the identity of all requests under one name. It is the same after a long
// silence.
func (s *Server) namedCaller(p core.Principal, key string) core.Caller {
	sum := hmac.New(sha256.New, s.names)
	fmt.Fprintf(sum, "%q %q", p, key)
	return core.Caller(hex.EncodeToString(sum.Sum(nil)[:16]))
}

// clientKey returns the name under which requests of 2026-07-28 count as one client's.
func clientKey(c proto.Implementation) string {
	if c == (proto.Implementation{}) {
		return ""
	}
	return c.Name + " " + c.Version
}

// named returns the visit that all requests of 2026-07-28 under one name share. It makes one for r
// if there is none. A request is then open in the visit's place: the caller must call the place's
// Done.
func (d *door) named(key string, r *http.Request) (*visit, error) {
	for {
		d.mu.Lock()
		v := d.names[key]
		d.mu.Unlock()
		if v != nil && v.place.Begin() {
			return v, nil
		}
		v = &visit{client: d.newClient(d.gone)}
		v.client.caller = d.of.Caller(d.server.namedCaller(d.of.Principal, key))
		var err error
		v.place, err = d.guests.Enter(d.programOf(r, key), v.client.works, func() { d.forget(key, v) })
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		mine := d.names[key] == nil
		if mine {
			d.names[key] = v
		}
		d.mu.Unlock()
		if mine {
			return v, nil
		}
		v.place.Leave() // another request was quicker
	}
}

// forget ends the visit of a name. Later requests under that name begin another one.
func (d *door) forget(key string, v *visit) {
	d.mu.Lock()
	if d.names[key] == v {
		delete(d.names, key)
	}
	d.mu.Unlock()
	v.client.close()
}

// from finds the client that sent a request.
func (d *door) from(req mcp.Request) *client {
	id, key := "", ""
	if ss, ok := req.GetSession().(*mcp.ServerSession); ok {
		id = ss.ID()
		if p := ss.InitializeParams(); id == "" && p != nil && p.ClientInfo != nil {
			key = clientKey(proto.Implementation{Name: p.ClientInfo.Name, Version: p.ClientInfo.Version})
		}
	}
	d.mu.Lock()
	v := d.names[key]
	if id != "" {
		v = d.visits[id]
	}
	d.mu.Unlock()
	if v != nil {
		return v.client
	}
	c := d.newClient(d.gone) // the request is ending: nothing is kept for it
	c.held, c.left = nil, true
	return c
}

// leave ends the client's calls.
func (c *client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.leaving {
		c.leaving = true
		close(c.gone)
	}
}
