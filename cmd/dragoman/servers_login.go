package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
)

func (a *app) mcpServersLogin() *cobra.Command {
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a server in the browser",
		Long: `Log in to a server that requires it (see mcp-servers list). The browser opens at the address that
the server names; if it does not, open the address yourself on this machine. The login is stored in
the data folder, encrypted with a key from the system keyring if there is one, and renewed
automatically. Connected editors use it at once, or at their next prompt.

If the authorization server does not register clients by itself, you need a client_id: see oauth
under mcp_servers in the example that "dragoman config init" writes.`,
		Example: `  dragoman mcp-servers login tracker
  dragoman mcp-servers login tracker --no-browser`,
		Args:              exactly(1),
		ValidArgsFunction: a.completeServers(nil),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return a.servers.Login(ctx, args[0], !noBrowser)
		}),
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the address instead of opening it")
	return cmd
}

func (a *app) mcpServersLogout() *cobra.Command {
	return &cobra.Command{
		Use:               "logout SERVER",
		Short:             "Revoke and remove the login to a server",
		Long:              `Revoke the login to a server, if its authorization server supports that, and remove it.`,
		Example:           "  dragoman mcp-servers logout tracker",
		Args:              exactly(1),
		ValidArgsFunction: a.completeServers(nil),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return a.servers.Logout(ctx, args[0])
		}),
	}
}
