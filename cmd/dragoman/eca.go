package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/serve"
)

func (a *app) eca() *cobra.Command {
	var verbose bool
	var agent string
	cmd := &cobra.Command{
		Use:     "eca",
		Aliases: []string{"server"},
		Short:   "Serve an editor that speaks ECA, the Editor Code Assistant protocol",
		Long: `Serve an editor that speaks ECA, the Editor Code Assistant protocol (the ECA plugins of
Emacs, VS Code, IntelliJ, Neovim, Desktop), over standard input and output. These editors
start "PATH server", so set the path of dragoman there; "server" is an alias of this command.
It ends when the editor requests it, closes its standard input or exits.

--verbose and --config-file are flags of ECA's own server and mean the same here: log at
level debug, and --config.

The exit code is 0 if the editor requested the shutdown before it left, else 1.`,
		Example: `  dragoman eca
  dragoman server --log-level debug --log-file /tmp/dragoman.log`,
		Args: none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			if verbose && a.Flags.LogLevel == "" {
				a.Flags.LogLevel = "debug"
			}
			return serve.ECA(ctx, a.profiledFor(agent))
		}),
	}
	// ECA's clients run the server with --version and look for a line that begins with its name.
	versioned(cmd, fmt.Sprintf("dragoman %[1]s\neca %[1]s\n", a.Version))
	a.servingFlags(cmd, &agent)
	cmd.Flags().BoolVar(&verbose, "verbose", false, "log at level debug, unless --log-level says otherwise")
	cmd.Flags().StringVar(&a.Flags.Config, "config-file", "", "the same as --config: the configuration `FILE`")
	return cmd
}
