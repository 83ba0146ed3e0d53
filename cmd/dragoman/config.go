package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
)

func (a *app) config() *cobra.Command {
	var of ofFile
	sub := func(use, short, long, example string, run func() error) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Long: long, Example: example, Args: none,
			RunE: a.begin(func(context.Context, []string) error { return run() }),
		}
	}
	return group(&cobra.Command{
		Use:   "config",
		Short: "Find, write, show and describe the configuration file",
		Long: `Find, write, show and describe the configuration file: one YAML file (JSON is accepted too).
No file is needed: with a key in the environment its provider is used, otherwise the
offline demo model.`,
		Example: `  dragoman config path
  dragoman config init && $EDITOR "$(dragoman config path)"`,
	},
		of.flags(sub(
			"path",
			"Print where the configuration file is read from",
			"Print the path of the configuration file, which need not exist: --config, else\ndragoman/config.yaml in $XDG_CONFIG_HOME or the system's usual place for configurations.\nMCP servers and agents are kept beside it, in mcp.json and agents.json; with --config\nDIR/NAME.yaml, in DIR/NAME.mcp.json and DIR/NAME.agents.json.",
			"  dragoman config path\n  dragoman config path --mcp\n  dragoman config path --agents\n  dragoman config path --config ./other.yaml",
			func() error { return a.configPath(of) },
		), "print the path of"),
		sub(
			"init",
			"Write a commented configuration file",
			"Write an example with every setting, all commented out, readable only by you.\nAn existing file is never replaced.",
			"  dragoman config init\n  dragoman config init --config ./dragoman.yaml",
			a.configInit,
		),
		sub(
			"show",
			"Print the effective configuration",
			"Print the effective configuration as YAML: the file's settings and the defaults of the others,\nwith secrets hidden. Warnings and errors go to standard error; if there is an error, the exit\ncode is 1 and nothing else is printed.",
			"  dragoman config show\n  dragoman config show --config ./other.yaml",
			a.configShow,
		),
		of.flags(sub(
			"schema",
			"Print the JSON schema of the configuration file",
			"Print the JSON schema (2020-12) of the configuration file, of mcp.json (--mcp) or of agents.json\n(--agents), for completion and checks in editors.",
			"  dragoman config schema > dragoman.schema.json\n  dragoman config schema --mcp > mcp.schema.json",
			func() error {
				schema := configs.SchemaJSON
				switch {
				case of.mcp:
					schema = configs.ServersSchemaJSON
				case of.agents:
					schema = configs.AgentsSchemaJSON
				}
				_, err := a.Out.Write(schema())
				return err
			}), "print the schema of"))
}

// ofFile selects a file beside the configuration.
type ofFile struct{ mcp, agents bool }

// flags adds the flags --mcp and --agents to a command.
func (f *ofFile) flags(cmd *cobra.Command, does string) *cobra.Command {
	cmd.Flags().BoolVar(&f.mcp, "mcp", false, does+" mcp.json")
	cmd.Flags().BoolVar(&f.agents, "agents", false, does+" agents.json")
	cmd.MarkFlagsMutuallyExclusive("mcp", "agents")
	return cmd
}

func (a *app) configPath(of ofFile) error {
	path := a.ConfigFile()
	switch {
	case of.mcp:
		path = a.ServersFile()
	case of.agents:
		path = a.AgentsFile()
	}
	if path == "" {
		return program.ErrNoConfigPlace
	}
	_, err := fmt.Fprintln(a.Out, path)
	return err
}

func (a *app) configInit() error {
	path := a.ConfigFile()
	if path == "" {
		return program.ErrNoConfigPlace
	}
	if err := configs.Init(path); err != nil {
		return err
	}
	_, err := fmt.Fprintf(
		a.Out,
		"wrote %s\nAll settings are commented out. \"dragoman doctor\" checks the file after a change.\n",
		path,
	)
	return err
}

func (a *app) configShow() error {
	c, err := a.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(a.Err, "warning: %s\n", w)
	}
	_, err = a.Out.Write(configs.Marshal(c))
	return err
}
