package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/serve"
)

func (a *app) acp() *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use:   "acp",
		Short: "Serve an editor that speaks ACP, the Agent Client Protocol",
		Long: `Serve an editor that speaks ACP, the Agent Client Protocol (Zed, JetBrains, agent-shell,
codecompanion, toad, …), over standard input and output. The editor starts this command, and
it ends when the editor closes its standard input.`,
		Example: `  dragoman acp
  dragoman acp --agent claude
  dragoman acp --log-level debug --log-file /tmp/dragoman.log`,
		Args: none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return serve.ACP(ctx, a.profiledFor(agent))
		}),
	}
	agentFlag(c, &agent)
	login := a.login() // for editors that append the words of a login to their command
	login.Hidden = true
	c.AddCommand(login)
	return c
}
