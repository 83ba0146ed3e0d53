package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/imports"
)

func (a *app) mcpServersImport() *cobra.Command {
	var o imports.Options
	cmd := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Take over the servers of another program's settings",
		Long: `Take over the MCP servers of another program's settings: Claude Desktop's, Claude Code's,
Codex's, Cursor's, Gemini CLI's, Goose's, opencode's, VS Code's (mcp.json and settings.json),
Windsurf's, Zed's and ECA's, comments in them included, or a server.json of the MCP registry. They
are written into mcp.json. What those programs replace in texts means the same there: variables of
the environment and ${workspaceFolder} stay, and what VS Code asks you for becomes a variable of the
environment. Lists of tools that are offered or not are kept. What is changed or dropped is
reported. If a server cannot be translated, the others are taken over and the exit code is 1.
Servers that are configured already stay as they are.

Of ~/.claude.json the servers of the user are taken over, and those of the current folder.

${file:…} and ${cmd:…} read a file or run a program whenever a value is needed. They are kept from
ECA's own settings only, after you have seen them and agreed; anywhere else they are plain text.

Without FILE: list the places where such settings are found, and change nothing.`,
		Example: `  dragoman mcp-servers import
  dragoman mcp-servers import ~/.cursor/mcp.json --dry-run
  dragoman mcp-servers import ~/.codex/config.toml
  dragoman mcp-servers import .vscode/mcp.json --replace`,
		Args: upTo(1),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			if len(args) == 0 {
				return imports.ShowPlaces(a.Environment)
			}
			return imports.Import(ctx, a.Environment, a.servers, args[0], o)
		}),
	}
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only show what would be written")
	cmd.Flags().
		BoolVarP(&o.Yes, "yes", "y", false, "keep what reads files or runs programs, without being asked about it")
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "change the entries that have the names")
	return cmd
}
