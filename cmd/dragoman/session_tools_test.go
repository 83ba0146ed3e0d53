package main

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/toolserver"
	"dragoman/core"
)

// scriptedTurn is a turn whose one tool returns its arguments.
type scriptedTurn struct{}

var sessionTool = core.Spec{Server: "files", Name: "echo"}

func (scriptedTurn) Tools(context.Context) ([]core.Spec, error) {
	return []core.Spec{sessionTool}, nil
}
func (scriptedTurn) Starters() []core.Starter { return nil }
func (scriptedTurn) NewCall() core.CallID     { return "c" }
func (scriptedTurn) Invoke(_ context.Context, c core.Call) (core.Result, error) {
	return core.Result{Blocks: []core.Block{core.Text{Text: string(c.Args)}}}, nil
}

// The program is a session's MCP server for an agent that takes no address. It needs no
// configuration and no data folder, and takes the token from its environment alone.
func TestSessionTools(t *testing.T) {
	pool := toolserver.New(toolserver.Options{Version: "1", Program: []string{binary, "session-tools"}})
	defer pool.Close()
	s, err := pool.Open(toolserver.Client{})
	if err != nil {
		t.Fatal(err)
	}
	end, err := s.Begin(t.Context(), scriptedTurn{})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	p := newPlace(t)
	_, args, env := s.Stdio()
	for name, value := range env {
		p.env[name] = value
	}
	p.config(t, "agents: [\n") // a mistake
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: p.command(t.Context(), args...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "files__echo", Arguments: map[string]any{"x": 1}})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != `{"x":1}` {
		t.Errorf("%+v, %v", res, err)
	}
	if err := cs.Close(); err != nil {
		t.Errorf("the program ended with %v", err)
	}

	p.env[toolserver.TokenVar] = "wrong"
	if _, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: p.command(t.Context(), args...)}, nil); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("with a wrong token: %v", err)
	}
	delete(p.env, toolserver.TokenVar)
	if r := p.run(t, "", args...); r.code != 2 || !strings.Contains(r.errs, toolserver.TokenVar) {
		t.Errorf("without a token: %+v", r)
	}
	if r := p.run(t, "", "--help"); strings.Contains(r.out, "session-tools") {
		t.Error("it is shown")
	}
}
