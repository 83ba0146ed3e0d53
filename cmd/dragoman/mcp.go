package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"dragoman/adapters/mcp"
)

func (a *app) mcp() *cobra.Command {
	var roots []string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve another agent that speaks MCP, the Model Context Protocol",
		Long: `Serve another agent, or any client that speaks MCP, the Model Context Protocol, over
standard input and output: it gets tools with which it prompts this agent, waits for it,
answers its approvals and reads its sessions. It ends when the client closes our standard
input.

--root names a folder in which sessions may work, and may be given several times. Without
one the folders are the client's, where it tells them, else the one that this command was
started in.`,
		Example: `  dragoman mcp
  dragoman mcp --root ~/src/app --root ~/src/lib`,
		Args: cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			for i, root := range roots {
				abs, err := folder(root)
				if err != nil {
					return err
				}
				roots[i] = abs
			}
			cwd, err := os.Getwd()
			if err != nil {
				return fmt.Errorf("find the working folder: %w", err)
			}
			return a.serveStdio(ctx, "mcp", func(h *house) server {
				return mcp.New(mcp.Options{
					Gateway: h.gateway, Log: h.log, Version: version, Roots: roots, Cwd: cwd, Home: homeOf(a.env),
					Settings: func() mcp.Settings {
						made, err := h.profiles.load()
						if err != nil {
							return mcp.Settings{} // the tools say what is wrong
						}
						return mcp.Settings{AllowAuto: made.config.MCP.AllowAuto, ElicitationTimeout: made.config.MCP.ElicitationTimeout}
					},
				})
			})
		}),
	}
	cmd.Flags().StringArrayVar(&roots, "root", nil, "a `FOLDER` in which sessions may work; may be repeated")
	return cmd
}

// folder is the absolute path of a folder that is there.
func folder(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is no folder", abs)
	}
	return abs, nil
}
