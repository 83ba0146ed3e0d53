package setup

import (
	"context"
	"errors"
	"fmt"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/known"
	"dragoman/bridge/agent/launch"
	"dragoman/cmd/internal/agents"
	"dragoman/cmd/internal/confine"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/egress"
	"dragoman/core/sandbox"
)

// workspace describes to its sandbox where a session works. Without a configuration that can be used
// nothing beside the workspace can be changed, and what is ours is hidden all the same.
func (p *Process) workspace(m core.Meta, made *Profile) sandbox.Workspace {
	if made == nil {
		return p.places.Workspace(m, nil)
	}
	w := p.places.Workspace(m, made.Config)
	if len(made.Config.Policy.Deny) > 0 {
		confine.Restrict(&w, m, made.Rights, fmt.Sprintf("%p", made.Rights.Rules))
	}
	return w
}

// workspaceOf is workspace for a session that runs turns.
func (p *Process) workspaceOf(h core.ToolHost) sandbox.Workspace {
	made, err := madeFor(h)
	if err != nil {
		made = nil
	}
	return p.workspace(h.Meta(), made)
}

// Level returns how far commands of sessions are confined here, and the reason if that is not
// child.Full.
func (p *Process) Level(c *configs.Config) (child.Level, string) {
	return p.places.Boxes.Level(child.Level(c.Policy.Sandbox))
}

// trusted returns what a user is told who trusts a session where commands are not confined.
func (p *Process) trusted(t *core.Turn) string {
	level, why := p.Level(madeOf(t.Profile()).Config)
	if level.Confines() {
		return ""
	}
	return "This chat is trusted, and commands cannot be confined here (" + why + "): they run as you, without a sandbox and without a question."
}

// terminalOf reports whether commands of a session run in a terminal of its editor although they
// could be confined.
func terminalOf(h core.ToolHost) bool {
	made, err := madeFor(h)
	return err == nil && made.Config.Policy.Terminal == "editor"
}

// last returns the profile of the configuration that applies without a client's settings; nil: it cannot
// be used.
func (p *Process) last() *Profile {
	if p.plain == nil {
		return nil
	}
	made, _ := p.plain.Last()
	return made
}

// agentSandbox holds the sandbox in which the terminals of an external agent run.
func (p *Process) agentSandbox(m core.Meta, h core.Host) (agent.Sandbox, func()) {
	net := confine.Network(m, func(c core.Check) core.Verdict { return reach(p.last(), c) }, h.Ask)
	box, release := p.places.Boxes.Hold(string(m.Principal)+" "+string(m.ID), func() sandbox.Workspace {
		w := p.workspace(m, p.last())
		w.Serve = net.Serve
		return w
	})
	return terminalBox{box, net}, release
}

// terminalBox is the sandbox of terminals.
type terminalBox struct {
	*sandbox.Session
	net *egress.Session
}

// Notes implements agent.Sandbox.
func (b terminalBox) Notes() []string {
	list := b.Session.Notes()
	for _, n := range b.net.Notes() {
		list = append(list, n.Text)
	}
	return list
}

// confineAgent makes a sandbox for an external agent's program.
func (p *Process) confineAgent(e External, m core.Meta, h core.Host) (in launch.Confined, err error) {
	made := p.last()
	if made == nil {
		return in, errors.New("the configuration has an error, so there is no sandbox for it")
	}
	ask := func(context.Context, core.Ask) (core.Reply, error) {
		return core.Reply{Outcome: core.OutcomeAlone}, nil
	}
	if h != nil {
		ask = h.Ask
	}
	serve := confine.Network(m, made.Rights.Reach, ask).ServeWith(p.agents.tools.Handler())
	return p.places.Agent(e.Name, m, made.Config, known.Of(agents.Words(e.Settings)), made.Rights, serve)
}

// reachOf is reach for a session that runs turns.
func reachOf(h core.ToolHost, c core.Check) core.Verdict {
	made, err := madeFor(h)
	if err != nil {
		made = nil
	}
	return reach(made, c)
}

// reach says whether a program in a sandbox may connect to an address. Without a configuration that
// can be used none may.
func reach(made *Profile, c core.Check) core.Verdict {
	if made == nil {
		return core.Verdict{Effect: core.Deny, Why: "the configuration has an error"}
	}
	return made.Rights.Reach(c)
}
