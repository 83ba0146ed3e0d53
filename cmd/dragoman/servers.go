package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) mcpServers() *cobra.Command {
	return group(
		&cobra.Command{
			Use:   "mcp-servers",
			Short: "Manage MCP servers",
			Long: `Manage the MCP servers whose tools the agent may use. They are kept in mcp.json next to the
configuration ("dragoman config path --mcp" prints its path), in the form that MCP programs share,
so you can paste the text of a server's README there. Servers under mcp_servers in config.yaml are
used as well, and win if both files have the same name; these commands never change that file.
Connected editors follow the changes in both.`,
			Example: `  dragoman mcp-servers add files -- npx -y @modelcontextprotocol/server-filesystem .
  dragoman mcp-servers list`,
		},
		a.mcpServersList(),
		a.mcpServersAdd(),
		a.mcpServersRemove(),
		a.mcpServersDisable(false),
		a.mcpServersDisable(true),
		a.mcpServersImport(),
		a.mcpServersApprove(),
		a.mcpServersLogs(),
		a.mcpServersLogin(),
		a.mcpServersLogout(),
	)
}

func (a *app) mcpServersList() *cobra.Command {
	var tools bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Start each server, report its status, and stop it again",
		Long: `Start each server in the current folder, report its status and the number of its tools, and stop
it again. For a server that fails, the end of its output is shown; the rest is in its log. The exit
code is 1 if a server does not start.`,
		Example: `  dragoman mcp-servers list
  dragoman mcp-servers list --tools`,
		Args: none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return a.servers.List(ctx, tools)
		}),
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "also list the tools")
	return cmd
}
