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
		Long: `Log in to a server that wants it (mcp-servers list says so). The browser is opened at the address
that the server names; where that cannot be done, open it yourself on this machine. The login is
kept in the data folder, encrypted with a key of the system's keyring where there is one, and is
renewed by itself. Editors that are connected use it at once, or at their next prompt.

A server whose authorization server registers no clients by itself wants a client_id: see oauth
below mcp_servers in the example that "dragoman config init" writes.`,
		Example: `  dragoman mcp-servers login tracker
  dragoman mcp-servers login tracker --no-browser`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeServers(nil),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return a.servers.Login(ctx, args[0], !noBrowser)
		}),
	}
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "only print the address")
	return cmd
}

func (a *app) mcpServersLogout() *cobra.Command {
	return &cobra.Command{
		Use:               "logout SERVER",
		Short:             "Take the login to a server back, and forget it",
		Long:              `Take the login to a server back, where its authorization server offers that, and forget it.`,
		Example:           "  dragoman mcp-servers logout tracker",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeServers(nil),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return a.servers.Logout(ctx, args[0])
		}),
	}
}
