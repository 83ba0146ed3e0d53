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
		Short: "Show the logs of servers",
		Long: `Show the last lines of a server's log, or of all logs together: its standard error, output outside
of the protocol, log messages, when it started and why it ended. Values of env and headers from the
configuration are shown as ***.

The logs are in mcp-logs in the data folder, readable only by you, at most 2 MiB for each server.`,
		Example: `  dragoman mcp-servers logs files
  dragoman mcp-servers logs -n 200 | grep warn
  dragoman mcp-servers logs files -f`,
		Args:              upTo(1),
		ValidArgsFunction: a.completeOneServer,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			if lines < 0 {
				return program.UsageError{Err: errors.New("-n takes the number of lines to show; 0 means all of them")}
			}
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return a.servers.ShowLogs(ctx, args, lines, follow)
		}),
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 50, "show this many `LINES`; 0: all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new lines until Ctrl-C")
	return cmd
}
