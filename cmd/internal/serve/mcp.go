package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dragoman/adapters/mcp"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/setup"
)

// MCPOptions are the flags of dragoman mcp.
type MCPOptions struct {
	Roots []string // the folders in which sessions may work
	HTTP  string   // the address to listen on; empty: over standard input and output
	Only  string   // the only server to offer; empty: our agent, and all servers
	// NoAuth admits every program on this machine, with HTTP.
	NoAuth bool
}

// MCP serves other agents that speak the Model Context Protocol.
func MCP(ctx context.Context, o setup.Options, m MCPOptions) error {
	for i, root := range m.Roots {
		abs, err := folder(root)
		if err != nil {
			return err
		}
		m.Roots[i] = abs
	}
	if m.NoAuth && m.HTTP == "" {
		return errors.New("--no-auth has an effect only with --http")
	}
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	adapter := func(g *connection) *mcp.Server { return mcpServer(g, o.Env, m, cwd) }
	if m.HTTP != "" {
		return overHTTP(ctx, o, m, cwd, adapter)
	}
	if m.Only != "" {
		return stdio(ctx, o, "mcp", func(g *connection) server { return singleServer{newRelays(g, cwd), m.Only} })
	}
	return stdio(
		ctx,
		o,
		"mcp",
		func(g *connection) server { return aggregateServer{g, adapter(g), cwd, o.Env.InCircle()} },
	)
}

// mcpServer returns the adapter, according to the flags and the configuration.
func mcpServer(g *connection, env *program.Environment, m MCPOptions, cwd string) *mcp.Server {
	s := mcp.New(mcp.Options{
		Gateway:   g.Gateway,
		Board:     g.profiles.Board(),
		Principal: g.principal,
		Profiles:  g.profiles,
		Log:       g.log,
		Version:   env.Version,
		Roots:     m.Roots,
		Cwd:       cwd,
		Home:      env.Home(),
		Expand:    g.profiles.Expand,
		Look:      func() { _, _ = g.profiles.Load() }, // the tools report the error
		Settings: func() mcp.Settings {
			made, err := g.profiles.Last()
			if err != nil {
				return mcp.Settings{} // the tools report the error
			}
			c := made.Config.MCP
			s := mcp.Settings{
				AllowAuto: c.AllowAuto, ElicitationTimeout: c.ElicitationTimeout,
				ModelAnswers: modelAnswers(c.ModelAnswers, m.HTTP != ""),
			}
			for _, a := range made.Agents {
				s.Agents = append(s.Agents, a.Name)
			}
			for _, w := range c.Workspaces {
				path, err := w.ResolvePath(env.Lookup)
				if err != nil {
					path = w.String() // not a folder; a prompt reports that
				}
				s.Workspaces = append(s.Workspaces, path)
			}
			return s
		},
	})
	g.profiles.Lend(s)
	return s
}

// modelAnswers reports whether mcp.model_answers is soft. If it is missing it counts as soft, but
// not over HTTP, where the caller may be anybody with the token.
func modelAnswers(configured string, http bool) bool {
	return configured == "soft" || configured == "" && !http
}

// folder returns the absolute path of an existing folder.
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
		return "", fmt.Errorf("%s is not a folder", abs)
	}
	return abs, nil
}
