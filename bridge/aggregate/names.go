package aggregate

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/inference"
)

// Prefix is a rule for when the name of a tool or prompt begins with its server's name.
type Prefix string

const (
	PrefixCollision Prefix = "collision" // if several servers have the name
	PrefixNever     Prefix = "never"     // if several servers have the name, the first one gets it
	PrefixAlways    Prefix = "always"
)

// ref is the server of a tool or prompt, and the server's own name for it. The server of our
// agent is core.Native.
type ref struct{ server, name string }

// names gives the tools of several servers unique names. A name keeps its meaning for as long as
// the names live. Its meaning is looked up, never parsed from the name.
type names struct {
	prefix Prefix
	legal  bool // use only characters that every client accepts in a tool's name
	given  map[ref]string
	by     map[string]ref
	long   map[string]ref // by the name with the server's prefix, which always works
	held   map[string]ref // by names that they would get: tools that are not listed
}

func newNames(p Prefix, legal bool) *names {
	return &names{
		prefix: p,
		legal:  legal,
		given:  map[ref]string{},
		by:     map[string]ref{},
		long:   map[string]ref{},
	}
}

// assign names what has no name yet. expected are tools that may come later; they count as
// collisions. It returns those that get no name.
func (n *names) assign(list []ref, expected []ref) (left []ref) {
	if !slices.ContainsFunc(list, func(r ref) bool { return n.given[r] == "" }) {
		return nil
	}
	have := n.owners(list, expected)
	for _, r := range list {
		if _, ok := n.given[r]; ok {
			continue
		}
		name := n.choose(r, have[n.bare(r.name)] == "")
		if name == "" {
			left = append(left, r)
			continue
		}
		n.given[r], n.by[name] = name, r
		if long := inference.ToolName(r.server, r.name); r.server != core.Native && n.long[long] == (ref{}) {
			n.long[long] = r
		}
	}
	return left
}

// owners returns the one server that has a name without a prefix, by name, or "" for several. Tools
// that have got their names count, too.
func (n *names) owners(lists ...[]ref) map[string]string {
	have := map[string]string{}
	note := func(r ref) {
		name := n.bare(r.name)
		if server, ok := have[name]; ok && server != r.server {
			have[name] = ""
			return
		}
		have[name] = r.server
	}
	for r := range n.given {
		note(r)
	}
	for _, list := range lists {
		for _, r := range list {
			note(r)
		}
	}
	return have
}

// hold replaces the tools that are not listed because a user must agree to them first. Clients may
// know their names from elsewhere.
func (n *names) hold(list []ref) {
	n.held = nil
	if len(list) == 0 {
		return
	}
	n.held = map[string]ref{}
	have := n.owners(list)
	for _, r := range list {
		if n.given[r] != "" {
			continue // it was listed before
		}
		if name := n.choose(r, have[n.bare(r.name)] == ""); name != "" && n.held[name] == (ref{}) {
			n.held[name] = r
		}
		if long := inference.ToolName(r.server, r.name); n.held[long] == (ref{}) {
			n.held[long] = r
		}
	}
}

// choose returns a name for a tool that has none; "": it gets none.
func (n *names) choose(r ref, collides bool) string {
	bare := n.bare(r.name)
	_, taken := n.by[bare]
	switch {
	case !taken && (r.server == core.Native || n.prefix == PrefixNever || n.prefix != PrefixAlways && !collides):
		return bare
	case n.prefix == PrefixNever && r.server != core.Native:
		return ""
	}
	name := inference.ToolName(r.server, r.name)
	for i := 2; n.by[name] != (ref{}); i++ { // it is the name of another tool
		end := fmt.Sprintf("_%d", i)
		name = strings.TrimSuffix(name, fmt.Sprintf("_%d", i-1))
		name = name[:min(len(name), inference.MaxToolName-len(end))] + end
	}
	return name
}

// bare returns a name without a prefix.
func (n *names) bare(name string) string {
	if !n.legal || inference.LegalToolName(name) {
		return name
	}
	return inference.ToolName(core.Native, name)
}

// find looks up a name.
func (n *names) find(name string) (ref, bool) {
	r, ok := n.by[name]
	if !ok {
		r, ok = n.long[name]
	}
	return r, ok
}
