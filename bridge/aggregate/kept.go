package aggregate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// request asks the server for a list and keeps it. It returns the connection that has given the list;
// nil: none has.
func (p *part) request(ctx context.Context, k kind) *upstream.Peer {
	ctx, cancel := context.WithTimeout(ctx, max(p.server.StartFor(), time.Minute))
	defer cancel()
	var list []json.RawMessage
	var peer *upstream.Peer
	at := 0
	for range 2 {
		var err error
		if peer, err = p.acquire(ctx, false); err != nil {
			return nil // it was logged
		}
		if p.view != nil {
			at = p.view.Changes()
		}
		if !p.has(k, peer) {
			break
		}
		var ok bool
		if list, ok = p.keptFor(k, peer, at); ok {
			break
		}
		list, err = peer.List(ctx, kinds[k].method, kinds[k].field)
		if errors.Is(err, wire.ErrClosed) {
			peer = nil
			continue
		}
		if err != nil {
			refused := (*jrpc2.Error)(nil)
			if errors.As(err, &refused) && !peer.Lists() {
				break // it may only know tools/call
			}
			if refused == nil || refused.Code != jrpc2.MethodNotFound {
				p.log("warn", kinds[k].method+": "+display.Plain(err.Error()))
			}
			return nil
		}
		break
	}
	if peer == nil {
		return nil
	}
	if k != toolList || p.view == nil {
		p.keep(k, list, nil)
		return peer
	}
	shown, held := p.view.Agreed(list, at)
	p.mu.Lock()
	p.kept = keptTools{peer, at, list}
	p.mu.Unlock()
	p.keep(k, shown, held)
	return peer
}

// keptTools is the list of tools that a server has given on a connection after at changes.
type keptTools struct {
	on   *upstream.Peer
	at   int
	list []json.RawMessage
}

// keptFor returns the list that a server would give on a connection after at changes, without asking
// it; false: it has to be asked.
func (p *part) keptFor(k kind, on *upstream.Peer, at int) ([]json.RawMessage, bool) {
	if k != toolList || p.view == nil || !on.AnnouncesTools() {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept.list, p.kept.on == on && p.kept.at == at
}

// keep stores a list, and the names of tools that are not in it because they must be agreed to first.
// Items that cannot be used are left out and logged.
func (p *part) keep(k kind, list []json.RawMessage, held []string) {
	p.mu.Lock()
	items := p.known[k]
	p.mu.Unlock()
	same := slices.EqualFunc(items, list, func(a item, b json.RawMessage) bool { return bytes.Equal(a.raw, b) })
	var out []string
	if !same {
		items, out = usable(k, list)
	}
	runs := p.running() != nil
	p.mu.Lock()
	same = same || slices.EqualFunc(p.known[k], items, func(a, b item) bool { return bytes.Equal(a.raw, b.raw) })
	late := p.late && !same
	p.known[k] = items
	if k == toolList {
		p.held = held
	}
	if runs {
		p.late = false
	}
	p.mu.Unlock()
	if !same {
		for _, why := range out {
			p.log("warn", "left out of "+kinds[k].method+": "+display.Plain(why))
		}
	}
	if late {
		p.side.changed(k)
	}
}

// usable returns the items of a list that can be used, and the reasons for leaving out the others.
func usable(k kind, list []json.RawMessage) (items []item, out []string) {
	items = make([]item, 0, len(list))
	taken := make(map[string]bool, len(list))
	for _, words := range list {
		id, err := idOf(k, words)
		switch {
		case err != nil:
			out = append(out, err.Error())
			continue
		case id == "" || k < namedKinds && len(id) > upstream.MaxName || len(id) > maxURI:
			out = append(out, fmt.Sprintf("its %s %.40q has %d bytes", kinds[k].id, id, len(id)))
			continue
		case taken[id]:
			out = append(out, fmt.Sprintf("there are two of the %s %.100q", kinds[k].id, id))
			continue
		}
		taken[id] = true
		items = append(items, item{id, words})
	}
	return items, out
}

// idOf returns the name or URI of an item; "": it has none.
func idOf(k kind, words json.RawMessage) (id string, err error) {
	if len(words) == 0 || words[0] != '{' {
		return "", errors.New("expected an object")
	}
	var seen [allKinds]bool
	for key, value := range wire.Members(words) {
		i := slices.IndexFunc(kinds[:], func(of struct{ method, field, id, changed string }) bool { return of.id == string(key) })
		switch {
		case i < 0:
			continue
		case seen[i]:
			return "", fmt.Errorf("duplicate member %s", key)
		case string(value) != "null" && value[0] != '"':
			return "", fmt.Errorf("%s: expected a string", key)
		}
		if seen[i] = true; kinds[i].id == kinds[k].id {
			id = jsonscan.Text(value)
		}
	}
	return id, nil
}

// maxURI limits a URI, in bytes.
const maxURI = 8 << 10
