package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
)

// offer lists a server's features other than tools, as of its last start.
type offer struct {
	prompts   []prompt
	resources []core.Link
	templates []string // beginnings of URIs, up to the first variable
	listed    bool     // the lists were read
}

// prompt is a prompt as a server lists it (Server, Prompts).
type prompt struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Arguments   []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
	} `json:"arguments"`
}

// offered lists the server's features other than tools. Lists that cannot be read are left out.
func (u *upstream) offered(ctx context.Context, p *Peer) {
	o := offer{listed: true}
	if p.Caps.Prompts != nil {
		o.prompts = itemsAs[prompt](u, ctx, p, proto.MethodListPrompts, "prompts")
	}
	if p.Caps.Resources != nil {
		type resource struct {
			URI         string `json:"uri"`
			Name        string `json:"name"`
			Description string `json:"description"`
			MIME        string `json:"mimeType"`
			Size        int64  `json:"size"`
		}
		for _, r := range itemsAs[resource](u, ctx, p, proto.MethodListResources, "resources") {
			o.resources = append(o.resources, core.Link{
				URI:         r.URI,
				Name:        display.Seen(r.Name),
				Title:       u.server.Name,
				Description: display.Seen(r.Description),
				MIME:        r.MIME,
				Size:        r.Size,
			})
		}
		type template struct {
			URI string `json:"uriTemplate"`
		}
		for _, t := range itemsAs[template](u, ctx, p, proto.MethodListTemplates, "resourceTemplates") {
			head, _, _ := strings.Cut(t.URI, "{")
			o.templates = append(o.templates, head)
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	u.mu.Lock()
	u.offer = o
	u.mu.Unlock()
	if !u.box.configured(u.server) {
		return // a session's own servers belong only to it
	}
	u.box.mu.Lock()
	defer u.box.mu.Unlock()
	u.box.offers[u.server.Name] = o
}

// itemsAs lists the items that can be decoded.
func itemsAs[T any](u *upstream, ctx context.Context, p *Peer, method, field string) (list []T) {
	items, err := p.List(ctx, method, field)
	if err != nil && ctx.Err() == nil && p.Lists() {
		u.box.opts.Log(u.server.Name, "warn", method+": "+display.Plain(err.Error()))
	}
	for _, item := range items {
		var v T
		if wire.Unmarshal(item, &v) == nil {
			list = append(list, v)
		}
	}
	return list
}

// command returns a prompt as a command of that name.
func (p prompt) command(name string) core.Command {
	c := core.Command{
		Kind:        core.CommandMCP,
		Name:        name,
		Description: display.Seen(cmp.Or(p.Description, p.Title)),
	}
	for _, a := range p.Arguments {
		c.Arguments = append(
			c.Arguments,
			core.Argument{Name: a.Name, Description: display.Seen(a.Description), Required: a.Required},
		)
	}
	return c
}

// commandOf returns the name of the command for a prompt.
func commandOf(server, prompt string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || display.Plain(string(r)) == "" {
			return '_'
		}
		return r
	}, server+":"+prompt)
}

// sessionOffer is a server's offer in a session: over a connection of the session's own if a client
// has brought the server along.
type sessionOffer struct {
	offer
	server Server
	up     *upstream // nil: a side is used
}

// offerings lists the offers of started servers in a session; without a session, those of servers
// in the configuration.
func (b *Box) offerings(session core.SessionID) (list []sessionOffer) {
	var brought []*upstream
	b.mu.Lock()
	for _, s := range b.servers {
		if !b.stopped[s.Name] {
			list = append(list, sessionOffer{offer: b.offers[s.Name], server: s})
		}
	}
	if session != "" {
		for _, name := range slices.Sorted(maps.Keys(b.live)) {
			for _, u := range b.live[name] {
				if u.server.brought {
					brought = append(brought, u)
				}
			}
		}
	}
	b.mu.Unlock()
	for _, u := range brought {
		if u.host.Meta().ID != session {
			continue
		}
		u.mu.Lock()
		list = append(list, sessionOffer{offer: u.offer, server: u.server, up: u})
		u.mu.Unlock()
	}
	return list
}

// Commands lists the prompts of the started servers, as commands named SERVER:PROMPT; in a
// session also those that its clients have brought along.
func (b *Box) Commands(session core.SessionID) []core.Command {
	var list []core.Command
	for _, o := range b.offerings(session) {
		for _, p := range o.prompts {
			list = append(list, p.command(commandOf(o.server.Name, p.Name)))
		}
	}
	return list
}

// Expand asks the server for the text that a command of Commands means; false: it is not one of
// those. The arguments are words in the prompt's order; the last one has the rest. If the
// command's server is not known to run it starts it and waits for that; waiting gets its name
// first.
func (b *Box) Expand(
	ctx context.Context,
	m core.Meta,
	command, args string,
	waiting func(server string),
) (text string, ok bool, err error) {
	from, p, ok := b.prompt(m.ID, command)
	if u := b.unlisted(m, command); !ok && u != nil {
		waiting(display.Word(u.server.Name))
		peer, err := u.Acquire(ctx, false)
		if err != nil {
			return "", true, err
		}
		u.offered(ctx, peer)
		from, p, ok = b.prompt(m.ID, command)
	}
	if !ok {
		return "", false, nil
	}
	values := map[string]string{}
	rest := strings.TrimSpace(args)
	for i, a := range p.Arguments {
		word := rest
		if i < len(p.Arguments)-1 {
			word, rest, _ = strings.Cut(rest, " ")
			rest = strings.TrimSpace(rest)
		}
		switch {
		case word != "":
			values[a.Name] = word
		case a.Required:
			return "", true, fmt.Errorf("/%s needs the argument %s", command, a.Name)
		}
	}
	if from.up == nil {
		from.up = b.side(m.Roots, from.server)
	}
	res, err := from.up.read(
		ctx,
		proto.MethodGetPrompt,
		wire.Set("name", wire.JSON(p.Name)),
		wire.Set("arguments", wire.JSON(values)),
	)
	if err != nil {
		return "", true, err
	}
	var r struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := wire.Unmarshal(res, &r); err != nil {
		return "", true, fmt.Errorf("the answer to prompts/get: %v", err)
	}
	texts := []string{}
	for _, m := range r.Messages {
		s := textsOf(m.Content)
		if m.Role == "assistant" {
			s = "(as the assistant's answer) " + s
		}
		texts = append(texts, s)
	}
	return strings.Join(texts, "\n\n"), true, nil
}

// unlisted returns a connection to the server that a command names, if the server's prompts are not
// known yet; nil: there is none, or the user has not agreed to it.
func (b *Box) unlisted(m core.Meta, command string) *upstream {
	for _, o := range b.offerings(m.ID) {
		switch {
		case o.listed || !strings.HasPrefix(command, commandOf(o.server.Name, "")):
		case o.up != nil:
			return o.up
		case !o.server.Confirm && !o.server.Disabled && o.server.Name != core.Native:
			return b.side(m.Roots, o.server)
		}
	}
	return nil
}

func (b *Box) prompt(session core.SessionID, command string) (from sessionOffer, p prompt, ok bool) {
	for _, o := range b.offerings(session) {
		for _, p := range o.prompts {
			if commandOf(o.server.Name, p.Name) == command {
				return o, p, true
			}
		}
	}
	return sessionOffer{}, prompt{}, false
}

// List implements the Resources of package workspace: the resources of the started servers whose
// name or address contains the query. A Link's title is its server.
func (b *Box) List(_ context.Context, _ []string, query string, most int) []core.Link {
	query = strings.ToLower(query)
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []core.Link
	for _, s := range b.servers {
		if b.stopped[s.Name] {
			continue
		}
		for _, l := range b.offers[s.Name].resources {
			if len(list) < most &&
				(strings.Contains(strings.ToLower(l.Name), query) || strings.Contains(strings.ToLower(l.URI), query)) {
				list = append(list, l)
			}
		}
	}
	return list
}

// Read returns the content of a resource, as the Resources of package workspace do.
func (b *Box) Read(ctx context.Context, roots []string, uri string) core.Block {
	block, err := b.resource(ctx, roots, uri)
	if err != nil {
		return core.Resource{
			URI:  uri,
			Text: "[It could not be read: " + display.Plain(err.Error()) + "]", // as workspace.Unread
		}
	}
	return block
}

func (b *Box) resource(ctx context.Context, roots []string, uri string) (core.Block, error) {
	server, ok := b.owner(uri)
	if !ok {
		return nil, errors.New("no MCP server that has been started offers it")
	}
	res, err := b.side(roots, server).read(ctx, proto.MethodReadResource, wire.Set("uri", wire.JSON(uri)))
	if err != nil {
		return nil, err
	}
	var r struct {
		Contents []struct {
			MIME string `json:"mimeType"`
			Text string `json:"text"`
			Blob []byte `json:"blob"`
		} `json:"contents"`
	}
	if err := wire.Unmarshal(res, &r); err != nil {
		return nil, fmt.Errorf("the answer to resources/read: %v", err)
	}
	out := core.Resource{URI: uri}
	for _, c := range r.Contents {
		switch {
		case strings.HasPrefix(c.MIME, "image/") && len(c.Blob) > 0:
			return core.Image{MIME: c.MIME, Data: c.Blob, URI: uri}, nil
		case len(c.Blob) > 0:
			out.Blob, out.MIME = c.Blob, c.MIME
		default:
			out.Text, out.MIME = out.Text+c.Text, c.MIME
		}
	}
	if out.Text != "" {
		out.Blob = nil
	}
	list, _ := shorten([]core.Block{out}, nil)
	return list[0], nil
}

// owner finds the server of a resource: by the lists, then by the beginnings of its resource
// templates.
func (b *Box) owner(uri string) (Server, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.servers {
		if slices.ContainsFunc(b.offers[s.Name].resources, func(l core.Link) bool { return l.URI == uri }) {
			return s, true
		}
	}
	var best Server
	length := 0
	for _, s := range b.servers {
		for _, head := range b.offers[s.Name].templates {
			if len(head) > length && strings.HasPrefix(uri, head) {
				best, length = s, len(head)
			}
		}
	}
	return best, length > 0
}

// read sends a server a request that is not a call. nil: there is no connection.
func (u *upstream) read(ctx context.Context, method string, members ...wire.Member) (json.RawMessage, error) {
	if u == nil {
		return nil, errClosing
	}
	p, err := u.Acquire(ctx, false)
	if err != nil {
		return nil, err
	}
	defer u.calling(p)()
	return u.rounds(ctx, p, func(more ...wire.Member) (json.RawMessage, error) {
		return p.ask(ctx, method, nil, append(members[:len(members):len(members)], more...)...)
	})
}

// Warm starts the servers of the configuration that can be started without the user's consent and
// whose tools are not known, over connections without a session. It waits for none. The channel is
// closed when each runs or has failed; nil: there is none to wait for.
func (b *Box) Warm(roots []string) <-chan struct{} {
	var begun []*upstream
	for _, s := range b.used() {
		_, known := b.recall(s)
		_, wants := b.logins.Standing(s.Name)
		if known || wants != nil || s.Eager || s.Confirm || b.isStopped(s.Name) || len(begun) == maxOutside {
			continue
		}
		if u := b.side(roots, s); u != nil {
			u.expect()
			begun = append(begun, u)
		}
	}
	if begun == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	done := make(chan struct{})
	b.owned.Go(func() {
		defer close(done)
		for _, u := range begun {
			u.settled(context.Background()) // Close ends them
		}
	})
	return done
}

// maxOutside limits the connections outside of sessions, over all servers and workspaces. There
// are more only while a call is running on each.
const maxOutside = 16

// side returns the connection to a server in a workspace outside of any session: nobody answers
// the server's questions there. It is made when it is first needed. It lasts until Close, or
// until others need its place. nil: the box is closed.
func (b *Box) side(roots []string, server Server) *upstream {
	b.mu.Lock()
	u := b.sideLocked(roots, server)
	over := b.unusedLocked(u)
	b.mu.Unlock()
	for _, o := range over {
		o.retire(whyUnused)
	}
	return u
}

func (b *Box) sideLocked(roots []string, server Server) *upstream {
	if b.closed {
		return nil
	}
	key := server.Name + "\x00" + strings.Join(roots, "\x00")
	u := b.sides[key]
	if u == nil {
		m := core.Meta{Roots: roots}
		if len(roots) > 0 {
			m.Cwd = roots[0]
		}
		u = newUpstream(b, server, trialHost{m}, &b.guard, b.wake)
		ctx, stop := context.WithCancel(context.Background())
		u.stop = stop
		b.sides[key] = u
		b.enterLocked(u)
		b.owned.Go(func() { u.run(ctx) })
	}
	u.used = time.Now()
	return u
}

// unusedLocked removes the excess connections outside of sessions, the longest unused first, but
// not those at work and now. The caller ends them.
func (b *Box) unusedLocked(now *upstream) (over []*upstream) {
	if len(b.sides) <= maxOutside {
		return nil
	}
	keys := slices.SortedFunc(
		maps.Keys(b.sides),
		func(x, y string) int { return b.sides[x].used.Compare(b.sides[y].used) },
	)
	for _, key := range keys {
		if u := b.sides[key]; len(b.sides) > maxOutside && u != now && !u.isCalled() {
			delete(b.sides, key)
			over = append(over, u)
		}
	}
	return over
}

// Close ends the connections without a session. Those of sessions end with their toolsets.
func (b *Box) Close() {
	b.mu.Lock()
	b.closed = true
	for _, u := range b.sides {
		u.stop()
	}
	b.mu.Unlock()
	b.owned.Wait()
	b.guard.Close()
}
