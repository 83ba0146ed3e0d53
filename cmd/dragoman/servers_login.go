package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"dragoman/bridge"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
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
			return a.withServers(func(box *bridge.Box, kept secrets.ServerLogins) error {
				err := box.Login(ctx, args[0], func(address string) {
					fmt.Fprintf(a.Err, "Log in in the browser, at:\n\n  %s\n\n", address)
					if noBrowser {
						return
					}
					if err := a.Browse(address); err != nil {
						fmt.Fprintf(a.Err, "No browser could be opened (%v): open the address yourself, on this machine.\n", err)
					}
				})
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.Out, "You are logged in to %s. The login is kept %s.\n", oneLine(args[0], 60), kept.Where(ctx, args[0]))
				return err
			})
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
			return a.withServers(func(box *bridge.Box, kept secrets.ServerLogins) error {
				had, err := kept.Has(args[0])
				if err == nil && !had {
					_, err = fmt.Fprintf(a.Out, "No login to %s is kept.\n", oneLine(args[0], 60))
					return err
				}
				if err := box.Logout(ctx, args[0]); err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.Out, "The login to %s is forgotten.\n", oneLine(args[0], 60))
				return err
			})
		}),
	}
}

// withServers lets f look after the logins to the servers of the configuration.
func (a *app) withServers(f func(*bridge.Box, secrets.ServerLogins) error) error {
	config, err := a.LoadConfig(nil)
	if err != nil {
		return err
	}
	a.patient()
	kept, ok := a.secrets.ServerLogins()
	if !ok {
		_, err := a.DataDir()
		return err
	}
	box := bridge.New(bridge.Options{Servers: serversOf(config, nil, a.Lookup, secrets.NewPrograms().Run), Environ: a.Environ(), Version: a.Version, Tokens: kept})
	defer box.Close()
	return f(box, kept)
}

// openBrowser opens an address that was checked, without a shell. What is started
// stays when we end.
func openBrowser(address string) error {
	words := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if words == nil {
		words = []string{"xdg-open"}
	}
	cmd := exec.Command(words[0], append(words[1:], address)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() //nolint:errcheck // it ends when the browser does, or we do
	return nil
}
