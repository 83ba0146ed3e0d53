package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/cmd/internal/imports"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/registry"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core/display"
)

// Import takes over the agents in the user's own settings of editors. It returns program.ErrReported if
// some of them could not be taken over.
func Import(ctx context.Context, env *program.Environment, from string, o Choices) error {
	if from != "" && !slices.Contains(imports.AgentPrograms(), from) {
		return program.UsageError{Err: fmt.Errorf("agents are imported from %s, and not from %q%s",
			strings.Join(imports.AgentPrograms(), " and "), display.Line(from, 40), configs.DidYouMean(from, imports.AgentPrograms()))}
	}
	settings, err := imports.AgentsOf(env, from)
	if err != nil {
		return err
	}
	c, err := env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	i := importing{env: env, o: o, config: c, taken: map[string]bool{}}
	for _, s := range settings {
		fmt.Fprintf(env.Out, "%s:\n", display.Printable(s.Path))
		if len(s.Agents) == 0 {
			fmt.Fprintln(env.Out, "  no agents")
		}
		for _, a := range s.Agents {
			i.sift(a)
		}
	}
	switch {
	case len(settings) == 0:
		_, err := fmt.Fprintln(env.Out, "No settings of "+cmp.Or(from, "Zed or JetBrains")+" were found.")
		return err
	case len(i.good) == 0:
		fmt.Fprintln(env.Out, "Nothing was changed.")
	case o.DryRun:
		if err := wouldWrite(env, i.own()); err != nil {
			return err
		}
	default:
		if err := i.take(ctx); err != nil {
			return err
		}
	}
	if i.failed {
		return program.ErrReported
	}
	return nil
}

// importing is one import.
type importing struct {
	env    *program.Environment
	o      Choices
	config *configs.Config
	taken  map[string]bool // names of this import
	good   []importable
	failed bool
}

// importable is an agent that can be taken over.
type importable struct {
	name string // here
	of   imports.AgentServer
}

// sift lists an agent, and says why it is not taken over.
func (i *importing) sift(a imports.AgentServer) {
	name := nameOf(a.Name)
	say := func(format string, args ...any) {
		fmt.Fprintf(i.env.Out, "  %s: %s\n", display.Word(a.Name), fmt.Sprintf(format, args...))
	}
	if a.Registry {
		id, _ := registry.Renamed(a.Name)
		name = registry.NameFor(cmp.Or(id, a.Name))
	}
	_, there := i.config.Agents[name]
	switch {
	case a.Err != nil && a.Err.Error() == "it is dragoman itself":
		say("%v, and is left out", a.Err)
		return
	case a.Err == nil && there && !a.Registry && i.config.Agents[name].Means(entryFrom(a, i.config.Agents[name].Description)):
		say("is in the configuration already")
		return
	case a.Err == nil && there && !i.config.AgentListed(name):
		a.Err = fmt.Errorf("config.yaml has an agent %s, which no command changes", name)
	case a.Err == nil && there && !i.o.Replace:
		say("there is an agent %s already, with other settings; --replace changes it", name)
		return
	case a.Err == nil && i.taken[name]:
		a.Err = fmt.Errorf("another one is called %s, too", name)
	case a.Err == nil && !a.Registry:
		_, a.Err = configs.ApplyAgents("", nil, nil, configs.AddAgent(name, entryFrom(a, "")))
	}
	if a.Err != nil {
		i.failed = true
		fmt.Fprintf(i.env.Err, "not imported: %s: %s\n", display.Word(a.Name), display.Printable(a.Err.Error()))
		return
	}
	say("%s, as %s", a.Shown(), name)
	for _, v := range slices.Sorted(maps.Keys(a.Env)) {
		fmt.Fprintf(i.env.Out, "    with the variable %s\n", display.Word(v))
	}
	for _, note := range a.Notes {
		fmt.Fprintf(i.env.Out, "    %s\n", note)
	}
	for _, word := range a.Command {
		if id, why := registry.Renamed(word); id != "" && strings.HasPrefix(word, "@") {
			fmt.Fprintf(i.env.Out, "    %s: \"dragoman agents add %s\" installs it\n", display.Line(why, 200), id)
		}
	}
	i.taken[name] = true
	i.good = append(i.good, importable{name, a})
}

// nameOf makes a name of ours from one of an editor, such as "Claude Code".
func nameOf(name string) string { return strings.ToLower(configs.ServerName(name)) }

// entryFrom returns the entry for an agent of an editor. Its texts are taken as they are.
func entryFrom(s imports.AgentServer, description string) configs.Agent {
	a := configs.Agent{Description: description}
	for _, w := range s.Command {
		a.ACP.Command = append(a.ACP.Command, configs.NewValue(configs.Literal(w)))
	}
	if len(s.Env) > 0 {
		a.ACP.Env = map[string]configs.Secret{}
	}
	for name, value := range s.Env {
		a.ACP.Env[name] = configs.NewSecret(configs.Literal(value))
	}
	if len(s.Options) > 0 {
		a.Options = map[string]configs.Option{}
	}
	for id, value := range s.Options {
		a.Options[id] = configs.Option(value)
	}
	return a
}

// own returns the entries of agents that are not installed.
func (i *importing) own() map[string]configs.Agent {
	all := map[string]configs.Agent{}
	for _, g := range i.good {
		if !g.of.Registry {
			all[g.name] = entryFrom(g.of, "")
		}
	}
	return all
}

// take asks, and takes the agents over. Those of the registry are installed one after the other.
func (i *importing) take(ctx context.Context) error {
	if !i.o.Yes {
		agreed, err := terminal.Confirm(i.env, fmt.Sprintf("Import %s?", display.Counted(len(i.good), "agent")))
		if err != nil {
			return err
		}
		if !agreed {
			fmt.Fprintln(i.env.Out, "Nothing was changed.")
			return program.ErrReported
		}
	}
	own := i.own()
	var edits []configs.AgentEdit
	names := slices.Sorted(maps.Keys(own))
	for _, name := range names {
		edits = append(edits, configs.PutAgent(name, own[name]))
	}
	if len(edits) > 0 {
		path, err := change(ctx, i.env, edits...)
		if err != nil {
			return err
		}
		fmt.Fprintf(i.env.Out, "imported %s into %s\n\"dragoman agents doctor\" tries them.\n", strings.Join(names, ", "), path)
	}
	for _, g := range i.good {
		if !g.of.Registry {
			continue
		}
		o := i.o
		o.As = g.name
		err := Add(ctx, i.env, g.of.Name, nil, o)
		if err == nil {
			err = i.settings(ctx, g)
		}
		if err != nil && !errors.Is(err, program.ErrReported) {
			fmt.Fprintf(i.env.Err, "not imported: %s: %s\n", display.Word(g.of.Name), display.Printable(err.Error()))
		}
		i.failed = i.failed || err != nil
	}
	return nil
}

// settings adds the variables and options of an editor to an agent that was installed.
func (i *importing) settings(ctx context.Context, g importable) error {
	if len(g.of.Env)+len(g.of.Options) == 0 {
		return nil
	}
	c, err := i.env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	a, from := c.Agents[g.name], entryFrom(g.of, "")
	vars := maps.Clone(a.ACP.Env)
	if vars == nil {
		vars = map[string]configs.Secret{}
	}
	maps.Copy(vars, from.ACP.Env)
	a.ACP.Env, a.Options = vars, from.Options
	_, err = change(ctx, i.env, configs.PutAgent(g.name, a))
	return err
}
