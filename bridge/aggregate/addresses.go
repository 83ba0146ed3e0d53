package aggregate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
)

// addresses gives the resources, or the tasks, of several servers unique addresses: the URI or id that
// the server has chosen, or, if another server has it already, the same with a mark of the server. An
// address keeps its meaning for as long as the client stays, whichever servers come later.
type addresses struct {
	limit int

	mu    sync.Mutex // guards the fields below
	by    map[string]ref
	given map[ref]string // those that differ from the server's own
}

// maxAddresses limits the URIs whose servers are remembered.
const maxAddresses = 100_000

func newAddresses(limit int) *addresses {
	return &addresses{limit: limit, by: map[string]ref{}, given: map[ref]string{}}
}

// give returns the address of a resource or task. It gets one if it has none: its own, if that is
// free.
func (a *addresses) give(r ref, free bool) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if address, ok := a.ofLocked(r); ok {
		return address
	}
	if len(a.by) >= a.limit { // forgotten ones are looked for at the servers
		clear(a.by)
		clear(a.given)
	}
	address := r.name
	if _, taken := a.by[address]; taken || !free {
		address += mark(r)
		for i := 2; a.by[address] != (ref{}); i++ {
			address = fmt.Sprint(r.name, mark(r), "_", i)
		}
		a.given[r] = address
	}
	a.by[address] = r
	return address
}

// of returns the address of a resource or task, if it has one.
func (a *addresses) of(r ref) (address string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ofLocked(r)
}

func (a *addresses) ofLocked(r ref) (address string, ok bool) {
	if address, ok = a.given[r]; ok {
		return address, true
	}
	return r.name, a.by[r.name] == r
}

// find returns what an address means.
func (a *addresses) find(address string) (r ref, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok = a.by[address]
	return r, ok
}

// mark returns the end of an address that another server has, too. It is a fragment, so that a program
// that opens the URI by itself finds what the server has meant.
func mark(r ref) string {
	if strings.Contains(r.name, "#") {
		return "&dragoman.server=" + url.PathEscape(r.server)
	}
	return "#dragoman.server=" + url.PathEscape(r.server)
}

// unmarked returns an address without the mark of a server; false: it has none.
func unmarked(address, server string) (own string, ok bool) {
	own, ok = strings.CutSuffix(address, mark(ref{server: server})[1:])
	if !ok || len(own) < 2 || !strings.ContainsAny(own[len(own)-1:], "#&") {
		return "", false
	}
	return own[:len(own)-1], true
}

// isReserved reports whether a URI is one of our agent's.
func isReserved(uri string) bool {
	const scheme = "dragoman:"
	return len(uri) >= len(scheme) && strings.EqualFold(uri[:len(scheme)], scheme)
}

// isWeb reports whether a client can read a URI without any server.
func isWeb(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")
}

// listed returns the address of an item of a list.
func (s *side) listed(k kind, p *part, id string) string {
	if k == taskList {
		return s.caller.tasks.give(ref{p.server.Name, id}, true)
	}
	return s.caller.uris.give(ref{p.server.Name, id}, p.agent() || !isReserved(id))
}

// addressOf returns the address of a URI that a server's message names. It may be in no list; the client
// will look for it at this server.
func (s *side) addressOf(p *part, uri string) string {
	r := ref{p.server.Name, uri}
	if address, ok := s.caller.uris.of(r); ok || p.agent() {
		return address
	}
	other, _ := s.routed(uri)
	if _, taken := s.caller.uris.find(uri); !taken && other == nil && isWeb(uri) {
		return uri // it means the same from every server
	}
	return s.caller.uris.give(r, !isReserved(uri) && (other == nil || other == p))
}

// ownOf returns a server's own form of a URI that a client has used.
func (s *side) ownOf(p *part, uri string) string {
	if q, own := s.owner(uri); q == p {
		return own
	}
	return uri
}

// spot is a place in a message, as far as addresses are concerned.
type spot uint8

const (
	elsewhere spot = iota
	inResult
	inMessage // of a prompt
	inBlock   // of content
	inResource
	inTool // of a list
	inMeta
	inApp
	inTask
	inNote     // parameters of a server's notification
	inQuestion // parameters of a server's request, or the result that answers it
	isURI
	isTask
)

// spots has the members that lead to an address. An array stands for each of its elements.
var spots = map[spot]map[string]spot{
	inResult: {
		"content": inBlock, "contents": inResource, "messages": inMessage, "_meta": inMeta,
		"taskId": isTask, "task": inTask, "result": inResult, // of a task
	},
	inMessage:  {"content": inBlock},
	inBlock:    {"uri": isURI, "resource": inResource, "content": inBlock, "_meta": inMeta},
	inResource: {"uri": isURI, "_meta": inMeta},
	inTool:     {"_meta": inMeta},
	inMeta:     {"ui": inApp, "ui/resourceUri": isURI, "openai/outputTemplate": isURI, proto.MetaTask: inTask},
	inApp:      {"resourceUri": isURI},
	inTask:     {"taskId": isTask},
	inNote:     {"uri": isURI, "taskId": isTask, "_meta": inMeta},
	inQuestion: {"_meta": inMeta}, // the task of its own member is the client's
}

// addressed returns a message of a server's, or a part of one, with the addresses that clients know.
func (s *side) addressed(p *part, at spot, words json.RawMessage) json.RawMessage {
	return readdressed(at, words, func(kind spot, id string) string {
		if kind == isTask {
			return s.caller.tasks.give(ref{p.server.Name, id}, true)
		}
		return s.addressOf(p, id)
	})
}

// own returns a message for a server, or a part of one, with the server's own addresses.
func (s *side) own(at spot, words json.RawMessage) json.RawMessage {
	return readdressed(at, words, func(kind spot, id string) string {
		find := s.caller.uris.find
		if kind == isTask {
			find = s.caller.tasks.find
		}
		if r, ok := find(id); ok {
			return r.name
		}
		return id
	})
}

// readdressed replaces the addresses in a message. One without any is returned itself.
func readdressed(at spot, words json.RawMessage, by func(kind spot, id string) string) json.RawMessage {
	if !mayAddress(words) {
		return words
	}
	words, _ = replaced(at, words, by)
	return words
}

// mayAddress reports whether a message may have an address: it has such a member, or one that is
// written with escapes.
func mayAddress(words []byte) bool {
	for _, end := range []string{`"uri"`, `esourceUri"`, `utputTemplate"`, `"taskId"`, `\u00`} {
		if bytes.Contains(words, []byte(end)) {
			return true
		}
	}
	return false
}

func replaced(at spot, words json.RawMessage, by func(kind spot, id string) string) (_ json.RawMessage, changed bool) {
	switch {
	case jsonscan.IsString(words) && (at == isURI || at == isTask):
		id := jsonscan.Text(words)
		if now := by(at, id); now != id {
			return wire.JSON(now), true
		}
	case len(words) > 0 && words[0] == '[':
		list := []byte{'['}
		for all := jsonscan.ElementsOf(words, wire.MaxDepth); all.Next(); {
			now, other := replaced(at, all.Val, by)
			changed = changed || other
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, now...)
		}
		if changed {
			return append(list, ']'), true
		}
	case len(words) > 0 && words[0] == '{':
		var changes []wire.Member
		for name, value := range wire.Members(words) {
			if to := spots[at][string(name)]; to == elsewhere {
				continue
			} else if now, other := replaced(to, value, by); other {
				changes = append(changes, wire.Set(string(name), now))
			}
		}
		if changes != nil {
			return wire.Edit(words, changes...), true
		}
	}
	return words, false
}
