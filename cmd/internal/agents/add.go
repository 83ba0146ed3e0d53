package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"dragoman/bridge/agent/known"
	"dragoman/cmd/internal/download"
	"dragoman/cmd/internal/install"
	"dragoman/cmd/internal/integrity"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/registry"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core/child"
	"dragoman/core/display"
)

// Choices hold the options of add, update and import.
type Choices struct {
	As       string   // another name for the agent
	Registry string   // a file or an address
	Env      []string // NAME=VALUE
	Install  bool     // also if the program is installed already
	Scripts  bool     // packages may run their install scripts
	Replace  bool     // an entry of the same name
	Yes      bool     // do not ask
	DryRun   bool     // only show what would be done
}

// registryFile keeps the last registry in the data folder.
const registryFile = "agent-registry.json"

// Add adds an agent to agents.json: a command of the user's own, one that is installed already, or one
// of the registry, which is installed. Without a word it lists what there is.
func Add(ctx context.Context, env *program.Environment, word string, command []string, o Choices) error {
	switch {
	case len(command) > 0:
		return addOwn(ctx, env, word, command, o)
	case word == "":
		return showAddable(ctx, env, o)
	case len(o.Env) > 0:
		return program.UsageError{Err: errors.New("--env belongs to a command of your own: add NAME --env NAME=VALUE -- COMMAND")}
	}
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	id, why := registry.Renamed(word)
	if why != "" {
		fmt.Fprintf(env.Out, "%s.\n", display.Line(why, 200))
	}
	if id == "" {
		id = word
	}
	name := o.As
	if name == "" {
		name = registry.NameFor(id)
	}
	if err := free(env, name, o.Replace); err != nil {
		return err
	}
	if !o.Install {
		done, err := addFound(ctx, env, id, name, o)
		if done || err != nil {
			return err
		}
	}
	return addFromRegistry(ctx, env, id, name, o)
}

// free returns an error if the name of a new agent is taken.
func free(env *program.Environment, name string, replace bool) error {
	c, err := env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	switch _, there := c.Agents[name]; {
	case Builtin(name) != "":
		return program.UsageError{Err: fmt.Errorf("%s is a built-in agent; --as NAME chooses another name", name)}
	case there && !c.AgentListed(name):
		at, _ := c.Where("agents." + name)
		return fmt.Errorf("agent %s is configured at %s, which no command changes; --as NAME chooses another name", name, at)
	case there && !replace:
		return fmt.Errorf("there is an agent %s already; --replace changes it, --as NAME chooses another name", name)
	}
	return nil
}

// addOwn adds a command of the user's own. An empty name is that of its program.
func addOwn(ctx context.Context, env *program.Environment, name string, command []string, o Choices) error {
	if o.As != "" && name == "" {
		name = o.As
	}
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	}
	if err := free(env, name, o.Replace); err != nil {
		return err
	}
	var a configs.Agent
	for i, word := range command {
		if i == 0 && isPath(word) && !strings.HasPrefix(word, "~/") && !strings.Contains(word, "${") {
			abs, err := filepath.Abs(word)
			if err != nil {
				return fmt.Errorf("find %s: %w", word, err)
			}
			word = abs
		}
		a.ACP.Command = append(a.ACP.Command, configs.NewValue(word))
	}
	for _, kv := range o.Env {
		key, value, ok := strings.Cut(kv, "=")
		if !ok || key == "" {
			return program.UsageError{Err: fmt.Errorf("--env takes NAME=VALUE, and %q has no name in front of a =", display.Line(key, 40))}
		}
		if a.ACP.Env == nil {
			a.ACP.Env = map[string]configs.Secret{}
		}
		a.ACP.Env[key] = configs.NewSecret(value)
	}
	if o.DryRun {
		return wouldWrite(env, map[string]configs.Agent{name: a})
	}
	if err := write(ctx, env, name, a, o.Replace); err != nil {
		return err
	}
	if old := remote(command); old != "" {
		fmt.Fprintf(env.Err, "warning: %s looks on the network at each start, and may run another version; \"dragoman agents add\" installs an agent of the registry\n", old)
	}
	if _, err := Find(ctx, a, env); err != nil {
		fmt.Fprintf(env.Err, "warning: it cannot be started now: %s\n", display.Printable(reason(err)))
	}
	return nil
}

// remote returns the program of a command that gets the agent from the network at each start; "": it
// does not.
func remote(command []string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(command[0]), ".exe"), ".cmd")
	if slices.Contains([]string{"npx", "bunx", "uvx", "pipx", "pnpx"}, base) {
		return base
	}
	return ""
}

// wouldWrite shows entries that are not written.
func wouldWrite(env *program.Environment, agents map[string]configs.Agent) error {
	_, err := fmt.Fprintf(env.Out, "// would be written to %s, secrets hidden\n%s", env.AgentsFile(), configs.ShowAgents(agents))
	return err
}

// write puts an agent into agents.json.
func write(ctx context.Context, env *program.Environment, name string, a configs.Agent, replace bool) error {
	edit := configs.AddAgent
	if replace {
		edit = configs.PutAgent
	}
	path, err := change(ctx, env, edit(name, a))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "wrote the agent %s to %s\n\"dragoman agents doctor %s\" tries it.\n", name, path, name)
	return err
}

// change changes agents.json, and returns its path.
func change(ctx context.Context, env *program.Environment, edits ...configs.AgentEdit) (string, error) {
	if env.AgentsFile() == "" {
		return "", program.ErrNoConfigPlace
	}
	return configs.EditAgents(ctx, configs.Options{Path: env.Flags.Config, Env: env.Lookup}, edits...)
}

// found is an agent whose program is in PATH.
type found struct {
	installable
	path string
}

// foundOf returns the agent of an id if its program is in PATH.
func foundOf(env *program.Environment, id string) (found, bool) {
	i := slices.IndexFunc(installables, func(i installable) bool { return i.id == id })
	if i < 0 {
		return found{}, false
	}
	path, err := child.Find(installables[i].program(), []string{"PATH=" + env.Getenv("PATH")}, "")
	return found{installables[i], path}, err == nil
}

// addFound offers a program that is installed already. done is false if there is none, or the user
// does not want it.
func addFound(ctx context.Context, env *program.Environment, id, name string, o Choices) (done bool, err error) {
	f, ok := foundOf(env, id)
	if !ok {
		return false, nil
	}
	var a configs.Agent
	words := append([]string{f.path}, strings.Fields(f.command)[1:]...)
	for _, w := range words {
		a.ACP.Command = append(a.ACP.Command, configs.NewValue(configs.Literal(w)))
	}
	version := ""
	if v := integrity.PackageVersion(f.path); v != "" {
		version = " (version " + display.Line(v, 60) + ")"
	}
	fmt.Fprintf(env.Out, "%s is installed already%s. It would be started by:\n  %s\n", id, version, commandLine(words))
	if o.DryRun {
		return true, wouldWrite(env, map[string]configs.Agent{name: a})
	}
	if !o.Yes {
		agreed, err := terminal.Confirm(env, "Use it? Else it is installed from the registry.")
		if err != nil || !agreed {
			return false, err
		}
	}
	return true, write(ctx, env, name, a, o.Replace)
}

// commandLine writes a command for a person.
func commandLine(words []string) string {
	shown := make([]string, len(words))
	for i, w := range words {
		shown[i] = display.Word(w)
	}
	return strings.Join(shown, " ")
}

// source returns the registry that the user means.
func source(env *program.Environment, o Choices) registry.Source {
	return registry.Source{From: o.Registry, Kept: env.DataFile(registryFile)}
}

// load reads the registry, and says what is wrong with it.
func load(ctx context.Context, env *program.Environment, o Choices) (*registry.Registry, error) {
	r, err := source(env, o).Load(ctx)
	if err != nil {
		return nil, err
	}
	if r.Old != "" {
		fmt.Fprintf(env.Err, "warning: %s\n", display.Printable(r.Old))
	}
	return r, nil
}

// addFromRegistry installs an agent of the registry, and writes its entry.
func addFromRegistry(ctx context.Context, env *program.Environment, id, name string, o Choices) error {
	r, err := load(ctx, env, o)
	if err != nil {
		return err
	}
	a, ok := r.Find(id)
	if !ok {
		return notInRegistry(env, r, id)
	}
	dir, err := agentsDir(env)
	if err != nil {
		return err
	}
	i := installer(env, dir, o)
	p, err := i.Plan(ctx, a)
	if err != nil {
		return err
	}
	showPlan(env, dir, r, p)
	switch {
	case o.DryRun:
		_, err := fmt.Fprintln(env.Out, "Nothing was changed.")
		return err
	case !o.Yes:
		agreed, err := terminal.Confirm(env, "Install it?")
		if err != nil {
			return err
		}
		if !agreed {
			fmt.Fprintln(env.Out, "Nothing was changed.")
			return program.ErrReported
		}
	}
	done, err := put(ctx, env, i, p, o)
	if err != nil {
		return err
	}
	if err := write(ctx, env, name, entryOf(done, configs.Agent{}), o.Replace); err != nil {
		return errors.Join(err, done.Folder.Remove())
	}
	return nil
}

// notInRegistry returns the error for a word that is no agent of the registry.
func notInRegistry(env *program.Environment, r *registry.Registry, word string) error {
	var ids []string
	for _, a := range r.Agents {
		ids = append(ids, a.ID)
	}
	text := fmt.Sprintf("there is no agent %q in the registry %s%s", display.Line(word, 64), r.Source, configs.DidYouMean(word, ids))
	for _, dropped := range r.Dropped {
		if strings.Contains(dropped, word) {
			text += "\nit is left out: " + display.Line(dropped, 200)
		}
	}
	if _, err := child.Find(word, []string{"PATH=" + env.Getenv("PATH")}, ""); err == nil {
		text += "\nto add the program as it is: dragoman agents add NAME -- " + word
	}
	return errors.New(text + "\n\"dragoman agents add\" lists them")
}

// agentsDir returns the folder of installed agents.
func agentsDir(env *program.Environment) (string, error) {
	if dir := env.AgentsDir(); dir != "" {
		return dir, nil
	}
	return "", errors.New("HOME is not set, so there is no folder for agents; choose one with --data-dir")
}

func installer(env *program.Environment, dir string, o Choices) *install.Installer {
	f := download.Fetcher{Anywhere: source(env, o).Anywhere()}
	if out, ok := env.Err.(*os.File); ok && terminal.Is(out) {
		f.Progress = progress(out)
	}
	return &install.Installer{Dir: dir, Fetch: f, Environ: env.Environ}
}

// progress shows at a terminal how much of a file has arrived.
func progress(out *os.File) func(done, all int64) {
	var shown int64 = -1
	return func(done, all int64) {
		mib := done >> 20
		if mib == shown && done != all {
			return
		}
		shown = mib
		of := ""
		if all > 0 {
			of = fmt.Sprintf(" of %d", max(all>>20, 1))
		}
		fmt.Fprintf(out, "\rdownloaded %d%s MiB", mib, of)
		if done == all {
			fmt.Fprintln(out)
		}
	}
}

// showPlan shows what will be installed and run.
func showPlan(env *program.Environment, dir string, r *registry.Registry, p install.Plan) {
	a := p.Agent
	fmt.Fprintf(env.Out, "%s %s: %s\n", a.ID, cmp.Or(p.Choice.Version, a.Version), a.Name)
	w := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	line := func(key, text string) {
		if text != "" {
			fmt.Fprintf(w, "  %s:\t%s\n", key, display.Line(text, 400))
		}
	}
	line("about", a.Description)
	line("by", cmp.Or(a.Repository, a.Website))
	line("licence", cmp.Or(p.License, a.LicenseURL, "none is named"))
	line("registry", r.Source)
	line("source", p.Source)
	line("verified", p.Check)
	line("needs", p.Needs)
	line("folder", "a new one in "+filepath.Join(dir, a.ID))
	line("runs", commandLine(p.Command))
	given := variables(a.ID, p.Choice.Env)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		line("variable", display.Word(name)+"="+display.Word(given[name]))
	}
	for _, s := range p.Scripts {
		line("script", s+" (runs only if you agree)")
	}
	_ = w.Flush()
}

// variables returns the environment of an agent: that of the registry, and what keeps the agent from
// updating itself.
func variables(id string, given map[string]string) map[string]string {
	all := maps.Clone(known.ByID(id).NoUpdate)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, given)
	return all
}

// put installs an agent, and asks about install scripts.
func put(ctx context.Context, env *program.Environment, i *install.Installer, p install.Plan, o Choices) (install.Installed, error) {
	scripts := func(list []string) (bool, error) {
		if o.Scripts || o.Yes {
			return o.Scripts, nil
		}
		fmt.Fprintln(env.Out, "These want to run programs of theirs while they are installed:")
		for _, s := range list {
			fmt.Fprintf(env.Out, "  %s\n", display.Line(s, 300))
		}
		return terminal.Confirm(env, "Run them? Most agents work without.")
	}
	fmt.Fprintf(env.Err, "Installing %s.\n", p.Agent.ID)
	done, err := i.Install(ctx, p, scripts)
	if err != nil {
		return done, err
	}
	for _, s := range done.Scripts {
		fmt.Fprintf(env.Err, "not run: %s\n", display.Line(s, 300))
	}
	if len(done.Scripts) > 0 {
		fmt.Fprintln(env.Err, "If the agent does not work without, \"dragoman agents update --scripts\" installs it again and runs them.")
	}
	fmt.Fprintf(env.Out, "installed %s %s: %s in %s\n", p.Agent.ID, done.Manifest.Version, display.Counted(len(done.Manifest.Files), "file"), done.Folder.Path)
	return done, nil
}

// entryOf returns the entry of an installed agent. What the user has written in an older one stays.
func entryOf(done install.Installed, a configs.Agent) configs.Agent {
	a.ACP.Command = nil
	for _, w := range done.Command {
		a.ACP.Command = append(a.ACP.Command, configs.NewValue(configs.Literal(w)))
	}
	if a.Description == "" {
		a.Description = done.Manifest.Name
	}
	vars := map[string]configs.Secret{}
	for name, value := range variables(done.Manifest.ID, done.Env) {
		vars[name] = configs.NewSecret(configs.Literal(value))
	}
	maps.Copy(vars, a.ACP.Env)
	a.ACP.Env = vars
	return a
}

// showAddable lists the programs that are installed already, and the agents of the registry.
func showAddable(ctx context.Context, env *program.Environment, o Choices) error {
	w := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tVERSION\tWHERE\tABOUT")
	some := false
	for _, i := range installables {
		if f, ok := foundOf(env, i.id); ok {
			some = true
			fmt.Fprintf(w, "%s\t%s\t%s\tinstalled already\n", i.id, cmp.Or(display.Line(integrity.PackageVersion(f.path), 40), "-"), display.Line(f.path, 60))
		}
	}
	r, err := load(ctx, env, o)
	if err != nil && !some {
		return err
	}
	if err != nil {
		fmt.Fprintf(env.Err, "warning: %s\n", display.Printable(err.Error()))
		r = &registry.Registry{}
	}
	for _, a := range r.Agents {
		where := "registry"
		if _, err := a.Choose(); err != nil {
			where = "not for this system"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.ID, a.Version, where, display.Line(a.Name+": "+a.Description, 70))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Out, "Nothing was changed. \"dragoman agents add AGENT\" adds one.")
	return err
}
