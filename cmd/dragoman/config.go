package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
)

func (a *app) config() *cobra.Command {
	var mcp bool
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
		ofServers(sub(
			"path",
			"Print where the configuration file is read from",
			"Print the path of the configuration file, which need not exist: --config, else\ndragoman/config.yaml in $XDG_CONFIG_HOME or the system's usual place for configurations.\nMCP servers are kept beside it, in mcp.json; with --config DIR/NAME.yaml, in DIR/NAME.mcp.json.",
			"  dragoman config path\n  dragoman config path --mcp\n  dragoman config path --config ./other.yaml",
			func() error { return a.configPath(mcp) },
		), &mcp, "print the path of mcp.json"),
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
		ofServers(sub(
			"schema",
			"Print the JSON schema of the configuration file",
			"Print the JSON schema (2020-12) of the configuration file, or of mcp.json (--mcp), for completion\nand checks in editors.",
			"  dragoman config schema > dragoman.schema.json\n  dragoman config schema --mcp > mcp.schema.json",
			func() error {
				schema := configs.SchemaJSON
				if mcp {
					schema = configs.ServersSchemaJSON
				}
				_, err := a.Out.Write(schema())
				return err
			}), &mcp, "print the schema of mcp.json"))
}

// ofServers adds the flag --mcp to a command, which selects mcp.json.
func ofServers(cmd *cobra.Command, mcp *bool, usage string) *cobra.Command {
	cmd.Flags().BoolVar(mcp, "mcp", false, usage)
	return cmd
}

func (a *app) configPath(mcp bool) error {
	path := a.ConfigFile()
	if mcp {
		path = a.ServersFile()
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
