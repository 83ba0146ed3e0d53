package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/core/child/piped"
)

// Peer is the server at the other end of a connection.
type Peer struct {
	Conn *wire.Conn
	link *Link // nil: the server is in this process
	end  func()
	says Hello

	Version      string // negotiated
	Name         string // its own name, with its version
	Instructions string
	Caps         ServerCaps

	Done chan struct{} // closed when the connection and its transport have ended

	mu     sync.Mutex // guards the fields below
	tokens int64
	notes  map[string]func(Progress) // by progress token
}

// Hello is our introduction, and the receiver of the server's own messages.
type Hello struct {
	Client json.RawMessage // proto.Implementation
	Caps   json.RawMessage // ClientCapabilities
	// InitCaps are those in a handshake; nil: Caps.
	InitCaps json.RawMessage
	// Version is the first one to offer; "": the last with a handshake.
	Version string
	Hops    int // number of gateways before the server; 0: omitted
	// Handle is called for each request and notification of the server, in the order of the
	// stream, and must not block. It does not get progress.
	Handle func(*wire.Call)
}

// ServerCaps lists a server's capabilities.
type ServerCaps struct {
	Tools       *ListCaps       `json:"tools"`
	Prompts     *ListCaps       `json:"prompts"`
	Resources   *ListCaps       `json:"resources"`
	Completions *struct{}       `json:"completions"`
	Logging     *struct{}       `json:"logging"`
	Tasks       json.RawMessage `json:"tasks"` // those of 2025-11-25
	Extensions  struct {
		Tasks *struct{} `json:"io.modelcontextprotocol/tasks"`
	} `json:"extensions"`
}

// HasTasks reports whether a server has the tasks of 2025-11-25.
func (c ServerCaps) HasTasks() bool { return present(c.Tasks) != nil }

// ListCaps lists a server's capabilities for one of its lists.
type ListCaps struct {
	ListChanged bool `json:"listChanged"`
	Subscribe   bool `json:"subscribe"`
}

// Progress is a notification of the progress of a request.
type Progress struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Total    float64         `json:"total"`
	Message  string          `json:"message"`

	Raw json.RawMessage `json:"-"` // all of it, unchanged
}

// Meet begins to use a link and negotiates a version. It blocks until that is done or ctx ends.
// The peer lasts until Close, or until the server leaves; the link is closed in any case.
func Meet(ctx context.Context, l *Link, says Hello) (*Peer, error) {
	p := NewPeer(l, says)
	p.Conn.SetEdge(new(early))
	err := p.agree(ctx)
	if err == nil {
		if p.Lists() { // its version is a date
			p.Conn.SetEdge(nil)
		}
		l.Settled(p.Version)
		return p, nil
	}
	if p.ended(err) && ctx.Err() == nil {
		err = errors.New(l.Why())
	} else if why, ok := streamable.Unreached(err); ok {
		err = errors.New(why)
	}
	p.Close()
	return nil, err
}

// NewPeer begins to read from a link, and sends nothing.
func NewPeer(l *Link, says Hello) *Peer {
	p := &Peer{link: l, says: says, Done: make(chan struct{}), notes: map[string]func(Progress){}}
	p.end = func() {
		l.In.Close()
		l.Out.Close()
	}
	p.Conn = wire.NewConn(l.In, l.Out, withdrawing())
	go func() { // Close waits for it
		defer close(p.Done)
		_ = p.Conn.Serve(context.Background(), p.receive) // the link knows the reason of the end
		l.Close()
	}()
	return p
}

// NewVerbatimPeer returns a peer without a Conn, for a link whose messages pass as they were
// written (DialVerbatim). carry reads and writes them, in a goroutine of the peer's, until the
// link's input ends.
func NewVerbatimPeer(l *Link, carry func()) *Peer {
	p := &Peer{link: l, Done: make(chan struct{}), end: func() { l.In.Close() }}
	go func() { // Close waits for it
		defer close(p.Done)
		carry()
		l.In.Close()
		l.Close()
	}()
	return p
}

// LocalServer is a server of this process with a connected client.
type LocalServer interface {
	Send(m wire.Message)
	Close() // ends the connection, and waits for that
}

// NewLocalPeer connects to a server of this process, and sends nothing. connect makes the
// connection: the server passes its messages to hear, decoded.
func NewLocalPeer(says Hello, connect func(hear func(wire.Message)) LocalServer) *Peer {
	p := &Peer{says: says, Done: make(chan struct{}), notes: map[string]func(Progress){}}
	ctx, stop := context.WithCancelCause(context.Background())
	var server LocalServer
	known := make(chan struct{})
	p.Conn = wire.NewLocal(func(m wire.Message, _ *wire.Call) { server.Send(m) }, withdrawing())
	server = connect(func(m wire.Message) {
		<-known
		p.Conn.Take(ctx, string(m.ID), m, p.receive)
	})
	close(known)
	p.end = sync.OnceFunc(func() {
		stop(wire.ErrClosed)
		server.Close()
		p.Conn.End()
		close(p.Done)
	})
	return p
}

// withdrawing returns the options of a connection that notifies the server of cancelled requests.
func withdrawing() wire.Options {
	return wire.Options{
		MaxBatch: 100, Withdraw: wire.Withdrawal{Method: proto.NoteCancelled, Member: "requestId"},
	}
}

// ended reports whether the connection has ended, after a request that failed with err; if the end has
// begun, it waits for the reason.
func (p *Peer) ended(err error) bool {
	limit := politeFor / 4
	if errors.Is(err, wire.ErrClosed) {
		limit = 4 * politeFor // the end of a program takes less, whose last words are the reason
	}
	return p.Over() || piped.Within(limit, p.Done)
}

// Over reports whether the connection has ended.
func (p *Peer) Over() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// Why describes the end of the connection; it is called after Done.
func (p *Peer) Why() string {
	if p.link == nil {
		return "the connection has ended"
	}
	return p.link.Why()
}

// Close ends the connection and its transport, and waits for that.
func (p *Peer) Close() {
	p.end()
	<-p.Done
}

// initialize offers a version, which is JSON.
func (p *Peer) initialize(ctx context.Context, version string) error {
	var r struct {
		Version      json.RawMessage      `json:"protocolVersion"`
		Caps         ServerCaps           `json:"capabilities"`
		Info         proto.Implementation `json:"serverInfo"`
		Instructions string               `json:"instructions"`
	}
	caps := p.says.InitCaps
	if caps == nil {
		caps = p.says.Caps
	}
	members := []wire.Member{
		wire.Set("protocolVersion", json.RawMessage(version)),
		wire.Set("capabilities", caps), wire.Set("clientInfo", p.says.Client),
	}
	if p.says.Hops > 0 {
		members = append(
			members,
			wire.Set("_meta", wire.Edit(nil, wire.Set(proto.MetaHops, wire.JSON(p.says.Hops)))),
		)
	}
	if err := p.Conn.Ask(ctx, proto.MethodInitialize, wire.Edit(nil, members...), &r); err != nil {
		return err
	}
	if len(r.Version) > 0 && strings.IndexByte("0123456789", r.Version[0]) >= 0 {
		p.Version = proto.Numbered
	} else if json.Unmarshal(r.Version, &p.Version) != nil || !proto.IsLegacy(p.Version) {
		return &versionError{[]string{strings.Trim(string(r.Version), `"`)}}
	}
	p.Name, p.Caps, p.Instructions = r.Info.String(), r.Caps, r.Instructions
	return p.Conn.Notify(proto.NoteInitialized, json.RawMessage(`{}`))
}

// discover begins a connection of 2026-07-28, which has no handshake.
func (p *Peer) discover(ctx context.Context) error {
	p.Version = proto.Modern
	var r struct {
		Versions     []string   `json:"supportedVersions"`
		Caps         ServerCaps `json:"capabilities"`
		Instructions string     `json:"instructions"`
		Meta         struct {
			Info proto.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	raw, err := p.ask(ctx, proto.MethodDiscover, nil)
	if err == nil {
		err = wire.Unmarshal(raw, &r)
	}
	if err != nil {
		return err
	}
	if !slices.Contains(r.Versions, proto.Modern) {
		return &versionError{r.Versions}
	}
	p.Name, p.Caps, p.Instructions = r.Meta.Info.String(), r.Caps, r.Instructions
	return nil
}

// Lists reports whether the version has all the lists: many are missing in those before versions
// had dates, and a server does not announce that.
func (p *Peer) Lists() bool { return p.Version != proto.Numbered }

// Modern reports whether every request has the version.
func (p *Peer) Modern() bool { return p.Version == proto.Modern }

// AnnouncesTools reports whether no change of the list of tools is missed: the server announces them,
// without being asked to, and every message of it arrives.
func (p *Peer) AnnouncesTools() bool {
	return p.link != nil && p.link.Whole && !p.Modern() && p.Caps.Tools != nil && p.Caps.Tools.ListChanged
}

// With builds params; token is for progress, or nil.
func (p *Peer) With(token json.RawMessage, members ...wire.Member) json.RawMessage {
	var meta []wire.Member
	if token != nil {
		meta = append(meta, wire.Set(proto.MetaToken, token))
	}
	if p.Modern() {
		meta = append(meta, wire.Set(proto.MetaVersion, wire.JSON(proto.Modern)),
			wire.Set(proto.MetaClient, p.says.Client), wire.Set(proto.MetaCapabilities, p.says.Caps))
		if p.says.Hops > 0 {
			meta = append(meta, wire.Set(proto.MetaHops, wire.JSON(p.says.Hops)))
		}
	}
	if meta != nil {
		members = append(members[:len(members):len(members)], wire.Set("_meta", wire.Edit(nil, meta...)))
	}
	return wire.Edit(nil, members...)
}

// ask sends a request and waits for its result.
func (p *Peer) ask(
	ctx context.Context,
	method string,
	token json.RawMessage,
	members ...wire.Member,
) (json.RawMessage, error) {
	var raw json.RawMessage
	err := p.Conn.Ask(ctx, method, p.With(token, members...), &raw)
	return raw, err
}

// receive passes on the server's messages; it runs on the reading goroutine.
func (p *Peer) receive(c *wire.Call) {
	switch c.Method {
	case proto.MethodPing:
		c.Reply(json.RawMessage(`{}`), nil)
	case proto.NoteProgress:
		var n Progress
		if wire.Unmarshal(c.Params, &n) != nil {
			return
		}
		p.mu.Lock()
		note := p.notes[string(n.Token)]
		p.mu.Unlock()
		if note != nil {
			n.Raw = c.Params
			note(n)
		}
	case proto.NoteCancelled:
		if id := streamable.CancelledID(c.Params); id != nil {
			p.Conn.CancelRequest(id)
		}
	default:
		p.says.Handle(c)
	}
}

// Track calls note with the progress of a request that is sent with the token; forget ends that.
// note runs on the reading goroutine and must not block.
func (p *Peer) Track(note func(Progress)) (token json.RawMessage, forget func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens++
	token = fmt.Appendf(nil, "%d", p.tokens)
	p.notes[string(token)] = note
	return token, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.notes, string(token))
	}
}

// List asks for all pages of a list (Utilities, Pagination).
func (p *Peer) List(ctx context.Context, method, field string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	err := eachPage(ctx, method, field, func(ctx context.Context, cursor string) (json.RawMessage, error) {
		if cursor == "" {
			return p.ask(ctx, method, nil)
		}
		return p.ask(ctx, method, nil, wire.Set("cursor", wire.JSON(cursor)))
	}, func(items []json.RawMessage) int {
		all = append(all, items...)
		return len(all)
	})
	if err != nil {
		return nil, err
	}
	return all[:min(len(all), maxItems)], nil
}
