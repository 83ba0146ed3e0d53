package setup

import (
	"reflect"
	"slices"
	"strconv"

	"dragoman/core"
	"dragoman/core/loop"
)

// backendSpec holds the settings of an agent's back end. Equal ones are the same revision.
type backendSpec struct {
	role      role
	steps     int // requests to the model in a turn
	tools     int // that the model gets
	compactAt int // percent
}

// backends holds the agents whose back ends are in profiles: one for each revision. edition.mu
// guards it.
type backends struct {
	rev  int // the last one assigned
	made []*agentRevision
	// used lists by place (the key of a workspace; basePlace: no workspace) the agents that only
	// the profile of this place has.
	used map[string][]core.Agent
}

// basePlace is the place of the profile without any workspace.
const basePlace = "\x00base"

type agentRevision struct {
	of    backendSpec
	agent core.Agent
	used  bool // the newest profile that it was made for is, or was, in use
}

// agent returns the agent made from m: the same one, as long as a profile has it.
func (p *edition) agent(m backendSpec) core.Agent {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &p.backends
	if m.role.program != nil {
		a := p.externals.hold(p, m.role)
		i := slices.IndexFunc(b.made, func(h *agentRevision) bool { return h.agent.Rev == a.Rev })
		if i < 0 {
			i = len(b.made)
			b.made = append(b.made, &agentRevision{of: m, agent: a})
		}
		b.made[i].used = false
		return a
	}
	i := slices.IndexFunc(b.made, func(a *agentRevision) bool { return reflect.DeepEqual(a.of, m) })
	if i >= 0 {
		b.made[i].used = false // its profile is not in use yet
		return b.made[i].agent
	}
	b.rev++
	a := core.Agent{
		Name:        m.role.Name,
		Rev:         p.name + "." + strconv.Itoa(b.rev),
		Description: m.role.description,
		Model:       m.role.model,
		Backend:     &faultBackend{p.backendOf(m)},
	}
	b.made = append(b.made, &agentRevision{of: m, agent: a})
	return a
}

// backendOf creates the back end of an agent. It starts nothing.
func (p *edition) backendOf(m backendSpec) core.Backend {
	if p.backend != nil {
		if b := p.backend(m.role.Name); b != nil {
			return b
		}
	}
	return loop.New(p.loopOf(m))
}

// use replaces the agents of the profile of a place, and returns those that no place has any
// more.
func (b *backends) use(place string, agents []core.Agent) (retired []core.Agent) {
	if b.used == nil {
		b.used = map[string][]core.Agent{}
	}
	if b.used[place] = agents; len(agents) == 0 {
		delete(b.used, place)
	}
	return b.sweep()
}

// leave removes the agents of all workspaces, whose profiles are gone, and returns the same as
// use.
func (b *backends) leave() (retired []core.Agent) {
	b.used = map[string][]core.Agent{basePlace: b.used[basePlace]}
	return b.sweep()
}

func (b *backends) sweep() (retired []core.Agent) {
	revs := map[string]bool{}
	for _, agents := range b.used {
		for _, a := range agents {
			revs[a.Rev] = true
		}
	}
	b.made = slices.DeleteFunc(b.made, func(a *agentRevision) bool {
		now := revs[a.agent.Rev]
		gone := a.used && !now // an unused agent is about to get into a profile
		if a.used = now || a.used; gone {
			retired = append(retired, a.agent)
		}
		return gone
	})
	return retired
}

// retire makes the gateway close the back ends of agents that no edition has any more, when their
// last turns have ended.
func (p *edition) retire(agents []core.Agent) {
	agents = p.externals.release(p, agents)
	if p.gateway != nil && len(agents) > 0 {
		p.gateway.Retire(agents...)
	}
}
