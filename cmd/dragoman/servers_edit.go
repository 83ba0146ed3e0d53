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
		Long: `Write a server into mcp.json: a program that speaks MCP on its standard input and output, behind
"--", or an address. Nothing else in the file changes, comments included.

A secret is best given as a reference: 'TOKEN=${TOKEN}' takes it from the environment, ${file:PATH}
from a file, ${cmd:PROGRAM ARGUMENTS} from what a program prints. ${workspaceFolder} is the folder
of the session.

A program is started in the folder of each session; --dir names another one.`,
		Example: `  dragoman mcp-servers add files -- npx -y @modelcontextprotocol/server-filesystem .
  dragoman mcp-servers add github --env 'TOKEN=${GH_TOKEN}' -- github-mcp-server stdio
  dragoman mcp-servers add tracker --url https://mcp.example.com/mcp \
      --header 'Authorization=Bearer ${file:~/.secrets/tracker}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New(
					"say what to call the server, and how it is started: add NAME -- COMMAND, or add NAME --url URL",
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
	f.StringArrayVar(
		&n.Headers,
		"header",
		nil,
		"`NAME=VALUE` sent with every request to the URL; may be given several times",
	)
	f.StringVar(&n.Dir, "dir", "", "the `FOLDER` that the program is started in (default: the session's)")
	f.StringVar(&n.URL, "url", "", "the `URL` of a server reached over HTTP")
	f.StringVar(
		&n.Transport,
		"transport",
		"",
		"how a URL is spoken to: `http` (Streamable HTTP, the default) or sse",
	)
	f.StringVar(&n.Start, "start", "", "when it is started: `auto` (when it is needed, the default) or session")
	f.BoolVar(&n.Replace, "replace", false, "change the entry that has the name")
	for flag, words := range map[string][]cobra.Completion{"transport": {"http", "sse"}, "start": {"auto", "session"}} {
		// It cannot fail, because the flags exist.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

func (a *app) mcpServersRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a server",
		Long: `Remove a server from mcp.json, and forget what was kept of it: what its tools said
when they were first seen, the login to it, which is taken back, and its log. Comments around its
entry stay.`,
		Example:           "  dragoman mcp-servers remove files",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeServers(nil),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.servers.Remove(ctx, args[0])
		}),
	}
}

func (a *app) mcpServersDisable(disabled bool) *cobra.Command {
	does := map[bool]struct{ word, short, long string }{
		true: {
			"disable", "Leave a server alone",
			"Leave a server alone: it stays configured, and nothing starts it or offers its tools. A server of\nconfig.yaml is put on the list \"disabled\" of mcp.json.",
		},
		false: {"enable", "Use a server that was disabled", "Use a server that was disabled. One that config.yaml itself disables is enabled there."},
	}[disabled]
	return &cobra.Command{
		Use:               does.word + " NAME…",
		Short:             does.short,
		Long:              does.long,
		Example:           "  dragoman mcp-servers " + does.word + " files",
		Args:              cobra.MinimumNArgs(1),
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
