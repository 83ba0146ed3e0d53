package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/agents"
	"dragoman/cmd/internal/serve"
)

func (a *app) acp() *cobra.Command {
	var agent, login string
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
			if login != "" {
				name, method, _ := strings.Cut(login, "/")
				return agents.Login(ctx, a.Environment, name, method, true)
			}
			return serve.ACP(ctx, a.profiledFor(agent))
		}),
	}
	a.servingFlags(c, &agent)
	c.Flags().StringVar(&login, "login", "", "log in to an external agent in this terminal instead: `AGENT` or AGENT/METHOD (see agents login; editors append this)")
	keys := a.login() // for editors that append the words of a login to their command
	keys.Hidden = true
	c.AddCommand(keys)
	return c
}
