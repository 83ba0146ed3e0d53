package setup

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"dragoman/cmd/internal/confine"
	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/models"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/servers"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
	"dragoman/core/kept"
	"dragoman/core/limits"
	"dragoman/core/share"
	"dragoman/core/tools"
)

// lookEvery is the interval of looks at the files while a client is connected.
const lookEvery = 2 * time.Second

// Process holds the shared state of all connections of a process: the files of the configuration,
// the stored keys, the limits of providers, our own tools with their jobs, and the running MCP
// servers. A [Client] holds the additions of one connection.
type Process struct {
	env       *program.Environment
	secrets   *secrets.Store
	store     *servers.Store
	log       *logs.Log
	board     *board.Board
	gateway   *core.Gateway // nil: nothing is run
	logins    *secrets.Logins
	offers    *models.Offers
	answers   *kept.Store // those that people gave for good
	meter     *limits.Meter
	native    core.Toolbox // our own tools
	servers   *upstreams
	chosen    string                         // Options.Agent
	backend   func(name string) core.Backend // Options.Backend
	externals *externals
	agents    *agentPrograms
	places    *confine.Places
	plain     *Client        // of the unchanged configuration; nil: nothing is run
	sharing   *share.Sharing // nil: no other process uses the sessions
	posted    postedServers
	changed   func(configs.FileStates) bool // checks the configuration's files for changes

	loading chan struct{} // holds one token, which the loading goroutine takes

	mu       sync.Mutex // guards the fields below
	editions []*edition // in use
	made     int        // number of editions so far
	clients  int        // number of clients so far
}

// Options are the parts of a Process other than the configuration.
type Options struct {
	Env     *program.Environment
	Secrets *secrets.Store
	Servers *servers.Store
	Log     *logs.Log
	// Agent is the default agent, in place of the configuration's; empty: that one.
	Agent string
	// External makes the back end of an external agent; it starts nothing. nil: they are programs.
	External func(External) core.Backend
	// Backend makes the back end of a revision of an agent, by the agent's name. If it returns
	// nil the agent uses the built-in loop; nil: all do.
	Backend func(name string) core.Backend
}

// OpenLog starts the program's log according to the flags.
func OpenLog(env *program.Environment) (*logs.Log, error) {
	return logs.Open(
		logs.Options{Level: env.Flags.LogLevel, File: env.Flags.LogFile, Err: env.Err, Env: env.Lookup},
	)
}

// New prepares a process. It reads nothing.
func New(o Options) *Process {
	data := o.Env.DataFile("")
	guards := &child.Guards{} // one of a session, for its commands and its servers
	p := &Process{
		env:     o.Env,
		secrets: o.Secrets,
		store:   o.Servers,
		log:     o.Log,
		chosen:  o.Agent,
		backend: o.Backend,
		board:   board.New(),
		logins:  o.Secrets.Logins(),
		offers:  models.NewOffers(o.Env.DataFile),
		answers: kept.Open(o.Env.AnswersFile()),
		meter:   limits.New(o.Env.DataFile("limits.json"), time.Now),
		loading: make(chan struct{}, 1),
		changed: configs.FileStates.Changed,
		servers: &upstreams{
			options: o.Servers.Options(), env: o.Env.Lookup, run: secrets.NewPrograms().Run,
			log: o.Log.Logger, logs: logs.OpenServers(data), audit: logs.OpenAudit(data),
		},
	}
	p.places = confine.New(o.Env)
	p.servers.places = p.places
	p.agents = newAgentPrograms(o.Env, p.servers.run, guards, p.agentSandbox, p.board, o.Log.Logger)
	p.agents.confine = p.confineAgent
	if o.External == nil {
		o.External = p.agents.backend
	}
	p.externals = &externals{backend: o.External}
	p.servers.options.AgreedFile, p.servers.options.Guards = o.Servers.AgreedFile(), guards
	p.servers.options.Owner, p.servers.options.Connection = core.Local, nameOf
	p.native = tools.New(tools.Options{
		Subagents: subagents, Forbids: forbids, Keep: keep, Guards: guards, Board: p.board,
		Sandboxes: p.places.Boxes, Workspace: p.workspaceOf, Reach: reachOf, Terminal: terminalOf,
	})
	return p
}

// Join sets the gateway of the process, in which commands find sessions. It is called before the
// first profile is requested.
func (p *Process) Join(g *core.Gateway) { p.gateway = g }

// Board shows the models, agents, servers and jobs of all connections. It is also the Listing of
// the gateway.
func (p *Process) Board() *board.Board { return p.board }

// Config returns the options of a gateway over a store. Clients without a connection have the
// unchanged configuration.
func (p *Process) Config(store core.Store) core.Config {
	plain := p.Client(ClientOptions{Principal: core.Local})
	p.plain = plain
	return core.Config{
		Store: store, Profiles: plain, Listing: p.board, Node: program.Node(),
	}
}

// Client begins a connection. Close ends it.
func (p *Process) Client(o ClientOptions) *Client {
	p.mu.Lock()
	p.clients++
	name := "connection " + strconv.Itoa(p.clients)
	p.mu.Unlock()
	return &Client{
		process:   p,
		name:      name,
		layer:     overlay{people: o.People, quiet: o.Quiet, allow: o.Allow},
		principal: o.Principal,
	}
}

// Watch looks at the files every lookEvery until ctx ends, so that clients that show models,
// agents and commands are notified of a change. Meanwhile it asks the services of models for what
// they offer.
func (p *Process) Watch(ctx context.Context) {
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() { p.often(ctx, (*edition).ask) })
	p.often(ctx, (*edition).look)
}

// often calls f for all editions in use every lookEvery until ctx ends.
func (p *Process) often(ctx context.Context, f func(*edition, context.Context)) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, e := range p.all() {
				f(e, ctx)
			}
		}
	}
}

// all lists the editions in use.
func (p *Process) all() []*edition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.editions)
}

// finders lists the finders of the editions in use, an edition's own first.
func (p *Process) finders(own *Profile) (list []*models.Finder) {
	if own != nil {
		list = append(list, own.Finder)
	}
	for _, e := range p.all() {
		e.mu.Lock()
		made := e.made
		e.mu.Unlock()
		if made != nil && made != own {
			list = append(list, made.Finder)
		}
	}
	return list
}

// Close closes the connections to models and servers.
func (p *Process) Close() {
	for _, e := range p.all() {
		e.close()
	}
	p.servers.close()
	p.agents.tools.Close()
	p.agents.guards.Close()
}

// choose returns the edition of an overlay, with one more use counted, and releases the use of
// the previous one; nil: none. An edition without other users takes over the new overlay itself,
// so that everything in it keeps running. The caller must end the edition in over.
func (p *Process) choose(o overlay, before *edition) (now, over *edition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := o.key()
	i := slices.IndexFunc(p.editions, func(e *edition) bool { return e.key == key })
	switch {
	case i >= 0 && p.editions[i] == before:
		return before, nil
	case i >= 0:
		now = p.editions[i]
	case before != nil && before.users == 1:
		before.key = key
		before.lay(o)
		return before, nil
	default:
		now = newEdition(p, o, p.made)
		p.made++
		p.editions = append(p.editions, now)
	}
	now.users++
	return now, p.leaveLocked(before)
}

// leaveLocked ends a use of an edition, which is returned if it was the last one.
func (p *Process) leaveLocked(e *edition) (over *edition) {
	if e == nil {
		return nil
	}
	if e.users--; e.users > 0 {
		return nil
	}
	p.editions = slices.DeleteFunc(p.editions, func(o *edition) bool { return o == e })
	return e
}

// leave ends a use of an edition.
func (p *Process) leave(e *edition) {
	p.mu.Lock()
	over := p.leaveLocked(e)
	p.mu.Unlock()
	over.end()
}
