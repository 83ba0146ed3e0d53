package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) mcpServersApprove() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "approve SERVER [TOOL…]",
		Short: "See what has changed of a server's tools, and agree to it",
		Long: `Start a server, show what its tools say of themselves now and what they said when you first
used them, and ask whether that is all right. A tool that has changed, or that is new, is used
only after you have agreed to it, here or when a session asks.

Without TOOL all of them are meant. With --yes nothing is asked, for scripts: read what is
printed all the same. The exit code is 1 if something stays as it is.`,
		Example: `  dragoman mcp-servers approve files
  dragoman mcp-servers approve files read_file --yes`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeOneServer,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.servers.Approve(ctx, args[0], args[1:], yes)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree without being asked")
	return cmd
}

// completeOneServer offers the servers for the first argument.
func (a *app) completeOneServer(
	cmd *cobra.Command,
	args []string,
	begun string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeServers(nil)(cmd, args, begun)
}
