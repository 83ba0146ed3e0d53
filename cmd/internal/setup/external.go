package setup

import (
	"slices"
	"strconv"
	"sync"

	"dragoman/cmd/internal/agents"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/policy"
)

// External describes an external agent to the maker of its back end.
type External struct {
	Name     string
	Settings configs.Agent
}

// externalRole returns the role of an external agent: it may do whatever the policy allows.
func externalRole(name string, a configs.Agent) role {
	return role{
		Role: policy.Role{
			Name:    name,
			Primary: a.Mode != "subagent",
			Sub:     a.Mode == "subagent" || a.Mode == "all",
		},
		description: agents.Description(a),
		program:     &a,
	}
}

// externals holds the agents that are programs of their own: one revision for each name and
// settings. Other than those of the loop they are the same in the profiles of all editions, because
// a program that has begun a session should continue it whoever prompts next.
type externals struct {
	backend func(External) core.Backend

	mu   sync.Mutex // a leaf; guards the fields below
	rev  int        // the last one assigned
	made []*externalRevision
}

type externalRevision struct {
	of    role
	agent core.Agent
	held  map[*edition]bool // editions that have it
}

// hold returns the agent of a role for the profiles of an edition. The description is the role's:
// with another one it is still the same program.
func (x *externals) hold(e *edition, r role) core.Agent {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.made, func(h *externalRevision) bool { return sameProgram(h.of, r) })
	if i < 0 { // making a back end starts nothing
		x.rev++
		i = len(x.made)
		x.made = append(x.made, &externalRevision{of: r, held: map[*edition]bool{}, agent: core.Agent{
			Name:     r.Name,
			Rev:      "external." + strconv.Itoa(x.rev),
			External: true,
			Backend:  &faultBackend{x.backend(External{r.Name, *r.program})},
		}})
	}
	x.made[i].held[e] = true
	a := x.made[i].agent
	a.Description = r.description
	return a
}

// release says that an edition has no profile with these agents any more. It returns those that no
// other edition has.
func (x *externals) release(e *edition, list []core.Agent) (last []core.Agent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range list {
		i := slices.IndexFunc(x.made, func(h *externalRevision) bool { return h.agent.Name == a.Name && h.agent.Rev == a.Rev })
		if i >= 0 {
			if delete(x.made[i].held, e); len(x.made[i].held) > 0 {
				continue
			}
			x.made = slices.Delete(x.made, i, i+1)
		}
		last = append(last, a)
	}
	return last
}

// leave says that an edition has ended. It returns the agents that no other edition has.
func (x *externals) leave(e *edition) (last []core.Agent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.made = slices.DeleteFunc(x.made, func(h *externalRevision) bool {
		delete(h.held, e)
		if len(h.held) == 0 {
			last = append(last, h.agent)
		}
		return len(h.held) == 0
	})
	return last
}

// sameProgram reports whether two roles are of the same external agent with the same settings,
// wherever they are written. Those that only concern choosing it do not count.
func sameProgram(a, b role) bool {
	one, other := *a.program, *b.program
	one.Description, other.Description = "", ""
	one.Mode, other.Mode = "", ""
	return a.Name == b.Name && one.Same(other)
}
