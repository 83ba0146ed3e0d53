package main

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

	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/models"
	"dragoman/cmd/internal/secrets"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/commands"
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

// profiles makes the core's profiles out of the configuration, the keys that were
// given and what files of a workspace propose: at the first session or prompt, not
// at the start, and again when a file has changed. Of a configuration that becomes
// wrong the one before goes on, and what is wrong is told; while there is none
// before, it is told each time and looked at again each time, so that mending the
// file is enough.
type profiles struct {
	app     *app
	log     *logs.Log
	board   *core.Board
	gateway *core.Gateway // nil: nothing is run
	logins  *secrets.Logins
	guides  *guides
	boxes   []core.Toolbox // of every profile
	servers *upstreams
	slash   *commands.Commands
	people  bool        // it is they who write the prompts, and not other agents
	lends   llm.Sampler // the clients that lend their models; nil: none do
	quiet   bool        // the adapter tells by itself what is wrong with the configuration

	loading chan struct{} // holds the one token of whoever loads

	mu     sync.Mutex        // guards the fields below
	editor *configs.Config   // the editor's settings that hold
	wider  *wider            // the editor's settings that wait for the user; nil: none
	routes map[string]route  // where a client has providers reached
	made   *profile          // nil: there is none yet
	seen   configs.Sightings // of the files that it comes from
	stale  bool              // it must be made anew, whatever the files say
	tried  bool
	fault  string // why the newest configuration is not in use; "": it is
	places map[string]*placed
	listed map[string]core.Account // as they were told; nil: nobody was told yet
}

// profile is a core.Profile and what stands behind it.
type profile struct {
	core.Profile
	config *configs.Config
	models *models.Finder
	roles  []role
	rights policy.Rights
}

// role finds an agent's.
func (p *profile) role(name string) (role, bool) {
	i := slices.IndexFunc(p.roles, func(r role) bool { return r.Name == name })
	if i < 0 {
		return role{}, false
	}
	return p.roles[i], true
}

// placed is a profile as it is in a workspace.
type placed struct {
	*profile
	roots    []string
	of       *profile
	roles    []role // that the workspace's files propose
	commands []core.Command
}

func newProfiles(a *app, l *logs.Log) *profiles {
	data, err := a.DataDir()
	if err != nil {
		data = "" // nothing is kept then
	}
	guards := &child.Guards{} // a session's, for its commands and its servers
	p := &profiles{
		app: a, log: l, board: core.NewBoard(), logins: a.secrets.Logins(), guides: newGuides(a.Lookup),
		loading: make(chan struct{}, 1), places: map[string]*placed{},
		servers: &upstreams{version: a.Version, env: a.Lookup, run: secrets.NewPrograms().Run, environ: a.Environ(), pins: a.servers.PinFile(), agreed: a.servers.AgreedFile(), tokens: a.servers.Tokens(), log: l.Logger, guards: guards, logs: logs.OpenServers(data), audit: logs.OpenAudit(data)},
	}
	p.slash = p.newCommands()
	p.guides.options.Refuse = p.refuses
	p.boxes = []core.Toolbox{tools.New(tools.Options{Subagents: p.subagents, Forbids: p.forbids, Keep: func() []string { return p.config().Policy.Env }, Guards: guards}), p.guides}
	return p
}

// get is core.Config.Profile. Its error is the configuration's own: file, line,
// column, key, and what to write instead.
func (p *profiles) get(ctx context.Context, roots []string) (*core.Profile, error) {
	made, err := p.in(ctx, roots)
	if err != nil {
		return nil, err
	}
	return &made.Profile, nil
}

// in is the profile of a workspace. The same one is returned for as long as
// nothing has changed.
func (p *profiles) in(ctx context.Context, roots []string) (*profile, error) {
	base, err := p.load()
	if err != nil {
		return nil, err
	}
	key := strings.Join(roots, "\x00")
	next := p.place(ctx, base, roots)
	p.mu.Lock()
	have := p.places[key]
	if have != nil && have.of == base && reflect.DeepEqual(have.roles, next.roles) && reflect.DeepEqual(have.commands, next.commands) {
		p.mu.Unlock()
		return have.profile, nil
	}
	if len(p.places) >= maxWorkspaces {
		clear(p.places)
	}
	p.places[key] = next
	p.mu.Unlock()
	if have != nil && have.of == base && len(roots) > 0 {
		p.board.Put(core.Topic{Kind: "agents", Workspace: roots[0]}, core.AgentsItem{Agents: next.Agents})
	}
	return next.profile, nil
}

// place adds to a profile what the files of a workspace, and the user's own,
// propose.
func (p *profiles) place(ctx context.Context, base *profile, roots []string) *placed {
	pl := &placed{profile: base, roots: roots, of: base, commands: p.guides.commands(ctx, roots)}
	have := p.guides.of(ctx, roots)
	if have == nil {
		return pl
	}
	pl.roles, _ = fileRoles(base.roles, have.Agents(), base.offers) // the doctor tells what is wrong with them
	if len(pl.roles) == 0 {
		return pl
	}
	made := *base
	made.roles = slices.Concat(base.roles, pl.roles)
	made.rights.Roles = rolesOf(made.roles)
	made.Policy = made.rights
	made.Agents, made.Subagents = slices.Clone(base.Agents), slices.Clone(base.Subagents)
	for _, r := range pl.roles {
		made.add(r, p.agentOf(r, base.models, base.config))
	}
	pl.profile = &made
	return pl
}

// subagents lists the agents that tasks can be handed to in a session.
func (p *profiles) subagents(m core.Meta) []tools.Subagent {
	made, err := p.in(context.Background(), m.Roots)
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
func (p *profiles) forbids(m core.Meta) (func(core.Access) bool, error) {
	made, err := p.in(context.Background(), m.Roots)
	if err != nil {
		return nil, err
	}
	return func(a core.Access) bool { return made.rights.Forbids(m, a) }, nil
}

// refuses reports whether a rule forbids to read a file, so that no guide includes
// it. What cannot be told is refused.
func (p *profiles) refuses(path string) bool {
	made, err := p.load()
	if err != nil {
		return true
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return made.rights.Forbids(core.Meta{}, core.Access{Op: core.OpRead, Path: path})
}

// offers reports whether a model is among those that can be chosen.
func (p *profile) offers(model string) bool {
	return slices.ContainsFunc(p.Models, func(i core.ModelInfo) bool { return i.ID == model })
}

// add offers an agent.
func (p *profile) add(r role, a core.Agent) {
	if r.Primary {
		p.Agents = append(p.Agents, a)
	}
	if r.Sub {
		p.Subagents = append(p.Subagents, a)
	}
}

// load is the profile without any workspace.
func (p *profiles) load() (*profile, error) {
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
func (p *profiles) current() *profile {
	p.mu.Lock()
	made, seen, stale := p.made, p.seen, p.stale
	p.mu.Unlock()
	if made == nil || stale || seen.Changed() {
		return nil
	}
	return made
}

// reload reads everything anew. It is called with the loading token; tell is to be
// called without it.
func (p *profiles) reload() (made *profile, tell func(), err error) {
	p.mu.Lock()
	editor, routes, old, tried := p.editor, maps.Clone(p.routes), p.made, p.tried
	p.stale, p.tried = false, true
	p.mu.Unlock()
	seen := configs.SightingsOf(p.app.ConfigFile(), p.logins.Path())
	config, err := p.app.LoadConfig(editor)
	config = directed(config, routes)
	for _, f := range config.Files(p.app.Lookup) {
		seen[f] = configs.SightingOf(f)
	}
	if err == nil {
		made, err = p.make(config, old)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = seen
	if err != nil {
		return p.goesOnLocked(err)
	}
	p.made, p.fault = made, ""
	p.guides.forget()
	return made, func() {
		p.took(made, old == nil, tried)
		if old != nil {
			old.models.Close()
		}
	}, nil
}

// goesOnLocked is what comes of a mistake: the profile before it goes on, and says
// so; while there is none, the mistake is the answer.
func (p *profiles) goesOnLocked(mistake error) (made *profile, tell func(), err error) {
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
		p.log.Logger.Error("the configuration is wrong; the one before goes on", zap.String("problem", text))
		p.post(&same)
	}, nil
}

// took tells of a profile that is in use from now on: the first one, and whether
// anybody had asked for one before.
func (p *profiles) took(made *profile, first, again bool) {
	p.log.Follow(made.config.Log)
	for _, w := range made.config.Warnings {
		p.log.Logger.Warn("configuration", zap.String("warning", w.String()))
	}
	p.log.Logger.Info("configuration read", zap.String("file", made.config.Source), zap.Stringer("model", made.models.Choice), zap.String("because", made.models.Choice.Reason))
	if first {
		p.board.Put(core.Topic{Kind: "server", Name: core.Native}, nativeServer(made.Toolboxes[0]))
	}
	p.postAccounts(p.newAccounts())
	if again {
		p.post(made)
	}
}

// post tells everybody to look at the profile again.
func (p *profiles) post(made *profile) {
	p.board.Put(core.Topic{Kind: "models"}, core.ModelsItem{Models: made.Models, Default: made.DefaultModel})
	p.board.Put(core.Topic{Kind: "agents"}, core.AgentsItem{Agents: made.Agents})
}

// nativeServer lists our own tools for clients that show what there is.
func nativeServer(box core.Toolbox) core.ServerItem {
	item := core.ServerItem{Name: core.Native, Status: "running"}
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

// watch looks at the files now and then until ctx ends, so that those who show
// models, agents and commands hear of a change.
func (p *profiles) watch(ctx context.Context) {
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
func (p *profiles) look(ctx context.Context) {
	p.mu.Lock()
	idle := !p.tried || p.made == nil && !p.stale && !p.seen.Changed()
	var places [][]string
	for _, pl := range p.places {
		places = append(places, pl.roots)
	}
	p.mu.Unlock()
	if idle {
		return
	}
	if _, err := p.load(); err != nil {
		return // it is told to whoever needs it
	}
	for _, roots := range places {
		_, _ = p.in(ctx, roots) // as above
	}
}

// faultNow is why the newest configuration is not in use; "": it is.
func (p *profiles) faultNow() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// toTell is the same where the agent's turns have to say it.
func (p *profiles) toTell() string {
	if p.quiet {
		return ""
	}
	return p.faultNow()
}

// config is the configuration in use; the defaults where there is none.
func (p *profiles) config() *configs.Config {
	if made, err := p.load(); err == nil {
		return made.config
	}
	return configs.Defaults()
}

// close gives up the connections to models.
func (p *profiles) close() {
	p.mu.Lock()
	made := p.made
	p.mu.Unlock()
	if made != nil {
		made.models.Close()
	}
	p.servers.close()
}

// make translates a configuration. It opens nothing but the files that agents'
// instructions refer to. old is the profile that is replaced; nil: there is none.
func (p *profiles) make(c *configs.Config, old *profile) (*profile, error) {
	rules, strict, err := newPolicies(c, p.app.Lookup, p.app.secrets.Files()...)
	if err != nil {
		return nil, err
	}
	roles, err := newRoles(c, p.app.Lookup)
	if err != nil {
		return nil, err
	}
	o := models.Options{Env: p.app.Lookup, Given: p.logins, KeyFile: p.app.ConfigFile(), Lends: p.lends}
	if old != nil {
		o.Before = old.models
	}
	m := models.New(c, o)
	made := &profile{
		config: c, models: m, roles: roles,
		rights: policy.Rights{Rules: rules, Strict: strict, Roles: rolesOf(roles), Default: codeAgent},
	}
	box := p.servers.toolbox(c, p.board)
	made.Profile = core.Profile{
		Models: m.Infos(), DefaultModel: m.Choice.String(), Toolboxes: append(p.boxes[:len(p.boxes):len(p.boxes)], box), Policy: made.rights, AskTimeout: c.Policy.AskTimeout,
		Commands: p.commands(box), Expand: p.slash.Expand, Resources: box, Files: tools.NewFiles(tools.FilesOptions{Policy: rules}), Model: m.Of(""), Accounts: p.accounts(),
		Servers: doing{p},
	}
	for _, r := range roles {
		made.add(r, p.agentOf(r, m, c))
	}
	return made, nil
}
