package setup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"dragoman/cmd/internal/models"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/commands"
	"dragoman/core/control"
	"dragoman/core/guide"
	"dragoman/core/inference"
	"dragoman/core/kept"
	"dragoman/core/policy"
	"dragoman/core/tools"
)

// maxWorkspaces limits the workspaces whose profiles are cached.
const maxWorkspaces = 256

// edition makes the core's profiles from the configuration with one overlay, the stored keys, and
// the proposals of a workspace's files: at the first session or prompt, not at the start, and
// again when a file has changed. If a new configuration has an error, the previous one stays in
// use, and the error is reported. If there is no previous one, each request reports the error and
// reads the files again, so that correcting the file is enough. Connections with equal overlays
// share an edition.
type edition struct {
	*Process
	name   string // as Topic.Layer of its postings
	guides *guides
	slash  *commands.Commands

	ahead *reading   // of configured, until a profile is made; the loading token guards it
	users int        // connections; guarded, like key, by the process's lock
	key   overlayKey // key of the overlay

	mu       sync.Mutex // guards the fields below
	layer    overlay
	made     *Profile           // nil: none yet
	seen     configs.FileStates // the files that it was made from
	ruling   configs.FileStates // those of them that rules and MCP servers come from
	stale    bool               // made is out of date, even if no file has changed
	settled  *models.Finder     // the one that the last ask has seen
	tried    bool
	fault    string // the reason why the newest configuration is not in use; "": it is
	places   map[string]*workspaceProfile
	backends backends
	told     map[core.SessionID]string  // the fault last reported in each session
	listed   map[string]control.Account // as last posted; nil: not posted yet
}

// newEdition returns the edition of a layer, the nth of its process.
func newEdition(p *Process, l overlay, n int) *edition {
	e := &edition{
		Process: p,
		key:     l.key(),
		layer:   l,
		guides:  newGuides(p.env.Lookup),
		places:  map[string]*workspaceProfile{},
		told:    map[core.SessionID]string{},
	}
	if n > 0 {
		e.name = strconv.Itoa(n)
	}
	e.slash = e.newCommands()
	e.guides.options.Refuse = e.refuses
	return e
}

// layerNow returns the layer.
func (p *edition) layerNow() overlay {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.layer
}

// lay sets another layer.
func (p *edition) lay(l overlay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.layer, p.stale = l, true
}

// Profile is a core.Profile with the configuration and the parts that it was made from.
type Profile struct {
	core.Profile
	Config *configs.Config
	Finder *models.Finder // of its models
	Rights policy.Rights  // of its agents

	roles []role
}

// role finds an agent's role.
func (p *Profile) role(name string) (role, bool) {
	i := slices.IndexFunc(p.roles, func(r role) bool { return r.Name == name })
	if i < 0 {
		return role{}, false
	}
	return p.roles[i], true
}

// workspaceProfile is a profile in a workspace.
type workspaceProfile struct {
	*Profile
	roots    []string
	of       *Profile
	guide    *guide.Guide // the source of the fields below; nil: the folders are not accessible
	roles    []role       // proposed by the workspace's files
	agents   []core.Agent // of these roles
	commands []core.Command
}

// rules implements Client.Rules.
func (p *edition) rules(ctx context.Context, roots []string) (*core.Profile, error) {
	base, err := p.Load()
	if err != nil {
		return nil, err
	}
	return &p.at(base, roots, p.guides.last(ctx, roots)).Profile, nil
}

// In implements Client.In.
func (p *edition) In(ctx context.Context, roots []string) (*Profile, error) {
	base, err := p.Load()
	if err != nil {
		return nil, err
	}
	return p.at(base, roots, p.guides.look(ctx, roots)), nil
}

// at returns the profile with the additions of a workspace's guide. If the workspace's agents
// or commands have changed, it posts the agents.
func (p *edition) at(base *Profile, roots []string, from *guide.Guide) *Profile {
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
		p.board.Put(board.Topic{Kind: "agents", Workspace: roots[0], Layer: p.name}, board.Agents{Agents: next.Agents})
	}
	return next.Profile
}

// place returns a profile with the agents and commands that the files of a workspace, and the
// user's own files, propose.
func (p *edition) place(base *Profile, roots []string, from *guide.Guide) *workspaceProfile {
	pl := &workspaceProfile{Profile: base, roots: roots, of: base, guide: from}
	if from == nil {
		return pl
	}
	pl.commands = from.List()
	pl.roles, _ = fileRoles(base.roles, from.Agents(), base.offers) // the doctor reports their problems
	if len(pl.roles) == 0 {
		return pl
	}
	made := *base
	made.Servers = serverControl{p, &made}
	made.roles = slices.Concat(base.roles, pl.roles)
	made.Rights.Roles = rolesOf(made.roles)
	made.Policy = kept.Policy{Rules: made.Rights, Store: p.answers}
	made.Agents, made.Subagents = slices.Clone(base.Agents), slices.Clone(base.Subagents)
	for _, r := range pl.roles {
		a := p.agentOf(r, base.Config)
		made.add(r, a)
		pl.agents = append(pl.agents, a)
	}
	pl.Profile = &made
	return pl
}

// madeOf returns the Profile of one of our core.Profiles.
func madeOf(p *core.Profile) *Profile { return p.Servers.(serverControl).of }

// editionOf returns the edition that made one of our core.Profiles.
func editionOf(p *core.Profile) *edition { return p.Servers.(serverControl).p }

// madeFor returns the profile for a session's tools: that of the running turn, or of the last
// one.
func madeFor(h core.ToolHost) (*Profile, error) {
	prof, err := h.Profile(context.Background())
	if err != nil {
		return nil, err
	}
	return madeOf(prof), nil
}

// subagents lists the agents to which tasks can be delegated in a session.
func subagents(h core.ToolHost) []tools.Subagent {
	made, err := madeFor(h)
	if err != nil {
		return nil // a turn reports the error
	}
	var list []tools.Subagent
	for _, r := range made.roles {
		if r.Sub {
			list = append(list, tools.Subagent{Name: r.Name, Description: r.description, MaxSteps: r.steps})
		}
	}
	return list
}

// forbids returns a function that reports whether a rule forbids reading a file or a folder, or
// fetching a page, in a session.
func forbids(h core.ToolHost) (func(core.Access) bool, error) {
	made, err := madeFor(h)
	if err != nil {
		return nil, err
	}
	m := h.Meta()
	reads := made.Rights.Reads(m)
	return func(a core.Access) bool {
		if a.Op == core.OpRead {
			return reads(a.Path)
		}
		return made.Rights.Forbids(m, a)
	}, nil
}

// keep lists the variables that a session's commands get in addition to the usual ones.
func keep(h core.ToolHost) []string {
	made, err := madeFor(h)
	if err != nil {
		return nil
	}
	return made.Config.Policy.Env
}

// refuses reports whether a rule forbids reading a file, so that no guide includes it. Without a
// profile every file is refused.
func (p *edition) refuses(path string) bool {
	made, err := p.Last()
	if err != nil {
		return true
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return made.Rights.Forbids(core.Meta{}, core.Access{Op: core.OpRead, Path: path})
}

// CheckAgent returns an error if there is no agent of this name; the empty name is the default.
func (p *Profile) CheckAgent(name string) error {
	if _, ok := p.Agent(name); !ok {
		return fmt.Errorf("there is no agent %q; there are %s", name, AgentNames(p.Agents))
	}
	return nil
}

// CheckModel returns an error if no provider has a model of this name; the empty name is the
// default.
func (p *Profile) CheckModel(name string) error {
	if name == "" {
		return nil
	}
	if _, err := p.Config.FindModel(name); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "model "))
	}
	return nil
}

// offers reports whether a model can be chosen.
func (p *Profile) offers(model string) bool {
	return slices.ContainsFunc(
		inference.ModelsOf(&p.Profile).List,
		func(i inference.ModelInfo) bool { return i.ID == model },
	)
}

// add adds an agent.
func (p *Profile) add(r role, a core.Agent) {
	if r.Primary {
		p.Agents = append(p.Agents, a)
	}
	if r.Sub {
		p.Subagents = append(p.Subagents, a)
	}
}

// announce notifies clients that a profile is in use from now on; first is set if there was none
// before, again if one was requested before.
func (p *edition) announce(made *Profile, first, again bool) {
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
		p.board.Put(
			board.Topic{Kind: "server", Name: core.Native, Layer: p.servers.layer(p)},
			nativeServer(p.native, made),
		)
	}
	p.postAccounts(p.newAccounts())
	if again {
		p.post(made)
	}
}

// post puts the models and agents of a new profile on the board.
func (p *edition) post(made *Profile) {
	of := inference.ModelsOf(&made.Profile)
	p.board.Put(board.Topic{Kind: "models", Layer: p.name}, board.Models{Models: of.List, Default: of.Default})
	p.board.Put(board.Topic{Kind: "agents", Layer: p.name}, board.Agents{Agents: made.Agents})
}

// nativeServer lists our own tools for clients that show them.
func nativeServer(box core.Toolbox, made *Profile) board.Server {
	item := board.Server{Name: core.Native, Status: "running"}
	set, err := box.Open(context.Background(), listingHost{made: made}) // it does nothing before a call
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

// listingHost is the host of tools that are only listed.
type listingHost struct {
	core.ToolHost

	made *Profile
}

// Meta implements core.ToolHost.
func (listingHost) Meta() core.Meta { return core.Meta{} }

// Profile implements core.ToolHost.
func (n listingHost) Profile(context.Context) (*core.Profile, error) { return &n.made.Profile, nil }

// Editor implements core.ToolHost: clients leave out the tools that their editors do not serve.
func (listingHost) Editor(string) core.Editor { return tools.AnyEditor{} }

// look makes new profiles if files have changed. Before the first session or prompt no profile
// was requested, so it does nothing.
func (p *edition) look(ctx context.Context) {
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
	base, err := p.Load()
	if err != nil {
		return // the next request reports it
	}
	for _, roots := range places {
		p.at(base, roots, p.guides.look(ctx, roots))
	}
}

// faultNow returns the reason why the newest configuration is not in use; "": it is.
func (p *edition) faultNow() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// faultToShow returns the same if the agent's turns have to report it, otherwise "".
func (p *edition) faultToShow() string {
	if p.layerNow().quiet {
		return ""
	}
	return p.faultNow()
}

// config returns the configuration in use as of the last look; the defaults if there is none.
func (p *edition) config() *configs.Config {
	if made, err := p.Last(); err == nil {
		return made.Config
	}
	return configs.Defaults()
}

// end releases an unused edition; nil: none. Running turns are not ended.
func (p *edition) end() {
	if p == nil {
		return
	}
	p.close()
	p.servers.leave(p)
	p.mu.Lock()
	p.backends.used = nil
	retired := p.backends.sweep()
	p.mu.Unlock()
	p.retire(retired)
	p.retire(p.externals.leave(p))
}

// close closes the idle connections to models. Requests that are running continue.
func (p *edition) close() {
	p.mu.Lock()
	made := p.made
	p.mu.Unlock()
	if made != nil {
		made.Finder.Close()
	}
}
