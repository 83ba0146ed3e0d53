package setup

import (
	"fmt"
	"path/filepath"
	"strings"

	"dragoman/bridge/agent"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/egress"
	"dragoman/core/glob"
	"dragoman/core/sandbox"
)

// sandboxDir is the folder, in the data folder, of what sandboxes keep.
const sandboxDir = "sandbox"

// workspace describes to its sandbox where a session works. Without a configuration that can be used
// nothing beside the workspace can be changed, and what is ours is hidden all the same.
func (p *Process) workspace(m core.Meta, made *Profile) sandbox.Workspace {
	w := sandbox.Workspace{
		Roots: append([]string{m.Cwd}, m.Roots...), Home: p.env.Home(), Env: p.env.Getenv, Hidden: p.ownPlaces(),
	}
	if made == nil {
		return w
	}
	c := made.Config.Policy
	w.Most = child.Level(c.Sandbox)
	w.Keep = func(name string) bool { return child.Named(c.Env, name) }
	for _, v := range c.Write {
		if path, err := v.ResolvePath(p.env.Lookup); err == nil {
			w.Write = append(w.Write, path)
		}
	}
	for _, r := range c.Deny {
		if path := literalPath(r, p.env.Home()); path != "" {
			w.Hidden = append(w.Hidden, path)
		}
	}
	if len(c.Deny) > 0 {
		w.Rules = fmt.Sprintf("%p", made.Rights.Rules)
		w.Denied = func(path string) bool {
			return made.Rights.Forbids(m, core.Access{Op: core.OpRead, Path: path})
		}
	}
	return w
}

// ownPlaces lists what is ours: the configuration, with what stands beside it, and the data.
func (p *Process) ownPlaces() (list []string) {
	if dir, err := p.env.DataDir(); err == nil {
		list = append(list, dir)
	}
	if file := configs.UserFile(p.env.Lookup); file != "" {
		list = append(list, filepath.Dir(file))
	}
	for _, file := range []string{p.env.Flags.Config, p.env.Flags.LogFile} {
		if path, err := filepath.Abs(file); err == nil && file != "" {
			list = append(list, path)
		}
	}
	return list
}

// literalPath returns the path that a rule denies as a whole, wherever it is; "": it has wildcards, or
// is about one tool, a command or an address.
func literalPath(r configs.Rule, home string) string {
	if r.Path == "" || r.Tool != "" || r.Server != "" || r.Command != "" || r.URL != "" {
		return ""
	}
	path := strings.TrimSuffix(filepath.ToSlash(r.Path), "/**")
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) || glob.Wild(path) {
		return ""
	}
	return path
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
	return p.sandboxes.Level(child.Level(c.Policy.Sandbox))
}

// terminalOf reports whether commands of a session run in a terminal of its editor although they
// could be confined.
func terminalOf(h core.ToolHost) bool {
	made, err := madeFor(h)
	return err == nil && made.Config.Policy.Terminal == "editor"
}

// agentSandbox holds the sandbox in which the terminals of an external agent run.
func (p *Process) agentSandbox(m core.Meta, h core.Host) (agent.Sandbox, func()) {
	last := func() *Profile {
		if p.plain == nil {
			return nil
		}
		made, _ := p.plain.Last()
		return made
	}
	gate := egress.NewGate(func(address string) core.Verdict {
		return reach(last(), core.Check{Access: []core.Access{{Op: core.OpNet, URL: address}}, Meta: m})
	}, h.Ask)
	return p.sandboxes.Hold(string(m.Principal)+" "+string(m.ID), func() sandbox.Workspace {
		w := p.workspace(m, last())
		w.Serve = gate.Serve
		return w
	})
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

// newSandboxes returns the sandboxes of the process.
func newSandboxes(data string) *sandbox.Sessions {
	if data == "" {
		return sandbox.NewSessions(sandbox.New(), "")
	}
	return sandbox.NewSessions(sandbox.New(), filepath.Join(data, sandboxDir))
}
