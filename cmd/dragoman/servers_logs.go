package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
)

func (a *app) mcpServersLogs() *cobra.Command {
	var lines int
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs [SERVER]",
		Short: "Show what servers have said, and what became of them",
		Long: `Show the last lines of a server's log, or of all logs together: what it printed on standard
error and beside the protocol, what it logged over the protocol, when it started and why it
ended. What the configuration gives it as env or headers is shown as ***.

The logs stand in mcp-logs in the data folder, for your eyes only, at most 2 MiB for each server.`,
		Example: `  dragoman mcp-servers logs files
  dragoman mcp-servers logs -n 200 | grep warn
  dragoman mcp-servers logs files -f`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeOneServer,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			if lines < 0 {
				return errors.New("-n is how many lines are shown; 0 means all of them")
			}
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return a.servers.ShowLogs(ctx, args, lines, follow)
		}),
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 50, "how many `LINES` are shown; 0: all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is said from now on, until Ctrl-C")
	return cmd
}
