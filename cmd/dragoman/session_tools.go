package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dragoman/adapters/wire"
	"dragoman/bridge/toolserver"
	"dragoman/cmd/internal/program"
)

// sessionTools runs in a process that an agent behind us starts as an MCP server.
func (a *app) sessionTools() *cobra.Command {
	return &cobra.Command{
		Use:   "session-tools",
		Short: "Serve a session's tools to the agent that runs it (for dragoman itself)",
		Long: `Speak MCP over standard input and output as the server of a session's tools, for an external
agent that takes no MCP servers over HTTP. The dragoman that started the agent sets
` + toolserver.URLVar + ` and ` + toolserver.TokenVar + ` in the environment of this command.`,
		Example: "  dragoman session-tools",
		Hidden:  true,
		Args:    none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			url, _ := a.Lookup(toolserver.URLVar)
			token, _ := a.Lookup(toolserver.TokenVar)
			if url == "" || token == "" {
				return program.UsageError{Err: fmt.Errorf("an agent that dragoman has started runs this, with %s and %s", toolserver.URLVar, toolserver.TokenVar)}
			}
			in, out, err := wire.Stdio()
			if err != nil {
				return err
			}
			return toolserver.Relay(ctx, url, token, in, out)
		}),
	}
}
