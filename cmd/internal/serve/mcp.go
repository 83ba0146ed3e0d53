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
	HTTP  string   // the address to serve at; empty: over standard input and output
	Only  string   // the one server that is handed on; empty: our agent, and all servers
	// NoAuth lets every program on this machine in, with HTTP.
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
		return stdio(ctx, o, "mcp", func(g *connection) server { return only{newRelays(g, cwd), m.Only} })
	}
	return stdio(
		ctx,
		o,
		"mcp",
		func(g *connection) server { return aggregated{g, adapter(g), cwd, o.Env.InCircle()} },
	)
}

// mcpServer is the adapter, as the flags and the configuration want it.
func mcpServer(g *connection, env *program.Environment, m MCPOptions, cwd string) *mcp.Server {
	s := mcp.New(mcp.Options{
		Gateway: g.Gateway, Board: g.profiles.Board(), Principal: g.principal, Profiles: g.profiles, Log: g.log, Version: env.Version, Roots: m.Roots, Cwd: cwd, Home: env.Home(),
		Expand: g.profiles.Expand,
		Look:   func() { _, _ = g.profiles.Load() }, // the tools say what is wrong
		Settings: func() mcp.Settings {
			made, err := g.profiles.Last()
			if err != nil {
				return mcp.Settings{} // the tools say what is wrong
			}
			c := made.Config.MCP
			s := mcp.Settings{
				AllowAuto: c.AllowAuto, ElicitationTimeout: c.ElicitationTimeout,
				ModelAnswers: modelAnswers(c.ModelAnswers, m.HTTP != ""),
			}
			for _, w := range c.Workspaces {
				path, err := w.ResolvePath(env.Lookup)
				if err != nil {
					path = w.String() // it is no folder, and that is said when somebody prompts
				}
				s.Workspaces = append(s.Workspaces, path)
			}
			return s
		},
	})
	g.profiles.Lend(s)
	return s
}

// modelAnswers reports whether mcp.model_answers is soft. Where it is left out it counts
// as soft, but not over HTTP, where the caller may be anybody with the token.
func modelAnswers(configured string, http bool) bool {
	return configured == "soft" || configured == "" && !http
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
		return "", fmt.Errorf("%s is not a folder", abs)
	}
	return abs, nil
}
