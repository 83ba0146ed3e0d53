package setup

import (
	"context"
	"os"
	"strings"

	"go.uber.org/zap"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/elsewhere"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/paths"
	"dragoman/bridge/agent/signin"
	"dragoman/bridge/toolserver"
	"dragoman/cmd/internal/agents"
	"dragoman/cmd/internal/integrity"
	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
)

// sessionToolsCommand is the command of this program that serves a session's tools to its agent.
const sessionToolsCommand = "session-tools"

// agentPrograms makes the back ends of external agents.
type agentPrograms struct {
	pool    *agent.Pool
	tools   *toolserver.Pool
	history *elsewhere.History
	notes   *signin.Notes
	guards  *child.Guards
	locks   *launch.Locks
	sandbox func(core.Meta, core.Host) (agent.Sandbox, func())
	confine func(External, core.Meta, core.Host) (launch.Confined, error)
	env     *program.Environment
	run     configs.Run      // runs programs for keys
	known   *integrity.Store // of programs, to notice changes
	board   *board.Board
	log     *zap.Logger
}

func newAgentPrograms(env *program.Environment, run configs.Run, guards *child.Guards, sandbox func(core.Meta, core.Host) (agent.Sandbox, func()), jobs *board.Board, log *zap.Logger) *agentPrograms {
	self, err := os.Executable()
	if err != nil { // then the name has to do
		self = os.Args[0]
	}
	return &agentPrograms{
		pool:    agent.NewPool(),
		tools:   toolserver.New(toolserver.Options{Version: env.Version, Program: []string{self, sessionToolsCommand}}),
		history: elsewhere.NewHistory(env.DataFile(agents.HistoryFile)),
		notes:   signin.NewNotes(env.DataFile(agents.NotesFile)),
		known:   agents.Records(env),
		board:   jobs,
		locks:   &launch.Locks{Dir: env.DataFile(agents.LocksFolder)},
		guards:  guards, sandbox: sandbox, env: env, run: run, log: log,
	}
}

// backend makes the back end of an external agent. It starts nothing.
func (a *agentPrograms) backend(e External) core.Backend {
	log := a.log.With(zap.String("agent", e.Name))
	o := agents.Options(e.Name, e.Settings, a.env.Lookup, a.run, agent.Options{
		Version: a.env.Version,
		Pool:    a.pool,
		History: a.history,
		Notes:   a.notes,
		Tools:   a.tools,
		Guards:  a.guards,
		Locks:   a.locks,
		Sandbox: a.sandbox,
		Environ: func() []string { return a.env.AgentEnviron(e.Name) },
		Log: func(level, text string) {
			l, err := logs.ParseLevel(level)
			if err != nil {
				l = zap.InfoLevel
			}
			log.Log(l, text)
		},
	})
	if e.Settings.Confined() {
		o.Confine = func(m core.Meta, h core.Host) (launch.Confined, error) { return a.confine(e, m, h) }
	}
	o = agents.Checked(a.known, e.Settings, nil, o)
	find := o.Program
	o.Program = func(ctx context.Context, h core.Host) (agent.Program, error) {
		if err := a.env.MayStart(e.Name); err != nil {
			return agent.Program{}, err
		}
		return find(ctx, h)
	}
	return agents.Make(e.Settings, o, a.board)
}

// Store adds to a store the sessions that external agents had by themselves. No agent is started
// for a list.
func (p *Process) Store(s core.Store) core.Store {
	return elsewhere.Store{Store: s, Principal: core.Local, History: p.agents.history, Agents: p.configured}
}

// configured lists the external agents of the configuration that applies without a client's settings.
func (p *Process) configured() map[string]elsewhere.Agent {
	list := map[string]elsewhere.Agent{}
	if p.plain == nil {
		return list
	}
	made, err := p.plain.Last()
	if err != nil {
		return list
	}
	for name, a := range made.Config.Agents {
		if a.External() {
			list[name] = elsewhere.Agent{Program: strings.Join(agents.Words(a), "\x00"), Has: paths.Has(a.Paths)}
		}
	}
	return list
}
