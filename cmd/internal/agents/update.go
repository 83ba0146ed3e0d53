package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"dragoman/cmd/internal/install"
	"dragoman/cmd/internal/integrity"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/registry"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
)

// InstalledIn returns the folder of an agent that was installed from the registry; ok is false for a
// command of the user's own.
func InstalledIn(env *program.Environment, a configs.Agent) (f integrity.Folder, ok bool) {
	dir := env.AgentsDir()
	p, _ := a.Program()
	for _, word := range p.Command {
		text, err := word.Resolve(env.Lookup)
		if err != nil || !filepath.IsAbs(text) {
			continue
		}
		if f, ok := integrity.FolderOf(dir, text); ok {
			return f, true
		}
	}
	return f, false
}

// Update installs the present versions of agents of the registry beside those that are installed, and has
// agents.json name them. Programs that run keep their version.
func Update(ctx context.Context, env *program.Environment, name string, o Choices) error {
	c, err := env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	names, err := updatable(env, c, name)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		_, err := fmt.Fprintln(env.Out, "No agent was installed from the registry. \"dragoman agents add\" lists what there is.")
		return err
	}
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	r, err := load(ctx, env, o)
	if err != nil {
		return err
	}
	dir, err := agentsDir(env)
	if err != nil {
		return err
	}
	u := updater{env: env, o: o, registry: r, dir: dir, installer: installer(env, dir, o)}
	failed := false
	for _, name := range names {
		err := u.update(ctx, name, c.Agents[name])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case errors.Is(err, program.ErrReported):
			failed = true
		case err != nil && len(names) == 1:
			return err
		case err != nil:
			fmt.Fprintf(env.Err, "agent %s: %v\n", name, err)
			failed = true
		}
	}
	sayUsed(env, dir)
	if failed {
		return program.ErrReported
	}
	return nil
}

// updatable lists the agents of agents.json that were installed from the registry, or the one of a name.
func updatable(env *program.Environment, c *configs.Config, name string) (list []string, err error) {
	if name != "" {
		if err := Check(c, name); err != nil {
			return nil, err
		}
		if _, ok := InstalledIn(env, c.Agents[name]); !ok {
			return nil, fmt.Errorf("agent %s was not installed from the registry: update its program in the way in which you installed it", name)
		}
		if !c.AgentListed(name) {
			at, _ := c.Where("agents." + name)
			return nil, fmt.Errorf("agent %s is configured at %s, which no command changes", name, at)
		}
		return []string{name}, nil
	}
	for _, name := range Names(c) {
		if _, ok := InstalledIn(env, c.Agents[name]); ok && c.AgentListed(name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// updater updates agents from one registry.
type updater struct {
	env       *program.Environment
	o         Choices
	registry  *registry.Registry
	dir       string // of installed agents
	installer *install.Installer
}

func (u updater) update(ctx context.Context, name string, is configs.Agent) error {
	f, _ := InstalledIn(u.env, is)
	id := filepath.Base(filepath.Dir(f.Path))
	old, d, broken := f.Check(ctx)
	a, ok := u.registry.Find(id)
	if !ok {
		return notInRegistry(u.env, u.registry, id)
	}
	p, err := u.installer.Plan(ctx, a)
	if err != nil {
		return err
	}
	version := cmp.Or(p.Choice.Version, a.Version)
	switch {
	case broken != nil:
		fmt.Fprintf(u.env.Out, "%s cannot be compared with what was installed (%v), and is installed again.\n", name, broken)
	case old.Version != version:
		fmt.Fprintf(u.env.Out, "%s: %s → %s\n", name, old.Version, version)
	case !d.None():
		fmt.Fprintf(u.env.Out, "%s %s differs from what was installed (%s), and is installed again.\n", name, version, d)
	case !u.o.Scripts:
		fmt.Fprintf(u.env.Out, "%s %s is up to date.\n", name, version)
		return nil
	}
	showPlan(u.env, u.dir, u.registry, p)
	switch {
	case u.o.DryRun:
		fmt.Fprintln(u.env.Out, "Nothing was changed.")
		return nil
	case !u.o.Yes:
		agreed, err := terminal.Confirm(u.env, "Install it?")
		if err != nil {
			return err
		}
		if !agreed {
			fmt.Fprintf(u.env.Out, "%s stays as it is.\n", name)
			return program.ErrReported
		}
	}
	done, err := put(ctx, u.env, u.installer, p, u.o)
	if err != nil {
		return err
	}
	path, err := change(ctx, u.env, configs.PutAgent(name, entryOf(done, is)))
	if err != nil {
		return errors.Join(err, done.Folder.Remove())
	}
	fmt.Fprintf(u.env.Out, "wrote the agent %s to %s\n", name, path)
	if broken == nil {
		return install.Retire(u.dir, f)
	}
	return nil
}

// sayUsed names the folders of older versions that are in use.
func sayUsed(env *program.Environment, dir string) {
	used, err := install.Sweep(dir)
	if err != nil {
		fmt.Fprintf(env.Err, "warning: older versions are not removed: %v\n", err)
	}
	slices.Sort(used)
	for _, folder := range used {
		fmt.Fprintf(env.Out, "%s is still in use, and stays until a later update or remove.\n", folder)
	}
}

// Remove removes an agent of agents.json, with what was installed for it.
func Remove(ctx context.Context, env *program.Environment, name string, yes bool) error {
	c, err := env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	a := c.Agents[name]
	if c.DefaultAgent == name {
		at, _ := c.Where("default_agent")
		return fmt.Errorf("agent %s is the default_agent at %s; name another one there first", name, at)
	}
	f, installed := InstalledIn(env, a)
	if c.AgentListed(name) { // else the edit says why not
		text := fmt.Sprintf("Remove the agent %s", name)
		if installed {
			text += " and its folder " + f.Path
		} else if a.External() {
			text += " from the configuration? Its program stays, " + commandLine(Words(a)) + "\nRemove it"
		}
		if !yes {
			agreed, err := terminal.Confirm(env, text+"?")
			if err != nil {
				return err
			}
			if !agreed {
				fmt.Fprintln(env.Out, "Nothing was changed.")
				return program.ErrReported
			}
		}
	}
	path, err := change(ctx, env, configs.DropAgent(name))
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "removed the agent %s from %s\n", name, path)
	err = Records(env).Forget(ctx, name)
	if !installed {
		return err
	}
	dir := env.AgentsDir()
	if _, broken := f.Manifest(); broken != nil {
		err = errors.Join(err, f.Remove())
	} else {
		err = errors.Join(err, install.Retire(dir, f))
	}
	sayUsed(env, dir)
	return err
}

// Approve shows how the program of an agent has changed, and records a person's agreement.
func Approve(ctx context.Context, env *program.Environment, name string, yes bool) error {
	c, err := env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	if err := Check(c, name); err != nil {
		return err
	}
	changed, refused := false, false
	ask := func(_ context.Context, ch integrity.Change) (bool, error) {
		changed = true
		if yes {
			fmt.Fprintln(env.Out, ch.Text())
			return true, nil
		}
		agreed, err := terminal.Confirm(env, ch.Text())
		refused = err == nil && !agreed
		return agreed, err
	}
	if err := compared(ctx, env, name, c.Agents[name], ask); err != nil {
		switch why := (*integrity.Error)(nil); {
		case refused:
			fmt.Fprintln(env.Out, "Nothing was changed.")
			return program.ErrReported
		case errors.As(err, &why) && why.Why != nil:
			return why.Why
		}
		return err
	}
	if !changed {
		_, err := fmt.Fprintf(env.Out, "The program of agent %s has not changed.\n", name)
		return err
	}
	_, err = fmt.Fprintf(env.Out, "The program of agent %s is used from now on.\n", name)
	return err
}
