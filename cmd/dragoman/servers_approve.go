package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"dragoman/bridge"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core"
)

func (a *app) mcpServersApprove() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "approve SERVER [TOOL…]",
		Short: "See what has changed of a server's tools, and agree to it",
		Long: `Start a server, show what its tools say of themselves now and what they said when you first
used them, and ask whether that is all right. A tool that has changed, or that is new, is used
only after you have agreed to it, here or when a session asks.

Without TOOL all of them are meant. With --yes nothing is asked, for scripts: read what is
printed all the same. The exit code is 1 if something stays as it is.`,
		Example: `  dragoman mcp-servers approve files
  dragoman mcp-servers approve files read_file --yes`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeOneServer,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.approve(ctx, args[0], args[1:], yes)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree without being asked")
	return cmd
}

// approve shows what has changed of a server's tools, and keeps what is agreed to.
func (a *app) approve(ctx context.Context, server string, tools []string, yes bool) error {
	c, s, err := a.knownServer(server)
	switch {
	case err != nil:
		return err
	case s.Disabled:
		return fmt.Errorf("the MCP server %s is disabled; \"dragoman mcp-servers enable %s\" has it used", server, server)
	case a.pinFile() == "":
		_, err := a.DataDir()
		return err
	}
	only := *c
	only.MCPServers = map[string]configs.MCPServer{server: s}
	box, tried, err := a.tryServers(ctx, &only)
	if err != nil {
		return err
	}
	defer box.Close()
	if tried[0].Status != "running" {
		return fmt.Errorf("the MCP server %s does not run: %s", server, tried[0].Why)
	}
	changes, err := chosen(tried[0], tools)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		fmt.Fprintf(a.Out, "Nothing has changed: %s\n", counted(len(tried[0].Tools), "tool"))
		return nil
	}
	col := terminal.Colours(a.Out, a.Lookup)
	for _, ch := range changes {
		fmt.Fprintf(a.Out, "%s\n%s\n", col.Strong(server+": "+oneLine(ch.Tool, 100)), indented(printable(ch.Text), "  "))
	}
	if !yes {
		agreed, err := terminal.Confirm(a.Environment, fmt.Sprintf("Use %s of %s as shown?", counted(len(changes), "tool"), server))
		if err != nil {
			return err
		}
		if !agreed {
			fmt.Fprintln(a.Out, "Nothing was changed.")
			return program.ErrReported
		}
	}
	if err := box.Agree(server, changes); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "agreed to %s of %s\n", counted(len(changes), "tool"), server)
	return nil
}

// chosen is those of a server's changes that are meant.
func chosen(t bridge.Tried, tools []string) ([]bridge.Change, error) {
	if len(tools) == 0 {
		return t.Changes, nil
	}
	for _, name := range tools {
		if slices.ContainsFunc(t.Tools, func(s core.Spec) bool { return s.Name == name }) {
			continue
		}
		var names []string
		for _, s := range t.Tools {
			names = append(names, s.Name)
		}
		msg := fmt.Sprintf("the MCP server %s has no tool %q", t.Name, name)
		if near := configs.Suggest(name, names); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, errors.New(msg)
	}
	return slices.DeleteFunc(slices.Clone(t.Changes), func(c bridge.Change) bool { return !slices.Contains(tools, c.Tool) }), nil
}

// tryServers starts the servers of a configuration once. The box must be closed.
func (a *app) tryServers(ctx context.Context, c *configs.Config) (*bridge.Box, []bridge.Tried, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("find the working folder: %w", err)
	}
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, tryFor, fmt.Errorf("the servers were not all up within %v", tryFor))
	defer cancel()
	box := bridge.New(bridge.Options{Servers: serversOf(c, nil, a.Lookup, secrets.NewPrograms().Run), Environ: a.Environ(), Version: a.Version, PinFile: a.pinFile(), Tokens: a.tokens()})
	tried, err := box.Try(ctx, core.Meta{Cwd: cwd, Roots: []string{cwd}})
	return box, tried, err
}

// completeOneServer offers the servers for the first argument.
func (a *app) completeOneServer(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeServers(nil)(cmd, args, begun)
}
