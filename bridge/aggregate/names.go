package aggregate

import (
	"fmt"
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
	have := map[string]string{} // the one server that has a name, or "" for several
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
	for _, r := range list {
		note(r)
	}
	for _, r := range expected {
		note(r)
	}
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
