package setup

import (
	"cmp"
	"maps"
	"slices"

	"go.uber.org/zap"

	"dragoman/cmd/internal/models"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/kept"
	"dragoman/core/limits"
	"dragoman/core/policy"
	"dragoman/core/tools"
	"dragoman/core/workspace"
)

// limitsOf returns the limits of a configuration, which the user writes in a file.
func limitsOf(c *configs.Config, file string) limits.Rules {
	cost, tokens := c.Limits.Cost, c.Limits.Tokens
	return limits.Rules{
		Cost:    limits.Amounts(cost),
		Tokens:  limits.Amounts{Turn: float64(tokens.Turn), Session: float64(tokens.Session), Day: float64(tokens.Day)},
		Unknown: c.Limits.Unknown == "allow",
		File:    file,
	}
}

// Last returns the profile without any workspace as of the last look, made when the prompt or the
// call began. It looks only if there is no profile yet, or if something other than a file has
// changed.
func (p *edition) Last() (*Profile, error) {
	p.mu.Lock()
	made, stale := p.made, p.stale
	p.mu.Unlock()
	if made == nil || stale {
		return p.Load()
	}
	return made, nil
}

// Load returns the profile without any workspace after a look at the files that it comes from.
func (p *edition) Load() (*Profile, error) {
	if made := p.current(); made != nil {
		return made, nil
	}
	p.loading <- struct{}{}
	made, tell, err := p.current(), func() {}, error(nil)
	if made == nil { // otherwise another goroutine was quicker
		made, tell, err = p.reload()
	}
	<-p.loading
	tell() // clients that are notified may ask for the profile
	return made, err
}

// LoadRules is Load for who needs the rules and the MCP servers alone, such as each call of a server's
// tool: it looks at no other files.
func (p *edition) LoadRules() (*Profile, error) {
	p.mu.Lock()
	made, ruling, stale := p.made, p.ruling, p.stale
	p.mu.Unlock()
	if made == nil || stale || p.changed(ruling) {
		return p.Load()
	}
	return made, nil
}

// current returns the present profile; nil if it is out of date.
func (p *edition) current() *Profile {
	p.mu.Lock()
	made, seen, stale := p.made, p.seen, p.stale
	p.mu.Unlock()
	if made == nil || stale || p.changed(seen) {
		return nil
	}
	return made
}

// configured returns the configuration after a look at its files, without making a profile of it:
// the answer to a client's first request needs no more.
func (p *edition) configured() (*configs.Config, error) {
	if made := p.current(); made != nil {
		return made.Config, nil
	}
	p.loading <- struct{}{}
	defer func() { <-p.loading }()
	if made := p.current(); made != nil {
		return made.Config, nil
	}
	config, _, err := p.read(p.layerNow())
	return config, err
}

// reading is a configuration that was read.
type reading struct {
	of     overlayKey // of a layer; of those of its parts that the configuration depends on
	config *configs.Config
	seen   configs.FileStates
	err    error
}

// read reads the configuration with a layer, or returns the one that was read ahead if it still holds. It is
// called with the loading token.
func (p *edition) read(l overlay) (*configs.Config, configs.FileStates, error) {
	of := overlay{text: l.text, routes: l.routes, allow: l.allow}.key()
	if r := p.ahead; r == nil || r.of != of || p.changed(r.seen) {
		seen := configs.FileStatesOf(p.env.ConfigFile(), p.env.ServersFile(), p.env.AgentsFile(), p.logins.Path())
		config, err := p.env.LoadConfig(l.editor)
		config = allowing(directed(config, l.routes), l.allow)
		for _, f := range config.Files(p.env.Lookup) {
			seen[f] = configs.FileStateOf(f)
		}
		p.ahead = &reading{of, config, seen, err}
	}
	return p.ahead.config, p.ahead.seen, p.ahead.err
}

// reload reads everything again. It is called with the loading token; tell must be called without
// it.
func (p *edition) reload() (made *Profile, tell func(), err error) {
	p.mu.Lock()
	l, old, tried := p.layer, p.made, p.tried
	p.stale, p.tried = false, true
	p.mu.Unlock()
	config, seen, err := p.read(l)
	p.ahead = nil
	if err == nil {
		made, err = p.make(config, l, old)
	}
	ruling := maps.Clone(seen)
	delete(ruling, p.env.AgentsFile())
	delete(ruling, p.logins.Path())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.ruling = seen, ruling
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

// keepOldLocked returns the profile in use if the new configuration has an error, with the
// mistake as its Fault; without a profile, the mistake is the error.
func (p *edition) keepOldLocked(mistake error) (made *Profile, tell func(), err error) {
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
	same.Fault, same.Servers = text, serverControl{p, &same}
	p.made = &same
	return &same, func() {
		p.log.Logger.Error("the configuration is wrong; the previous one stays in use", zap.String("problem", text))
		p.post(&same)
	}, nil
}

// make translates a configuration. It opens only the files that agents' instructions refer to.
// old is the profile to replace; nil: none.
func (p *edition) make(c *configs.Config, l overlay, old *Profile) (*Profile, error) {
	rules, err := newPolicy(c, p.env.Lookup, append(p.secrets.Files(), p.answers.Path())...)
	if err != nil {
		return nil, err
	}
	roles, err := newRoles(c, p.env.Lookup)
	if err != nil {
		return nil, err
	}
	first := cmp.Or(p.chosen, c.DefaultAgent, codeAgent)
	if err := checkFlag(p.chosen, roles); err != nil {
		return nil, err
	}
	o := models.Options{
		Env:      p.env.Lookup,
		Given:    p.logins,
		GivenRev: p.logins.Rev,
		KeyFile:  p.env.ConfigFile(),
		Offers:   p.offers,
		Lends:    l.lends,
		Before:   p.finders(old),
	}
	m := models.New(c, o)
	made := &Profile{
		Config: c, Finder: m, roles: roles,
		Rights: policy.Rights{Rules: rules, Strict: rules.Strict(), Roles: rolesOf(roles), Default: first},
	}
	box := p.servers.toolbox(c, l.servers, p)
	made.Profile = core.Profile{
		Models: inference.Models{
			List:    m.Infos(),
			Default: m.Choice.String(),
			Find:    m.Of(""),
		},
		Toolboxes:  []core.Toolbox{p.native, p.guides, box},
		Policy:     kept.Policy{Rules: made.Rights, Store: p.answers},
		AskTimeout: c.Policy.AskTimeout,
		Limits:     p.meter.With(limitsOf(c, p.env.ConfigFile())),
		Commands:   p.commands(box),
		Command:    p.command,
		Expand:     p.slash.Expand,
		Accounts:   p.Accounts(),
		Workspace: workspace.Contents{
			Files:     tools.NewFiles(tools.FilesOptions{Policy: rules}),
			Resources: box,
		},
	}
	made.Servers = serverControl{p, made}
	p.agents.pool.Limit(c.Limits.Agents)
	for _, r := range roles {
		made.add(r, p.agentOf(r, c))
	}
	made.first(first)
	return made, nil
}
