package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"dragoman/cmd/internal/integrity"
	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core/child"
	"dragoman/core/display"
)

// builtin are the agents that exist without any configuration.
var builtin = []listed{
	{Name: "code", Mode: "primary", Description: "Works on the code: reads, changes, runs, with your approval"},
	{Name: "plan", Mode: "primary", Description: "Looks and makes a plan; changes nothing, and asks before each command"},
	{Name: "explorer", Mode: "subagent", Description: "Searches and reads the workspace and reports what it found; changes nothing. For questions about the code that take many searches"},
	{Name: "general", Mode: "subagent", Description: "Works on a task of its own, with the same tools and approvals, and reports what it did. For work that stands apart, or several pieces at once"},
}

// Builtin describes a built-in agent; "": there is none of this name.
func Builtin(name string) string {
	for _, b := range builtin {
		if b.Name == name {
			return b.Description
		}
	}
	return ""
}

// listed is an agent in the JSON list.
type listed struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"` // builtin, configured or external
	Mode        string   `json:"mode"` // primary, subagent or all
	Default     bool     `json:"default,omitempty"`
	Description string   `json:"description,omitempty"`
	Command     []string `json:"command,omitempty"` // as it is written
	Program     string   `json:"program,omitempty"` // where it is installed
	Version     string   `json:"version,omitempty"`
	Origin      string   `json:"origin,omitempty"`  // of an external agent: registry or own
	Problem     string   `json:"problem,omitempty"` // why it cannot be started
}

// List prints the agents of the configuration and the built-in ones, the default one first: as a
// table, or one JSON object a line. It starts nothing.
func List(ctx context.Context, env *program.Environment, asJSON bool) error {
	c, err := env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	list := listOf(ctx, c, env)
	if asJSON {
		enc := json.NewEncoder(env.Out)
		enc.SetEscapeHTML(false)
		for _, l := range list {
			if err := enc.Encode(l); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tKIND\tFOR\tVERSION\tFROM\tPROGRAM\tDESCRIPTION")
	for _, l := range list {
		name, where := l.Name, "-"
		if l.Default {
			name += " (default)"
		}
		if l.Kind == external {
			where = cmp.Or(l.Problem, l.Program)
		}
		version, from := cmp.Or(display.Line(l.Version, 40), "-"), cmp.Or(l.Origin, "-")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, l.Kind, audience[l.Mode], version, from, display.Line(where, 80), display.Line(l.Description, 60))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.UnusableAgents)) {
		fmt.Fprintf(env.Err, "warning: agent %s cannot be used:\n%v\n", name, c.UnusableAgents[name].Err)
	}
	return nil
}

const external = "external"

// audience names those who may start an agent.
var audience = map[string]string{"primary": "people", "subagent": "tasks", "all": "people, tasks"}

func listOf(ctx context.Context, c *configs.Config, env *program.Environment) (list []listed) {
	for _, l := range builtin {
		l.Kind = "builtin"
		if a, ok := c.Agents[l.Name]; ok {
			l.Description = cmp.Or(a.Description, l.Description)
			if a.Mode == "all" {
				l.Mode = "all"
			}
		}
		list = append(list, l)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		if Builtin(name) != "" {
			continue
		}
		l := listed{Name: name, Kind: "configured", Mode: a.Mode, Description: a.Description}
		if a.External() {
			l.Kind, l.Description = external, Description(a)
			l.Command = Words(a)
			where, err := Find(ctx, a, env)
			if l.Program = where; err != nil {
				l.Problem = reason(err)
			}
			l.Version, l.Origin = origin(env, a, where)
			if f, ok := InstalledIn(env, a); ok && err == nil {
				l.Program = f.Path
			}
		}
		list = append(list, l)
	}
	first := cmp.Or(c.DefaultAgent, builtin[0].Name)
	slices.SortStableFunc(list, func(a, b listed) int {
		switch {
		case a.Name == first:
			return -1
		case b.Name == first:
			return 1
		}
		return 0
	})
	list[0].Default = list[0].Name == first
	return list
}

// origin returns the version of an agent's program, as far as it is known, and where it comes from.
func origin(env *program.Environment, a configs.Agent, path string) (version, from string) {
	if f, ok := InstalledIn(env, a); ok {
		m, err := f.Manifest()
		if err != nil {
			return "", "registry"
		}
		return m.Version, "registry"
	}
	if path != "" {
		version = integrity.PackageVersion(path)
	}
	return version, "own"
}

// reason returns an error without the place of the setting and the attempt that it is about.
func reason(err error) string {
	if wrong, ok := errors.AsType[*configs.Error](err); ok {
		return wrong.Problems[0].Message
	}
	return strings.TrimPrefix(err.Error(), "start ")
}

// Check returns a program.UsageError if a name is not that of an external agent.
func Check(c *configs.Config, name string) error {
	names := Names(c)
	switch {
	case Builtin(name) != "":
		return program.UsageError{Err: fmt.Errorf("%s is a built-in agent, and no program", name)}
	case !slices.Contains(names, name):
		problem, hint := Unknown(name, names)
		if hint != "" {
			problem += "\n" + hint
		}
		return program.UsageError{Err: errors.New(problem)}
	}
	return nil
}

// Names lists the external agents of a configuration.
func Names(c *configs.Config) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if c.Agents[name].External() {
			names = append(names, name)
		}
	}
	return names
}

// Find returns where the program of an external agent is installed. It looks up no secret.
func Find(ctx context.Context, a configs.Agent, env *program.Environment) (string, error) {
	started, _ := a.Program()
	p, err := resolve(ctx, configs.AgentProgram{Command: started.Command}, env.Lookup, nil)
	if err != nil {
		return "", err
	}
	path := env.Getenv("PATH")
	if own, ok := started.Env["PATH"]; ok && !own.RunsProgram() {
		if path, err = own.Resolve(env.Lookup); err != nil {
			return "", err
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return child.Find(p.Path, []string{"PATH=" + path}, dir)
}
