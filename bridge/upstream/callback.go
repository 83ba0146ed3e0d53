package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/fileuri"
)

// maxAsking limits the questions of one server that are put to the user at a time.
const maxAsking = 8

// capabilities returns the capabilities that we offer to a server: the session's folders, its
// user for questions, and its model. Only versions with a handshake have notifications of other
// folders.
func (u *upstream) capabilities(handshake bool) json.RawMessage {
	roots := `{}`
	if handshake {
		roots = `{"listChanged":true}`
	}
	return json.RawMessage(`{"roots":` + roots + `,"elicitation":{"form":{},"url":{}},"sampling":{}}`)
}

// receive handles the server's own messages. It runs on the reading goroutine: a request that
// waits for a person gets a goroutine of its own.
func (u *upstream) receive(c *wire.Call) {
	switch c.Method {
	case proto.NoteMessage:
		u.logged(c.Params)
	case proto.NoteToolsChanged, proto.NotePromptsChanged, proto.NoteResourcesChanged:
		poke(u.stale)
	case proto.NoteAcknowledged:
		poke(u.missed)
	case proto.MethodRoots: // at any time: nobody is asked
		c.Reply(rootsOf(u.host.Meta()), nil)
	case proto.MethodElicit, proto.MethodSample:
		if !u.mayAsk() {
			c.Reply(
				nil,
				jrpc2.Errorf(jrpc2.InvalidRequest, "%s: nothing is called that this could belong to", c.Method),
			)
			return
		}
		u.asks.Go(func() {
			defer u.silence.Answered()
			c.Reply(u.answer(c.Context(), c.Method, c.Params))
		})
	default:
		if !c.IsNotification() {
			c.Reply(nil, jrpc2.Errorf(jrpc2.MethodNotFound, "%s is not offered", c.Method))
		}
	}
}

// mayAsk takes a place among the questions of the server. A question while none of its tools is
// called gets none, except while the server starts.
func (u *upstream) mayAsk() bool {
	runs := u.now().status == statusRunning
	u.mu.Lock()
	defer u.mu.Unlock()
	return (u.calls > 0 || !runs) && u.silence.Ask(maxAsking)
}

// logged passes on a log message (Utilities, Logging).
func (u *upstream) logged(params json.RawMessage) {
	var m struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	if wire.Unmarshal(params, &m) != nil {
		return
	}
	text := string(m.Data)
	var s string
	if json.Unmarshal(m.Data, &s) == nil {
		text = s
	}
	if m.Logger != "" {
		text = m.Logger + ": " + text
	}
	u.box.opts.Log(u.server.Name, level(m.Level), display.Plain(text[:min(len(text), maxJunk)]))
}

// level maps the eight levels of the protocol to four.
func level(s string) string {
	switch s {
	case "debug":
		return "debug"
	case "warning":
		return "warn"
	case "error", "critical", "alert", "emergency":
		return "error"
	}
	return "info"
}

// answer answers a request of the server, in whatever form it came.
func (u *upstream) answer(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (json.RawMessage, error) {
	switch method {
	case proto.MethodRoots:
		return rootsOf(u.host.Meta()), nil
	case proto.MethodElicit:
		return u.elicit(ctx, params)
	case proto.MethodSample:
		return u.sample(ctx, params)
	}
	return nil, jrpc2.Errorf(jrpc2.MethodNotFound, "%s is not offered", method)
}

// rootsOf lists the session's folders (Client, Roots).
func rootsOf(m core.Meta) json.RawMessage {
	type root struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	list := make([]root, 0, len(m.Roots)+1)
	roots := m.Roots
	if len(roots) == 0 && m.Cwd != "" {
		roots = []string{m.Cwd}
	}
	for _, path := range roots {
		list = append(list, root{fileuri.Of(path), filepath.Base(path)})
	}
	return wire.JSON(map[string]any{"roots": list})
}

// tellRoots notifies the server if the session's folders have changed since it was notified last,
// or since its start. p is the connection; nil: there is none.
func (u *upstream) tellRoots(p *Peer) {
	if p == nil || p.Modern() {
		return
	}
	roots := u.host.Meta().Roots
	u.mu.Lock()
	changed := !slices.Equal(roots, u.roots)
	u.roots = roots
	u.mu.Unlock()
	if changed {
		_ = p.Conn.Notify(proto.NoteRootsChanged, json.RawMessage(`{}`)) // a connection that has ended is noticed elsewhere
	}
}

// TellRoots notifies the servers of sessions whose folders have changed (core.Client.Folders).
func (b *Box) TellRoots() {
	b.mu.Lock()
	live := slices.Concat(slices.Collect(maps.Values(b.live))...)
	b.mu.Unlock()
	for _, u := range live {
		u.tellRoots(u.Running())
	}
}

// rounds makes a call, and repeats it as long as the server asks for input first (2026-07-28). If
// the server requires that the user opens pages first, the call is made once more after that. call
// gets the additional members of the params.
func (u *upstream) rounds(
	ctx context.Context,
	p *Peer,
	call func(more ...wire.Member) (json.RawMessage, error),
) (json.RawMessage, error) {
	res, err := u.inputRounds(ctx, p, call)
	pages := requiredPages(err)
	if pages == nil || !u.mayAsk() {
		return res, err
	}
	visited, failed := u.visitAll(ctx, pages)
	if u.silence.Answered(); failed != nil {
		return nil, failed
	}
	if !visited {
		return res, err
	}
	return u.inputRounds(ctx, p, call)
}

func (u *upstream) inputRounds(
	ctx context.Context,
	p *Peer,
	call func(more ...wire.Member) (json.RawMessage, error),
) (json.RawMessage, error) {
	if !p.Modern() {
		return call()
	}
	res, err := proto.Rounds(
		func(answers map[string]json.RawMessage, state json.RawMessage) (json.RawMessage, error) {
			return call(BroughtBack(answers, state)...)
		},
		func(q proto.InputRequest) (json.RawMessage, error) {
			if !u.mayAsk() {
				return nil, fmt.Errorf("the MCP server %s asks too many questions at once", u.server.Name)
			}
			defer u.silence.Answered()
			reply, err := u.answer(ctx, q.Method, q.Params)
			if err != nil {
				return nil, fmt.Errorf("the MCP server %s asks for %s: %v", u.server.Name, q.Method, err)
			}
			return reply, nil
		},
	)
	if errors.As(err, new(proto.RoundsError)) {
		err = fmt.Errorf("the MCP server %s %w", u.server.Name, err)
	}
	return res, err
}

// BroughtBack returns the additional params of a call that is repeated with answers.
func BroughtBack(answers map[string]json.RawMessage, state json.RawMessage) (more []wire.Member) {
	if len(answers) > 0 {
		more = append(more, wire.Set("inputResponses", wire.JSON(answers)))
	}
	if state != nil {
		more = append(more, wire.Set("requestState", state))
	}
	return more
}

// announcedLists returns the lists whose changes the server announces, by their names in
// subscriptions/listen.
func (p *Peer) announcedLists() map[string]bool {
	changes := map[string]bool{}
	for name, caps := range map[string]*ListCaps{
		"toolsListChanged":     p.Caps.Tools,
		"promptsListChanged":   p.Caps.Prompts,
		"resourcesListChanged": p.Caps.Resources,
	} {
		if caps != nil && caps.ListChanged {
			changes[name] = true
		}
	}
	return changes
}

// subscribe asks a modern server to announce changes of lists (2026-07-28, subscriptions/listen);
// others do so without a request. The function ends the subscription.
func (u *upstream) subscribe(p *Peer) (stop func()) {
	changes := p.announcedLists()
	if !p.Modern() || len(changes) == 0 {
		return func() {}
	}
	a, err := p.Conn.Start(proto.MethodListen, p.With(nil, wire.Set("notifications", wire.JSON(changes))),
		func(json.RawMessage, error) {})
	if err != nil {
		return func() {}
	}
	return func() { a.Withdraw() }
}
