package setup

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/models"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/servers"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
	"dragoman/core/commands"
	"dragoman/core/guide"
	"dragoman/core/llm"
	"dragoman/core/policy"
	"dragoman/core/tools"
)

const (
	// lookEvery is how often files are looked at while somebody is connected.
	lookEvery = 2 * time.Second
	// maxWorkspaces is how many workspaces' profiles are kept.
	maxWorkspaces = 256
)

// Profiles makes the core's profiles out of the configuration, the keys that were
// given and what files of a workspace propose: at the first session or prompt, not
// at the start, and again when a file has changed. Of a configuration that becomes
// wrong the one before goes on, and what is wrong is told; while there is none
// before, it is told each time and looked at again each time, so that mending the
// file is enough.
type Profiles struct {
	// People says that it is they who write the prompts, and not other agents.
	People bool
	// Quiet says that the adapter tells by itself what is wrong with the configuration.
	Quiet bool
	// Lends are the clients that lend their models; nil: none do.
	Lends llm.Sampler

	env     *program.Environment
	secrets *secrets.Store
	store   *servers.Store
	log     *logs.Log
	board   *board.Board
	gateway *core.Gateway // nil: nothing is run
	logins  *secrets.Logins
	guides  *guides
	boxes   []core.Toolbox // of every profile
	servers *upstreams
	slash   *commands.Commands
	changed func(configs.Sightings) bool // looks at the configuration's files

	loading chan struct{} // holds the one token of whoever loads

	mu       sync.Mutex        // guards the fields below
	editor   *configs.Config   // the editor's settings that hold
	wider    *wider            // the editor's settings that wait for the user; nil: none
	routes   map[string]route  // where a client has providers reached
	made     *Profile          // nil: there is none yet
	seen     configs.Sightings // of the files that it comes from
	stale    bool              // it must be made anew, whatever the files say
	tried    bool
	fault    string // why the newest configuration is not in use; "": it is
	places   map[string]*placed
	backends backends
	listed   map[string]core.Account // as they were told; nil: nobody was told yet
}

// Profile is a core.Profile and what stands behind it.
type Profile struct {
	core.Profile
	Config *configs.Config
	Finder *models.Finder // of its models
	Rights policy.Rights  // of its agents

	roles []role
}

// role finds an agent's.
func (p *Profile) role(name string) (role, bool) {
	i := slices.IndexFunc(p.roles, func(r role) bool { return r.Name == name })
	if i < 0 {
		return role{}, false
	}
	return p.roles[i], true
}

// placed is a profile as it is in a workspace.
type placed struct {
	*Profile
	roots    []string
	of       *Profile
	guide    *guide.Guide // that the fields below come from; nil: the folders cannot be looked at
	roles    []role       // that the workspace's files propose
	agents   []core.Agent // of these roles
	commands []core.Command
}

// Options are what profiles are made of, beside the configuration.
type Options struct {
	Env     *program.Environment
	Secrets *secrets.Store
	Servers *servers.Store
	Log     *logs.Log
}

// OpenLog starts the program's log as the flags say.
func OpenLog(env *program.Environment) (*logs.Log, error) {
	return logs.Open(
		logs.Options{Level: env.Flags.LogLevel, File: env.Flags.LogFile, Err: env.Err, Env: env.Lookup},
	)
}

// New prepares profiles. It reads nothing.
func New(o Options) *Profiles {
	data := o.Env.DataFile("")
	guards := &child.Guards{} // a session's, for its commands and its servers
	p := &Profiles{
		env: o.Env, secrets: o.Secrets, store: o.Servers, log: o.Log,
		board: board.New(), logins: o.Secrets.Logins(), guides: newGuides(o.Env.Lookup),
		loading: make(chan struct{}, 1), places: map[string]*placed{},
		changed: configs.Sightings.Changed,
		servers: &upstreams{
			options: o.Servers.Options(), env: o.Env.Lookup, run: secrets.NewPrograms().Run,
			log: o.Log.Logger, logs: logs.OpenServers(data), audit: logs.OpenAudit(data),
		},
	}
	p.servers.options.AgreedFile, p.servers.options.Guards = o.Servers.AgreedFile(), guards
	p.slash = p.newCommands()
	p.guides.options.Refuse = p.refuses
	keep := func() []string { return p.config().Policy.Env }
	p.boxes = []core.Toolbox{
		tools.New(tools.Options{Subagents: p.subagents, Forbids: p.forbids, Keep: keep, Guards: guards, Board: p.board}), p.guides,
	}
	return p
}

// Join names the gateway of these profiles, in which commands find sessions. It is called before the first profile is asked for.
func (p *Profiles) Join(g *core.Gateway) { p.gateway = g }

// Board shows the models, agents, servers and jobs of these profiles. It is also the Listing of
// their gateway.
func (p *Profiles) Board() *board.Board { return p.board }

// Servers returns the MCP servers of the configuration, as they run; nil before the first load.
func (p *Profiles) Servers() *upstream.Box { return p.servers.current() }

// Get is core.Config.Profile. Its error is the configuration's own: file, line,
// column, key, and what to write instead.
func (p *Profiles) Get(ctx context.Context, roots []string) (*core.Profile, error) {
	made, err := p.In(ctx, roots)
	if err != nil {
		return nil, err
	}
	return &made.Profile, nil
}

// Rules is core.Config.Rules: a look at the configuration's files, with the guide as the turn
// has seen it.
func (p *Profiles) Rules(ctx context.Context, roots []string) (*core.Profile, error) {
	base, err := p.Load()
	if err != nil {
		return nil, err
	}
	return &p.at(base, roots, p.guides.last(ctx, roots)).Profile, nil
}

// In returns the profile of a workspace after a look at the configuration's files and at the
// guide's. The same one is returned for as long as nothing has changed.
func (p *Profiles) In(ctx context.Context, roots []string) (*Profile, error) {
	base, err := p.Load()
	if err != nil {
		return nil, err
	}
	return p.at(base, roots, p.guides.look(ctx, roots)), nil
}

// lastIn returns the profile of a workspace as of the last look.
func (p *Profiles) lastIn(ctx context.Context, roots []string) (*Profile, error) {
	base, err := p.Last()
	if err != nil {
		return nil, err
	}
	return p.at(base, roots, p.guides.last(ctx, roots)), nil
}

// at returns what a profile comes to with the guide of a workspace, and tells everybody when
// its agents or commands are others than before.
func (p *Profiles) at(base *Profile, roots []string, from *guide.Guide) *Profile {
	key := strings.Join(roots, "\x00")
	p.mu.Lock()
	have := p.places[key]
	p.mu.Unlock()
	if have != nil && have.of == base && have.guide == from {
		return have.Profile
	}
	next := p.place(base, roots, from)
	p.mu.Lock()
	have = p.places[key]
	if have != nil && have.of == base && reflect.DeepEqual(have.roles, next.roles) &&
		reflect.DeepEqual(have.commands, next.commands) {
		same := *have
		same.guide = from
		p.places[key] = &same
		p.mu.Unlock()
		return have.Profile
	}
	var retired []core.Agent
	if len(p.places) >= maxWorkspaces {
		clear(p.places)
		retired = p.backends.leave()
	}
	p.places[key] = next
	retired = append(retired, p.backends.use(key, next.agents)...)
	p.mu.Unlock()
	p.retire(retired)
	if have != nil && have.of == base && len(roots) > 0 {
		p.board.Put(board.Topic{Kind: "agents", Workspace: roots[0]}, board.Agents{Agents: next.Agents})
	}
	return next.Profile
}

// place adds to a profile what the files of a workspace, and the user's own,
// propose.
func (p *Profiles) place(base *Profile, roots []string, from *guide.Guide) *placed {
	pl := &placed{Profile: base, roots: roots, of: base, guide: from}
	if from == nil {
		return pl
	}
	pl.commands = from.List()
	pl.roles, _ = fileRoles(base.roles, from.Agents(), base.offers) // the doctor tells what is wrong with them
	if len(pl.roles) == 0 {
		return pl
	}
	made := *base
	made.roles = slices.Concat(base.roles, pl.roles)
	made.Rights.Roles = rolesOf(made.roles)
	made.Policy = made.Rights
	made.Agents, made.Subagents = slices.Clone(base.Agents), slices.Clone(base.Subagents)
	for _, r := range pl.roles {
		a := p.agentOf(r, base.Config)
		made.add(r, a)
		pl.agents = append(pl.agents, a)
	}
	pl.Profile = &made
	return pl
}

// subagents lists the agents that tasks can be handed to in a session.
func (p *Profiles) subagents(m core.Meta) []tools.Subagent {
	made, err := p.lastIn(context.Background(), m.Roots)
	if err != nil {
		return nil // a turn says so
	}
	var list []tools.Subagent
	for _, r := range made.roles {
		if r.Sub {
			list = append(list, tools.Subagent{Name: r.Name, Description: r.description, MaxSteps: r.steps})
		}
	}
	return list
}

// forbids is what reports, in a session, whether a rule forbids to read a file or a
// folder, or to fetch a page.
func (p *Profiles) forbids(m core.Meta) (func(core.Access) bool, error) {
	made, err := p.lastIn(context.Background(), m.Roots)
	if err != nil {
		return nil, err
	}
	return func(a core.Access) bool { return made.Rights.Forbids(m, a) }, nil
}

// refuses reports whether a rule forbids to read a file, so that no guide includes
// it. What cannot be told is refused.
func (p *Profiles) refuses(path string) bool {
	made, err := p.Last()
	if err != nil {
		return true
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return made.Rights.Forbids(core.Meta{}, core.Access{Op: core.OpRead, Path: path})
}

// offers reports whether a model is among those that can be chosen.
func (p *Profile) offers(model string) bool {
	return slices.ContainsFunc(p.Models, func(i core.ModelInfo) bool { return i.ID == model })
}

// add offers an agent.
func (p *Profile) add(r role, a core.Agent) {
	if r.Primary {
		p.Agents = append(p.Agents, a)
	}
	if r.Sub {
		p.Subagents = append(p.Subagents, a)
	}
}

// Last returns the profile without any workspace as of the last look, which whoever began the
// prompt or the call has made. It looks only where nothing could be made yet, or something other
// than a file has changed.
func (p *Profiles) Last() (*Profile, error) {
	p.mu.Lock()
	made, stale := p.made, p.stale
	p.mu.Unlock()
	if made == nil || stale {
		return p.Load()
	}
	return made, nil
}

// Load returns the profile without any workspace after a look at the files that it comes from.
func (p *Profiles) Load() (*Profile, error) {
	if made := p.current(); made != nil {
		return made, nil
	}
	p.loading <- struct{}{}
	made, tell, err := p.current(), func() {}, error(nil)
	if made == nil { // else somebody was quicker
		made, tell, err = p.reload()
	}
	<-p.loading
	tell() // those who hear of it may ask for the profile
	return made, err
}

// current is the profile that was made, unless it must be made anew.
func (p *Profiles) current() *Profile {
	p.mu.Lock()
	made, seen, stale := p.made, p.seen, p.stale
	p.mu.Unlock()
	if made == nil || stale || p.changed(seen) {
		return nil
	}
	return made
}

// reload reads everything anew. It is called with the loading token; tell is to be
// called without it.
func (p *Profiles) reload() (made *Profile, tell func(), err error) {
	p.mu.Lock()
	editor, routes, old, tried := p.editor, maps.Clone(p.routes), p.made, p.tried
	p.stale, p.tried = false, true
	p.mu.Unlock()
	seen := configs.SightingsOf(p.env.ConfigFile(), p.env.ServersFile(), p.logins.Path())
	config, err := p.env.LoadConfig(editor)
	config = directed(config, routes)
	for _, f := range config.Files(p.env.Lookup) {
		seen[f] = configs.SightingOf(f)
	}
	if err == nil {
		made, err = p.make(config, old)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = seen
	if err != nil {
		return p.keepOldLocked(err)
	}
	p.made, p.fault = made, ""
	p.guides.forget()
	retired := p.backends.use(basePlace, slices.Concat(made.Agents, made.Subagents))
	return made, func() {
		p.retire(retired)
		p.announce(made, old == nil, tried)
		if old != nil {
			old.Finder.Close()
		}
	}, nil
}

// keepOldLocked returns the profile in use when the configuration has become wrong, with the
// mistake as its Fault; while there is none, the mistake is the error.
func (p *Profiles) keepOldLocked(mistake error) (made *Profile, tell func(), err error) {
	text := mistake.Error()
	news := text != p.fault
	p.fault = text
	if p.made == nil {
		return nil, func() {}, mistake
	}
	if !news {
		return p.made, func() {}, nil
	}
	same := *p.made
	same.Fault = text
	p.made = &same
	return &same, func() {
		p.log.Logger.Error("the configuration is wrong; the previous one stays in use", zap.String("problem", text))
		p.post(&same)
	}, nil
}

// announce says that a profile is in use from now on; first says that there was none before,
// again that somebody had asked for one.
func (p *Profiles) announce(made *Profile, first, again bool) {
	p.log.Follow(made.Config.Log)
	for _, w := range made.Config.Warnings {
		p.log.Logger.Warn("configuration", zap.String("warning", w.String()))
	}
	p.log.Logger.Info(
		"configuration read",
		zap.String("file", made.Config.Source),
		zap.Stringer("model", made.Finder.Choice),
		zap.String("because", made.Finder.Choice.Reason),
	)
	if first {
		p.board.Put(board.Topic{Kind: "server", Name: core.Native}, nativeServer(made.Toolboxes[0]))
	}
	p.postAccounts(p.newAccounts())
	if again {
		p.post(made)
	}
}

// post tells everybody to look at the profile again.
func (p *Profiles) post(made *Profile) {
	p.board.Put(board.Topic{Kind: "models"}, board.Models{Models: made.Models, Default: made.DefaultModel})
	p.board.Put(board.Topic{Kind: "agents"}, board.Agents{Agents: made.Agents})
}

// nativeServer lists our own tools for clients that show what there is.
func nativeServer(box core.Toolbox) board.Server {
	item := board.Server{Name: core.Native, Status: "running"}
	set, err := box.Open(context.Background(), nobody{}) // it touches nothing before a call
	if err != nil {
		item.Status, item.Why = "failed", err.Error()
		return item
	}
	list, err := set.Tools(context.Background())
	if err = errors.Join(err, set.Close()); err != nil {
		item.Status, item.Why = "failed", err.Error()
	}
	for _, t := range list {
		item.Tools = append(item.Tools, t.Spec())
	}
	return item
}

// nobody is the host of tools that are only looked at.
type nobody struct{ core.ToolHost }

// Meta implements core.ToolHost.
func (nobody) Meta() core.Meta { return core.Meta{} }

// Editor implements core.ToolHost.
func (nobody) Editor() core.Editor { return nil }

// Watch looks at the files now and then until ctx ends, so that those who show
// models, agents and commands hear of a change.
func (p *Profiles) Watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.look(ctx)
		}
	}
}

// look makes anew what has changed. Nobody has asked for anything before the first
// session or prompt, and so there is nothing to look at.
func (p *Profiles) look(ctx context.Context) {
	p.mu.Lock()
	idle := !p.tried || p.made == nil && !p.stale && !p.changed(p.seen)
	var places [][]string
	for _, pl := range p.places {
		places = append(places, pl.roots)
	}
	p.mu.Unlock()
	if idle {
		return
	}
	if _, err := p.Load(); err != nil {
		return // it is told to whoever needs it
	}
	for _, roots := range places {
		_, _ = p.In(ctx, roots) // as above
	}
}

// faultNow is why the newest configuration is not in use; "": it is.
func (p *Profiles) faultNow() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// faultToShow is the same where the agent's turns have to say it.
func (p *Profiles) faultToShow() string {
	if p.Quiet {
		return ""
	}
	return p.faultNow()
}

// config is the configuration in use as of the last look; the defaults where there is none.
func (p *Profiles) config() *configs.Config {
	if made, err := p.Last(); err == nil {
		return made.Config
	}
	return configs.Defaults()
}

// Close gives up the connections to models and servers.
func (p *Profiles) Close() {
	p.mu.Lock()
	made := p.made
	p.mu.Unlock()
	if made != nil {
		made.Finder.Close()
	}
	p.servers.close()
}

// make translates a configuration. It opens nothing but the files that agents'
// instructions refer to. old is the profile that is replaced; nil: there is none.
func (p *Profiles) make(c *configs.Config, old *Profile) (*Profile, error) {
	rules, strict, err := newPolicies(c, p.env.Lookup, p.secrets.Files()...)
	if err != nil {
		return nil, err
	}
	roles, err := newRoles(c, p.env.Lookup)
	if err != nil {
		return nil, err
	}
	o := models.Options{Env: p.env.Lookup, Given: p.logins, KeyFile: p.env.ConfigFile(), Lends: p.Lends}
	if old != nil {
		o.Before = old.Finder
	}
	m := models.New(c, o)
	made := &Profile{
		Config: c, Finder: m, roles: roles,
		Rights: policy.Rights{Rules: rules, Strict: strict, Roles: rolesOf(roles), Default: codeAgent},
	}
	box := p.servers.toolbox(c, p.board)
	made.Profile = core.Profile{
		Models: m.Infos(), DefaultModel: m.Choice.String(), Toolboxes: append(p.boxes[:len(p.boxes):len(p.boxes)], box), Policy: made.Rights, AskTimeout: c.Policy.AskTimeout,
		Commands: p.commands(box), Expand: p.slash.Expand, Resources: box, Files: tools.NewFiles(tools.FilesOptions{Policy: rules}), Model: chosenBy(m), Accounts: p.Accounts(),
		Servers: serverControl{p},
	}
	for _, r := range roles {
		made.add(r, p.agentOf(r, c))
	}
	return made, nil
}

// chosenBy finds models for what no agent asks.
func chosenBy(m *models.Finder) func(context.Context, string) (core.Model, error) {
	find := m.Of("")
	return func(ctx context.Context, id string) (core.Model, error) { return find(ctx, id) }
}
