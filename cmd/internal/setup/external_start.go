package setup

import (
	"context"
	"maps"
	"os"
	"strings"

	"go.uber.org/zap"

	"dragoman/bridge/agent"
	"dragoman/bridge/toolserver"
	"dragoman/cmd/internal/logs"
	"dragoman/core"
	"dragoman/core/child"
)

// sessionToolsCommand is the command of this program that serves a session's tools to its agent.
const sessionToolsCommand = "session-tools"

// agentPrograms makes the back ends of external agents.
type agentPrograms struct {
	pool    *agent.Pool
	tools   *toolserver.Pool
	history *agent.History
	guards  *child.Guards
	version string
	log     *zap.Logger
}

func newAgentPrograms(version, history string, guards *child.Guards, log *zap.Logger) *agentPrograms {
	self, err := os.Executable()
	if err != nil { // then the name has to do
		self = os.Args[0]
	}
	return &agentPrograms{
		pool:    agent.NewPool(),
		tools:   toolserver.New(toolserver.Options{Version: version, Program: []string{self, sessionToolsCommand}}),
		history: agent.NewHistory(history), guards: guards, version: version, log: log,
	}
}

// backend makes the back end of an external agent. It starts nothing.
func (a *agentPrograms) backend(e External) core.Backend {
	var command []string
	for _, word := range e.Settings.ACP.Command {
		command = append(command, word.String())
	}
	choices := map[string]string{}
	for id, value := range e.Settings.Options {
		choices[id] = string(value)
	}
	log := a.log.With(zap.String("agent", e.Name))
	return agent.New(agent.Options{
		Name: e.Name,
		Program: func(ctx context.Context) (agent.Program, error) {
			p, err := e.Program(ctx)
			return agent.Program{Path: p.Path, Args: p.Args, Env: p.Env, Hide: hiding(p.Env)}, err
		},
		Known:   agent.KnownOf(command),
		Choices: choices,
		Paths:   maps.Clone(e.Settings.Paths),
		Direct:  e.Settings.MCP == "direct",
		Idle:    e.Settings.Idle,
		Shared:  e.Settings.Shared,
		Version: a.version,
		Pool:    a.pool,
		History: a.history,
		Tools:   a.tools,
		Guards:  a.guards,
		Log: func(level, text string) {
			l, err := logs.ParseLevel(level)
			if err != nil {
				l = zap.InfoLevel
			}
			log.Log(l, text)
		},
	})
}

// Store adds to a store the sessions that external agents had by themselves. No agent is started
// for a list.
func (p *Process) Store(s core.Store) core.Store {
	return agent.Store{Store: s, History: p.agents.history, Offers: func(name string) bool {
		if p.plain == nil {
			return false
		}
		made, err := p.plain.Last()
		return err == nil && made.Config.Agents[name].External()
	}}
}

// hiding returns a function that removes the values of configured variables from a text.
func hiding(env map[string]string) func(string) string {
	var pairs []string
	for name, value := range env {
		if len(value) >= 8 { // shorter ones are settings, and would damage the text
			pairs = append(pairs, value, "["+name+"]")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
