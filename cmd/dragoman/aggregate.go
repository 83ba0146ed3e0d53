package main

import (
	"context"
	"encoding/json"
	"io"

	"go.uber.org/zap"

	"dragoman/adapters/mcp"
	"dragoman/bridge"
	"dragoman/core"
)

// aggregated is our agent as an MCP server, and beside it the MCP servers of the
// configuration. Without any it is the agent alone.
type aggregated struct {
	house *house
	agent *mcp.Server
	cwd   string // where programs are started
}

// Serve implements server: one client over a pipe.
func (g aggregated) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	all, err := g.load()
	if err != nil { // which our agent's tools say too
		g.house.log.Warn("no MCP servers are handed on", zap.Error(err))
	}
	if err != nil || all.Empty() {
		return g.agent.Serve(ctx, in, out)
	}
	return all.Serve(ctx, g.cwd, core.Local, in, out)
}

// load is what the configuration says now.
func (g aggregated) load() (*bridge.Aggregate, error) {
	made, err := g.house.profiles.load()
	if err != nil {
		return nil, err
	}
	c := made.config.MCP
	names := c.Servers
	if names == nil {
		names = []string{"*"}
	}
	return g.house.profiles.servers.current().Aggregate(bridge.AggregateOptions{
		Agent: g.agent.ServeFor, Servers: names, Prefix: bridge.Prefix(c.Prefix), Check: g.denied,
	}), nil
}

// denied refuses what the rules deny, as they are now.
func (g aggregated) denied(server, tool string, args json.RawMessage) error {
	made, err := g.house.profiles.load()
	if err != nil {
		return err
	}
	return denied(made.rights.rules, server, g.cwd)(tool, args)
}
