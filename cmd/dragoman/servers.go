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
			Long: `See and change the MCP servers whose tools the agent may use. They are kept in mcp.json beside the
configuration ("dragoman config path --mcp" prints its path), in the form that MCP programs share,
so that the text of a server's README can be pasted there. Servers below mcp_servers of config.yaml
are used as well, and win by name; these commands never change that file. Editors that are connected
follow what changes in both.`,
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
it again. For a server that fails, the end of its output is shown.`,
		Example: `  dragoman mcp-servers list
  dragoman mcp-servers list --tools`,
		Args: cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return a.servers.List(ctx, tools)
		}),
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "also list the tools")
	return cmd
}
