package aggregate

import (
	"fmt"
	"strings"

	"dragoman/core"
	"dragoman/core/inference"
)

// Prefix says when the names of servers' tools and prompts begin with the server's.
type Prefix string

const (
	PrefixCollision Prefix = "collision" // where several have the same
	PrefixNever     Prefix = "never"     // of several with the same the first one counts
	PrefixAlways    Prefix = "always"
)

// ref is a tool, or a prompt, as its server names it. Our agent's server is
// core.Native.
type ref struct{ server, name string }

// names gives the tools of several servers names that no two share. A name that was
// given once means the same tool for as long as the names live, and what it means is
// looked up, never read from it.
type names struct {
	prefix Prefix
	legal  bool // only what every client takes for a tool's name
	given  map[ref]string
	by     map[string]ref
	long   map[string]ref // by the spelling with the server's name, which always works
}

func newNames(p Prefix, legal bool) *names {
	return &names{prefix: p, legal: legal, given: map[ref]string{}, by: map[string]ref{}, long: map[string]ref{}}
}

// assign names what was not named before. expected are those that may come, which
// counts for what collides. It returns those that get no name.
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

// choose is a name for what has none; "": it gets none.
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
	for i := 2; n.by[name] != (ref{}); i++ { // another's own name is spelled like that
		end := fmt.Sprintf("_%d", i)
		name = strings.TrimSuffix(name, fmt.Sprintf("_%d", i-1))
		name = name[:min(len(name), inference.MaxToolName-len(end))] + end
	}
	return name
}

// bare is a name without its server's.
func (n *names) bare(name string) string {
	if !n.legal || inference.LegalToolName(name) {
		return name
	}
	return inference.ToolName(core.Native, name)
}

// find looks up what a name means.
func (n *names) find(name string) (ref, bool) {
	r, ok := n.by[name]
	if !ok {
		r, ok = n.long[name]
	}
	return r, ok
}
