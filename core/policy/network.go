package policy

import (
	"strings"

	"dragoman/core"
)

// Reach returns the verdict on a connection that a program in a sandbox wants to make; the check's one
// access is its address. Nobody has looked at the connection, so less allows it than a call: rules
// that name its address. Neither trust does, nor the default, nor a rule for the command. Of an
// https address the path is not known: rules about paths of its host ask.
func (p *Policy) Reach(c core.Check) core.Verdict {
	f := p.look(c)
	if r, ok := p.denies(f); ok {
		return core.Verdict{Effect: core.Deny, Why: "denied by " + r.name()}
	}
	for _, r := range append(p.deny[:len(p.deny):len(p.deny)], p.ask...) {
		if r.touches(f) || r.mayReach(f) {
			return p.reached(f, core.Verdict{Effect: core.MustAsk, Hard: true, Why: "must be asked by " + r.name()})
		}
	}
	for _, r := range p.allow {
		if r.URL != "" && r.names(f) && len(c.Access) == 1 && r.covers(f, 0) {
			return core.Verdict{Effect: core.Allow, Why: "allowed by " + r.name()}
		}
	}
	return p.reached(f, core.Verdict{Effect: core.MustAsk, Why: "no rule allows it"})
}

// reached narrows a verdict where the turn takes no approvals.
func (p *Policy) reached(f facts, v core.Verdict) core.Verdict {
	if narrows(f.check.Origin.Approvals) {
		return core.Verdict{Effect: core.Deny, Why: v.Why + ", and nothing can be approved in this turn"}
	}
	return v
}

// mayReach reports whether a rule is about some of the pages of an address whose path is not known.
func (r rule) mayReach(f facts) bool {
	if r.url.path == nil || !r.names(f) || r.Path != "" || r.Command != "" {
		return false
	}
	host := r.url
	host.path, host.folded = nil, nil
	for _, a := range f.check.Access {
		if strings.HasPrefix(a.URL, "https:") && host.mentions(a.URL) {
			return true
		}
	}
	return false
}

// Reach is Policy.Reach for a session. No rule allows what an agent that only looks, or one that the
// workspace proposes, wants to reach.
func (p Rights) Reach(c core.Check) core.Verdict {
	agents := []string{c.Settings.Agent}
	if c.Meta.Parent != "" {
		agents = append(agents, c.Meta.ParentAgent)
	}
	for _, name := range agents {
		if r, ok := p.role(name); ok && (r.Foreign || r.Looks) {
			return p.Strict.Reach(c)
		}
	}
	return p.Rules.Reach(c)
}
