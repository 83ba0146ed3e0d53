// Package confine describes to sandboxes where programs work, by the user's configuration: commands of
// sessions, MCP servers and external agents.
package confine

import (
	"crypto/rand"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"dragoman/bridge/agent/known"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/egress"
	"dragoman/core/glob"
	"dragoman/core/sandbox"
)

// sandboxDir is the folder, in the data folder, of what sandboxes keep.
const sandboxDir = "sandbox"

// Places has the sandboxes of the process.
type Places struct {
	env   *program.Environment
	Boxes *sandbox.Sessions
}

// New returns the sandboxes of the process. It starts nothing.
func New(env *program.Environment) *Places {
	folder := ""
	if data, err := env.DataDir(); err == nil {
		folder = filepath.Join(data, sandboxDir)
	}
	return &Places{env: env, Boxes: sandbox.NewSessions(sandbox.New(), folder)}
}

// Workspace describes where a session works. Without a configuration, nil, nothing beside its folders
// can be changed.
func (p *Places) Workspace(m core.Meta, c *configs.Config) sandbox.Workspace {
	w := sandbox.Workspace{
		Roots: append([]string{m.Cwd}, m.Roots...), Home: p.env.Home(), Env: p.env.Getenv, Hidden: p.ours(),
	}
	if c == nil {
		return w
	}
	w.Most = child.Level(c.Policy.Sandbox)
	w.Keep = func(name string) bool { return child.Named(c.Policy.Env, name) }
	w.Write = p.paths(c.Policy.Write)
	for _, r := range c.Policy.Deny {
		if path := literalPath(r, p.env.Home()); path != "" {
			w.Hidden = append(w.Hidden, path)
		}
	}
	return w
}

// Rules are the user's rules, as far as sandboxes know them. policy.Rights implements it.
type Rules interface {
	Forbids(core.Meta, core.Access) bool
	Reach(core.Check) core.Verdict
}

// Restrict adds to a workspace what rules deny. id tells one set of rules from another.
func Restrict(w *sandbox.Workspace, m core.Meta, rules Rules, id string) {
	w.Rules, w.Denied = id, func(path string) bool {
		return rules.Forbids(m, core.Access{Op: core.OpRead, Path: path})
	}
}

// Network judges which addresses programs of a session reach that are not its own commands.
func Network(m core.Meta, reach func(core.Check) core.Verdict, ask upstream.Ask) *egress.Session {
	return egress.NewSession(func(address string) core.Verdict {
		return reach(core.Check{Access: []core.Access{{Op: core.OpNet, URL: address}}, Meta: m})
	}, ask)
}

// Server returns what starts the program of an MCP server in a sandbox of its own; nil: the
// configuration does not say so. Without rules, nil, it reaches no host.
func (p *Places) Server(c *configs.Config, name string, rules Rules) upstream.Confine {
	s := c.MCPServers[name]
	if !s.Confined() {
		return nil
	}
	return func(id string, m core.Meta, ask upstream.Ask) (*child.Guard, func(), error) {
		w := p.program(m, c, s.Sandbox, s.Write, rules)
		w.Keep = func(name string) bool { _, given := s.Env[name]; return given }
		if rules != nil && ask != nil && !w.Open {
			w.Serve = Network(m, rules.Reach, ask).Serve
		}
		return p.Boxes.Alone("server "+name+" "+id, w)
	}
}

// Agent makes a sandbox for the program of an external agent, of which is is known. serve is the way out
// of one whose network is confined; nil: there is none.
func (p *Places) Agent(name string, m core.Meta, c *configs.Config, is known.Agent, rules Rules, serve func(net.Listener) (stop func())) (in launch.Confined, err error) {
	a := c.Agents[name]
	started, _ := a.Program()
	for _, word := range started.Command {
		if data, err := p.env.DataDir(); err == nil && strings.HasPrefix(word.String(), data+string(filepath.Separator)) {
			return in, fmt.Errorf("%s is in the data folder, which programs in a sandbox do not see; install the agent without --data-dir and DRAGOMAN_DATA", word)
		}
	}
	w := p.program(m, c, a.Sandbox, a.Write, rules)
	for _, path := range is.Own {
		w.Own = append(w.Own, filepath.Join(p.env.Home(), path))
	}
	w.Keep = func(name string) bool { _, given := started.Env[name]; return given }
	if !w.Open && serve != nil {
		w.Serve, in.Tools = serve, sandbox.ProxyAddress
	}
	in.Args = is.Bare
	in.Guard, in.Release, err = p.Boxes.Alone("agent "+name+" "+rand.Text(), w)
	return in, err
}

// program describes where a program works that is no command.
func (p *Places) program(m core.Meta, c *configs.Config, how string, own []configs.Value, rules Rules) sandbox.Workspace {
	w := p.Workspace(m, c)
	w.Open, w.Own = how == configs.SandboxNetwork, p.paths(own)
	if rules != nil && len(c.Policy.Deny) > 0 {
		Restrict(&w, m, rules, "")
	}
	return w
}

func (p *Places) paths(list []configs.Value) (paths []string) {
	for _, v := range list {
		if path, err := v.ResolvePath(p.env.Lookup); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// ours lists what is ours: the configuration, with what stands beside it, and the data.
func (p *Places) ours() (list []string) {
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
