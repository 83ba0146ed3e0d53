package aggregate

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
)

// kind is a kind of list.
type kind uint8

const (
	toolList kind = iota
	promptList
	resourceList
	templateList
	taskList // of 2025-11-25
	allKinds
	namedKinds = resourceList // the kinds before it get names from us
)

// kinds has the method of each list, the members of its result, and the notification of changes.
var kinds = [allKinds]struct{ method, field, id, changed string }{
	toolList:     {proto.MethodListTools, "tools", "name", proto.NoteToolsChanged},
	promptList:   {proto.MethodListPrompts, "prompts", "name", proto.NotePromptsChanged},
	resourceList: {proto.MethodListResources, "resources", "uri", proto.NoteResourcesChanged},
	templateList: {proto.MethodListTemplates, "resourceTemplates", "uriTemplate", proto.NoteResourcesChanged},
	taskList:     {proto.MethodListTasks, "tasks", "taskId", ""},
}

func kindOf(method string) kind {
	for k := range kinds {
		if kinds[k].method == method {
			return kind(k)
		}
	}
	return allKinds
}

// has reports whether a server has such a list.
func (p *part) has(k kind, peer *upstream.Peer) bool {
	c := peer.Caps
	switch k {
	case toolList:
		return c.Tools != nil
	case promptList:
		return c.Prompts != nil
	case resourceList:
		return c.Resources != nil
	case templateList:
		return c.Resources != nil && peer.Lists()
	case taskList:
		return c.HasTasks() && !peer.Modern()
	case allKinds:
	}
	return false
}

// item is an element of a list.
type item struct {
	id  string          // the server's own name or URI
	raw json.RawMessage // as the server has written it
}

// snapshot is a list of which the client has got the first page.
type snapshot struct {
	at    uint64 // its number in the process
	items []json.RawMessage
}

const (
	// pageItems is the size of a page, in items.
	pageItems = 1000
	// maxListing limits the open requests for one list of a server.
	maxListing = 4
)

// list answers a request for a page of a list.
func (s *side) list(ctx context.Context, call *wire.Call, q request) {
	k := kindOf(call.Method)
	if q.cursor != "" {
		s.mu.Lock()
		have := s.lists[k]
		s.mu.Unlock()
		from, ok := s.caller.agg.openCursor(q.cursor, k, have)
		if !ok {
			call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams,
				"the cursor is not one of this list, or the list was asked for again since"))
			return
		}
		call.Reply(s.page(k, have, from), nil)
		return
	}
	s.aside(func() {
		call.Reply(s.page(k, s.gather(ctx, call.Context(), k), 0), nil)
	})
}

// page returns a page of a list, with a cursor if there is more.
func (s *side) page(k kind, of *snapshot, from int) wire.ValidJSON {
	to := min(from+pageItems, len(of.items))
	size := 256
	for _, item := range of.items[from:to] {
		size += len(item) + 1
	}
	b := append(make([]byte, 0, size), `{"`...)
	b = append(b, kinds[k].field...)
	b = append(b, `":[`...)
	for i, item := range of.items[from:to] {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	b = append(b, ']')
	if to < len(of.items) {
		b = append(append(append(b, `,"nextCursor":"`...), s.caller.agg.cursor(k, of.at, to)...), '"')
	}
	if s.modern() {
		b = append(b, `,"resultType":"complete","ttlMs":0,"cacheScope":"private"`...)
	}
	return append(b, '}')
}

// cursor encodes the beginning of a page, with a signature so that it cannot be forged.
func (a *Server) cursor(k kind, at uint64, from int) string {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64([]byte{byte(k)}, at), uint32(from)) //nolint:gosec // maxItems bounds it
	mac := hmac.New(sha256.New, a.key)
	mac.Write(b)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(b)[:len(b)+16])
}

func (a *Server) openCursor(text string, k kind, of *snapshot) (from int, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != 13+16 || of == nil {
		return 0, false
	}
	from = int(binary.BigEndian.Uint32(b[9:13]))
	return from, from < len(of.items) && hmac.Equal([]byte(a.cursor(k, of.at, from)), []byte(text))
}

// gather asks all servers for a list at the same time. It waits for slow ones for at most the
// grace, takes their last list instead, and notifies the client when theirs arrives. ctx bounds the
// wait, life the requests that continue after it.
func (s *side) gather(life, ctx context.Context, k kind) *snapshot {
	grace, cancel := context.WithTimeout(ctx, s.caller.agg.box.Grace())
	defer cancel()
	parts := s.parts()
	waits := make([]chan struct{}, 0, len(parts))
	for _, p := range parts {
		done := make(chan struct{})
		waits = append(waits, done)
		s.caller.owned.Go(func() {
			defer close(done)
			p.look(life, k)
		})
	}
	for i, done := range waits {
		if parts[i].isLate() {
			continue // an earlier list has waited in vain
		}
		select {
		case <-done:
		case <-grace.Done():
			parts[i].isLateNow()
		}
	}
	return s.put(k)
}

// isLate reports whether a list need not wait for the server.
func (p *part) isLate() bool {
	runs := p.running() != nil
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late && !runs
}

func (p *part) isLateNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = true
}

// listing is a request to a server for all pages of a list.
type listing struct {
	at   int            // View.Changes at its beginning
	done chan struct{}  // closed at its end
	on   *upstream.Peer // the connection that it was made on; nil: it failed; set before done is closed
}

// look asks the server for a list and keeps it. If too many requests for the list are open, it waits
// for the newest of them instead.
func (p *part) look(ctx context.Context, k kind) {
	l := &listing{done: make(chan struct{})}
	p.mu.Lock()
	full := len(p.looks[k]) >= maxListing && !p.agent() // the agent answers at once
	if full {
		l = p.looks[k][len(p.looks[k])-1]
	} else {
		p.looks[k] = append(p.looks[k], l)
	}
	p.mu.Unlock()
	if full {
		until(ctx, l.done)
		return
	}
	l.on = p.request(ctx, k)
	p.mu.Lock()
	p.looks[k] = slices.DeleteFunc(p.looks[k], func(o *listing) bool { return o == l })
	p.mu.Unlock()
	close(l.done)
}

// until waits for the end of one of both.
func until(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// lookForCall asks the server for its tools, because a call cannot be judged by the list that is
// known, and returns the connection that has given the list; nil: none has. Calls that come while the
// tools are listed wait for that, unless the list has changed since it began.
func (p *part) lookForCall(ctx context.Context) *upstream.Peer {
	for came := p.view.Changes(); ; {
		mine := &listing{at: p.view.Changes(), done: make(chan struct{})}
		p.mu.Lock()
		l := p.judges
		if l == nil {
			l, p.judges = mine, mine
		}
		p.mu.Unlock()
		if l == mine {
			l.on = p.request(ctx, toolList)
			p.mu.Lock()
			p.judges = nil
			p.mu.Unlock()
			close(l.done)
			return l.on
		}
		if until(ctx, l.done); ctx.Err() != nil {
			return nil
		}
		if l.at >= came {
			return l.on
		}
	}
}

// listedItem is an item of a server's list.
type listedItem struct {
	part *part
	item
}

// ref returns the item as its server knows it.
func (it listedItem) ref() ref { return ref{it.part.server.Name, it.id} }

// put combines the known lists of all servers into one.
func (s *side) put(k kind) *snapshot {
	var all []listedItem
	var expected, held []ref
	for _, p := range s.parts() {
		up := p.running() != nil
		p.mu.Lock()
		known := p.known[k]
		if k == toolList {
			for _, name := range p.held {
				held = append(held, ref{p.server.Name, name})
			}
		}
		p.mu.Unlock()
		for _, it := range known {
			all = append(all, listedItem{p, it})
		}
		if k == toolList && !up && !p.agent() {
			for _, name := range p.export.Pinned() {
				expected = append(expected, ref{p.server.Name, name})
			}
		}
	}
	snap := &snapshot{at: s.caller.agg.lists.Add(1)}
	var told map[ref]string
	if k < namedKinds {
		told = s.putNames(k, snap, all, expected, held)
	} else {
		told = s.putAddresses(k, snap, all)
	}
	s.mu.Lock()
	before := s.lists[k]
	s.lists[k] = snap
	s.mu.Unlock()
	if before == nil || len(before.items) != len(snap.items) {
		for r, what := range told {
			s.caller.agg.box.Log(r.server, "warn",
				fmt.Sprintf("%.100q %s %s: another server has the same", r.name, what, kinds[k].method))
		}
	}
	return snap
}

// putNames puts tools or prompts into a snapshot, under unique names. It returns those that get none.
func (s *side) putNames(k kind, snap *snapshot, all []listedItem, expected, held []ref) (left map[ref]string) {
	refs := make([]ref, 0, len(all))
	for i, it := range all {
		refs = append(refs, it.ref())
		all[i].raw = s.addressed(it.part, inTool, it.raw)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left = map[ref]string{}
	for _, r := range s.names[k].assign(refs, expected) {
		left[r] = "is left out of"
	}
	s.names[k].hold(held)
	own := 0
	for _, it := range all {
		name := s.names[k].given[it.ref()]
		if name == "" {
			continue
		}
		words := it.raw
		if name != it.id {
			words = wire.Edit(words, wire.Set("name", wire.JSON(name)))
		}
		if it.part.agent() {
			own++
		}
		snap.items = append(snap.items, words)
	}
	if k == toolList {
		snap.items, s.hidden = s.behindSearch(snap.items[:own], snap.items)
	}
	return left
}

// putAddresses puts resources, templates or tasks into a snapshot, under unique addresses. It returns
// those that differ from the servers' own.
func (s *side) putAddresses(k kind, snap *snapshot, all []listedItem) (marked map[ref]string) {
	marked = map[ref]string{}
	var routes []route
	for _, it := range all {
		words, address := it.raw, s.listed(k, it.part, it.id)
		if address != it.id {
			words = wire.Edit(words, wire.Set(kinds[k].id, wire.JSON(address)))
			marked[it.ref()] = fmt.Sprintf("is %.200q in", address)
		}
		if r, ok := newRoute(it.part, address, it.id); ok && k == templateList {
			routes = append(routes, r)
		}
		snap.items = append(snap.items, words)
	}
	if k == resourceList && len(s.said()) > 0 {
		snap.items = append(snap.items, instructionsItem)
	}
	if k == templateList {
		sortRoutes(routes)
		s.mu.Lock()
		s.routes = routes
		s.mu.Unlock()
	}
	return marked
}

// tellEvery is the shortest time between two notifications of changes of a list.
const tellEvery = 200 * time.Millisecond

// changed notifies the client of a changed list, at most once per tellEvery.
func (s *side) changed(k kind) {
	if k == templateList {
		k = resourceList // both have one notification
	}
	if kinds[k].changed == "" {
		return
	}
	s.mu.Lock()
	told := s.stirred[k]
	s.stirred[k] = true
	s.mu.Unlock()
	if told {
		return
	}
	time.AfterFunc(tellEvery, func() {
		s.mu.Lock()
		s.stirred[k] = false
		s.mu.Unlock()
		s.tellChanged(k)
	})
}
