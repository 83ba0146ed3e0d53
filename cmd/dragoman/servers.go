package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) mcpServers() *cobra.Command {
	return group(
		&cobra.Command{
			Use:   "mcp-servers",
			Short: "See and change the MCP servers whose tools the agent may use",
			Long: `See and change the MCP servers whose tools the agent may use. They stand in the configuration,
below mcp_servers; "dragoman config path" says where that is. Editors that are connected follow
what changes there.`,
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
		Short: "Start each server, say how it is, and end it again",
		Long: `Start each server in the folder that you are in, say how it is and how many tools it has,
and end it again. Of one that fails the end of what it printed is told.`,
		Example: `  dragoman mcp-servers list
  dragoman mcp-servers list --tools`,
		Args: cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return a.servers.List(ctx, tools)
		}),
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "name the tools as well")
	return cmd
}
