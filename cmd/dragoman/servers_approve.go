package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) mcpServersApprove() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "approve SERVER [TOOL…]",
		Short: "Review and approve changes of a server's tools",
		Long: `Start a server, show how its tools describe themselves now and how they did when you first used
them, and ask for your approval. A tool that has changed or is new is used only after you approve
it, here or when a session asks.

Without TOOL, all tools of the server are reviewed. --yes approves without asking, for scripts;
read the output anyway. The exit code is 1 if something was not approved.

A server that was not used yet has nothing to compare with: its tools are approved as they are now,
as its first use does. If you name some of them, the others are held back.`,
		Example: `  dragoman mcp-servers approve files
  dragoman mcp-servers approve files read_file --yes`,
		Args:              atLeast(1),
		ValidArgsFunction: a.completeOneServer,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.servers.Approve(ctx, args[0], args[1:], yes)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve without asking")
	return cmd
}

// completeOneServer offers the names of servers for the first argument.
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
