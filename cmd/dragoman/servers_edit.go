package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/servers"
	"dragoman/configs"
	"dragoman/core/display"
)

func (a *app) mcpServersAdd() *cobra.Command {
	var n servers.Addition
	cmd := &cobra.Command{
		Use:   "add NAME [flags] (-- COMMAND [ARGUMENT…] | --url URL)",
		Short: "Add a server",
		Long: `Add a server to mcp.json: a program that speaks MCP on its standard input and output, after "--",
or an address. Everything else in the file stays, also comments.

Give a secret as a reference: 'TOKEN=${TOKEN}' takes it from the environment, ${file:PATH} from a
file, ${cmd:PROGRAM ARGUMENTS} from the output of a program. ${workspaceFolder} is the folder of the
session.

A program is started in the folder of each session; --dir names another one. The variables of an
--env-file (lines NAME=VALUE) are copied to mcp.json: a later change of the file has no effect, and
nothing in a value is a reference. --env wins over a file, and a later file over an earlier one.

With --tool, only the named tools are offered; --without-tool wins. In both, * is any text.`,
		Example: `  dragoman mcp-servers add files -- npx -y @modelcontextprotocol/server-filesystem .
  dragoman mcp-servers add github --env 'TOKEN=${GH_TOKEN}' -- github-mcp-server stdio
  dragoman mcp-servers add mail --env-file mail.env --tool 'read_*' --call-timeout 5m -- mail-server
  dragoman mcp-servers add tracker --url https://mcp.example.com/mcp \
      --header 'Authorization=Bearer ${file:~/.secrets/tracker}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New(
					"the server needs a name, and a command or an address: add NAME -- COMMAND, or add NAME --url URL",
				)
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.servers.Add(ctx, args[0], args[1:], n)
		}),
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w; put the program and its arguments after \"--\"", err)
	})
	f := cmd.Flags()
	f.StringArrayVar(&n.Env, "env", nil, "`NAME=VALUE` in the program's environment; may be given several times")
	f.StringArrayVar(&n.EnvFiles, "env-file", nil, "a `FILE` with variables for the program; may be given several times")
	f.StringArrayVar(
		&n.Headers,
		"header",
		nil,
		"`NAME=VALUE` sent with every request to the URL; may be given several times",
	)
	f.StringVar(&n.Dir, "dir", "", "the `FOLDER` in which the program is started (default: the session's)")
	f.StringVar(&n.URL, "url", "", "the `URL` of a server reached over HTTP")
	f.StringVar(
		&n.Transport,
		"transport",
		"",
		"the transport of a URL: `http` (Streamable HTTP, the default) or sse",
	)
	f.StringVar(&n.Start, "start", "", "when the server is started: `auto` (when it is needed, the default) or session")
	f.StringArrayVar(&n.Tools, "tool", nil, "offer only this `TOOL`; may be given several times")
	f.StringArrayVar(&n.WithoutTools, "without-tool", nil, "do not offer this `TOOL`; may be given several times")
	f.StringVar(&n.StartTimeout, "start-timeout", "", "the longest `TIME` until the server's tools are known (default: 1m)")
	f.StringVar(&n.CallTimeout, "call-timeout", "", "the longest `TIME` of a call without a sign of life (default: 10m)")
	f.BoolVar(&n.Replace, "replace", false, "replace the entry of the same name")
	for flag, words := range map[string][]cobra.Completion{"transport": {"http", "sse"}, "start": {"auto", "session"}} {
		// It cannot fail, because the flags exist.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagFilename("env-file")
	return cmd
}

func (a *app) mcpServersRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a server",
		Long: `Remove a server from mcp.json with everything stored about it: the recorded descriptions of its
tools, the login, which is revoked, and the log. Comments around its entry stay.`,
		Example:           "  dragoman mcp-servers remove files",
		Args:              exactly(1),
		ValidArgsFunction: a.completeServers(nil),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.servers.Remove(ctx, args[0])
		}),
	}
}

func (a *app) mcpServersDisable(disabled bool) *cobra.Command {
	does := map[bool]struct{ word, short, long string }{
		true: {
			"disable", "Disable a server",
			"Disable a server: it stays configured, but is not started, and its tools are not offered. A server\nof config.yaml is put on the list \"disabled\" of mcp.json.",
		},
		false: {"enable", "Enable a server that was disabled", "Enable a server that was disabled. One that config.yaml itself disables has to be enabled there."},
	}[disabled]
	return &cobra.Command{
		Use:               does.word + " NAME…",
		Short:             does.short,
		Long:              does.long,
		Example:           "  dragoman mcp-servers " + does.word + " files",
		Args:              atLeast(1),
		ValidArgsFunction: a.completeServers(func(s configs.MCPServer) bool { return s.Disabled != disabled }),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.servers.Disable(ctx, disabled, args...)
		}),
	}
}

// completeServers offers the names of matching servers to a shell.
func (a *app) completeServers(fits func(configs.MCPServer) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		all := a.servers.Names()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !slices.Contains(args, name) && (fits == nil || fits(all[name])) {
				names = append(names, name+"\t"+display.Line(all[name].Command.String()+all[name].URL.String(), 60))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
