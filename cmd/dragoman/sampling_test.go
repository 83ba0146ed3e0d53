//nolint:staticcheck // sampling is deprecated from 2026-07-28 on, and clients have it
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reader is a client's model: it reads the notes with the first tool that reads files, then says what is there.
func reader(_ context.Context, req *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
	last := req.Params.Messages[len(req.Params.Messages)-1].Content[0]
	if r, ok := last.(*mcp.ToolResultContent); ok {
		text, err := json.Marshal(r.Content)
		if err != nil {
			return nil, err
		}
		return &mcp.CreateMessageWithToolsResult{Role: "assistant", Model: "m", StopReason: "endTurn", Content: []mcp.Content{&mcp.TextContent{Text: "I read: " + string(text)}}}, nil
	}
	for _, tool := range req.Params.Tools {
		if strings.Contains(tool.Name, "read") {
			use := &mcp.ToolUseContent{ID: "c1", Name: tool.Name, Input: map[string]any{"path": "notes.txt"}}
			return &mcp.CreateMessageWithToolsResult{Role: "assistant", Model: "m", StopReason: "toolUse", Content: []mcp.Content{use}}, nil
		}
	}
	return nil, fmt.Errorf("no tool reads, of %d", len(req.Params.Tools))
}

// The agent works with the model of the client that prompts, tools and all, over standard input and output and over HTTP,
// at the older life cycle and at 2026-07-28. No key is there.
func TestMCPSampling(t *testing.T) {
	for _, way := range []string{"stdio", "http"} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(way+" "+version, func(t *testing.T) {
				p := newPlace(t)
				p.config(t, "model: client/any\nproviders:\n  client:\n    kind: mcp-sampling\n")
				transport := p.mcpOver(t, way)
				client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{CreateMessageWithToolsHandler: reader})
				cs, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer cs.Close() //nolint:errcheck // what it was answered counts
				res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "agent_prompt", Arguments: map[string]any{"prompt": "what do the notes say?", "cwd": p.work}})
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(res.StructuredContent)
				if err != nil || res.IsError || !strings.Contains(string(text), "I read") || !strings.Contains(string(text), "second note") {
					t.Errorf("%s, %v", text, err)
				}
			})
		}
	}
}

// Who offers no model is told what to do.
func TestMCPSamplingNotOffered(t *testing.T) {
	p := newPlace(t)
	p.config(t, "model: client/any\nproviders:\n  client:\n    kind: mcp-sampling\n")
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), p.mcpOver(t, "stdio"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close() //nolint:errcheck // what it was answered counts
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "agent_prompt", Arguments: map[string]any{"prompt": "hello", "cwd": p.work}})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(res.StructuredContent); err != nil || !res.IsError || !strings.Contains(string(text), "an MCP client that offers sampling") {
		t.Errorf("%s, %v", text, err)
	}
	if o := p.run(t, "hello\n", "chat"); !strings.Contains(o.out+o.errs, "an MCP client that offers sampling") {
		t.Errorf("a terminal: %+v", o)
	}
}

var addressSaid = regexp.MustCompile(`http://[^ ]+/mcp`)

// mcpOver starts the program as an MCP server.
func (p *place) mcpOver(t *testing.T, way string) mcp.Transport {
	t.Helper()
	if way == "stdio" {
		return &mcp.CommandTransport{Command: p.command(t.Context(), "mcp")}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := p.command(ctx, "mcp", "--http", "127.0.0.1:0", "--no-auth", "--root", p.work)
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was ended
	})
	line, err := bufio.NewReader(errs).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &mcp.StreamableClientTransport{Endpoint: addressSaid.FindString(line), MaxRetries: -1, HTTPClient: new(http.Client)}
}
