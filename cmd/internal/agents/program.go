package agents

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"strings"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/elsewhere"
	"dragoman/bridge/agent/known"
	"dragoman/bridge/agent/signin"
	"dragoman/bridge/ecaserver"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
)

// Backend is the back end of an external agent, whatever protocol it speaks.
type Backend interface {
	core.Backend
	// SignIns lists the ways to sign in that are known, and reports whether the agent wants a login.
	SignIns() (list []signin.Method, wanted, known bool)
	AskSignIns(context.Context) ([]signin.Method, error)
	Authenticate(ctx context.Context, method string, hear signin.Listener) error
	Instead(signin.Method) string
	Login(ctx context.Context, method string, t signin.LoginTerminal) (signin.Method, error)
	Logout(context.Context) error
	// List asks the agent for its own sessions.
	List(context.Context) ([]elsewhere.Listed, error)
}

// ServesECA reports whether an external agent is an ECA server.
func ServesECA(a configs.Agent) bool { return !a.ECA.IsZero() }

// Make makes the back end of an external agent with Options. It starts nothing. The jobs of an agent that
// tells them are on the board (nil: they are not).
func Make(a configs.Agent, o agent.Options, jobs ecaserver.Board) Backend {
	if ServesECA(a) {
		return ecaserver.New(ecaserver.Options{Options: o, Board: jobs})
	}
	return agent.New(o)
}

// Options returns the options of an external agent's back end: the given ones, and those of its
// settings. Its program and what it gets are looked up by env and run at each start.
func Options(name string, a configs.Agent, env configs.Env, run configs.Run, o agent.Options) agent.Options {
	o.Name, o.Known = name, known.Of(Words(a))
	started, _ := a.Program()
	o.Program = func(ctx context.Context, _ core.Host) (agent.Program, error) { return resolve(ctx, started, env, run) }
	o.Choices = map[string]string{}
	for id, value := range a.Options {
		o.Choices[id] = string(value)
	}
	o.Paths, o.Direct, o.Idle, o.Shared = maps.Clone(a.Paths), a.MCP == "direct", a.Idle, a.Shared
	return o
}

// Words returns the command of an external agent as it is written.
func Words(a configs.Agent) (words []string) {
	started, _ := a.Program()
	for _, w := range started.Command {
		words = append(words, w.String())
	}
	return words
}

// resolve looks up the references in the settings of an external agent's program, so that a key may
// change between two starts. It blocks while programs for keys run. The error names the place of a
// mistake in the file.
func resolve(ctx context.Context, a configs.AgentProgram, env configs.Env, run configs.Run) (p agent.Program, err error) {
	for i, word := range a.Command {
		s, err := word.Resolve(env)
		if err == nil && i == 0 && isPath(s) {
			s, err = word.ResolvePath(env)
		}
		if err != nil {
			return agent.Program{}, err
		}
		if i == 0 {
			p.Path = s
		} else {
			p.Args = append(p.Args, s)
		}
	}
	if p.Env, err = configs.ResolveSecrets(ctx, a.Env, env, run); err != nil {
		return agent.Program{}, err
	}
	p.Hide = hiding(p.Env)
	return p, nil
}

// hiding returns a function that removes the values of configured variables from a text.
func hiding(env map[string]string) func(string) string {
	var pairs []string
	for name, value := range env {
		if len(value) >= 8 || len(value) > 2 && display.SecretName("env."+name) { // others are settings, and would damage the text
			pairs = append(pairs, value, "["+name+"]")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// isPath reports whether a program is named by its path, which may start at the configuration's
// folder or at the home folder.
func isPath(program string) bool {
	return strings.ContainsAny(program, "/"+string(filepath.Separator))
}

// Description returns the line that describes an external agent where agents are chosen.
func Description(a configs.Agent) string {
	program := ""
	if words := Words(a); len(words) > 0 {
		program = filepath.Base(words[0])
	}
	return cmp.Or(a.Description, "External agent ("+program+")")
}
