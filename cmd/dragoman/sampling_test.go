//nolint:staticcheck // sampling is deprecated from 2026-07-28 on, and clients have it
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/wire"
)

// reader is a client's model: it reads the notes with the first tool that reads files, then
// returns their content.
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

// The agent works with the model of the client that prompts, including tools, over standard input
// and output and over HTTP, in the older life cycle and at 2026-07-28. There is no key.
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
				defer cs.Close() //nolint:errcheck // only the answers count
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

// A client that offers no model gets advice.
func TestMCPSamplingNotOffered(t *testing.T) {
	p := newPlace(t)
	p.config(t, "model: client/any\nproviders:\n  client:\n    kind: mcp-sampling\n")
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), p.mcpOver(t, "stdio"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close() //nolint:errcheck // only the answers count
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

// samplingServers are MCP servers that ask their caller's model: the program itself, as a child,
// which uses the client's model as its own; and one of the SDK's, over HTTP.
func (p *place) samplingServers(t *testing.T) map[string]string {
	t.Helper()
	other := filepath.Join(p.home, "other")
	p.write(t, filepath.Join(other, "dragoman", "config.yaml"), "model: client/any\nproviders:\n  client:\n    kind: mcp-sampling\n")
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	type args struct {
		Prompt string `json:"prompt"`
		Cwd    string `json:"cwd"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "agent_prompt"}, func(ctx context.Context, r *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
		res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Prompt}}}})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{res.Content}}, nil, nil
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return map[string]string{
		"stdio": fmt.Sprintf("{command: %q, args: [mcp], env: {XDG_CONFIG_HOME: %q, DRAGOMAN_DATA: %q}}", binary, other, filepath.Join(p.home, "otherdata")),
		"http":  fmt.Sprintf("{url: %q}", srv.URL),
	}
}

// An MCP server asks the session's model: if the user agrees, in ECA and in ACP, it reads the
// answer, and otherwise it does not.
func TestServersAskTheSessionsModel(t *testing.T) {
	for _, way := range []string{"stdio", "http"} {
		for _, agrees := range []bool{true, false} {
			p := newPlace(t)
			turns := filepath.Join(p.home, "turns.json")
			p.write(t, turns, `{"fixtures":[
				{"match":{"userMessage":"use it","hasToolResult":false},"response":{"toolCalls":[{"id":"c1","name":"up__agent_prompt","arguments":{"prompt":"2+2?","cwd":`+strconv.Quote(p.work)+`}}]}},
				{"match":{"userMessage":"use it"},"response":{"content":"Done."}},
				{"match":{"userMessage":"2+2"},"response":{"content":"the sum is four"}}]}`)
			p.config(t, "model: played/x\nproviders:\n  played:\n    kind: replay\n    options: {file: "+strconv.Quote(turns)+"}\npolicy:\n  allow:\n    - {server: up}\nmcp_servers:\n  up: "+p.samplingServers(t)[way]+"\n")
			p.well(t, "", "mcp-servers", "approve", "up") // its tools are known before it runs, however long it takes to start
			says := func(t *testing.T, text string) {
				t.Helper()
				if strings.Contains(text, "the sum is four") != agrees || !agrees && !strings.Contains(text, "rejected") {
					t.Errorf("agrees: %v, but the tool returned %s", agrees, text)
				}
			}
			t.Run(fmt.Sprintf("acp %s %v", way, agrees), func(t *testing.T) {
				c := p.started(t, "acp")
				conn, s, id := acpSession(t, c, p)
				ended := make(chan error, 1)
				if _, err := conn.Start("session/prompt", obj{"sessionId": id, "prompt": []any{obj{"type": "text", "text": "use it"}}}, func(_ json.RawMessage, err error) { ended <- err }); err != nil {
					t.Fatal(err)
				}
				option := map[bool]string{true: "yes", false: "no"}[agrees]
				s.until(t, "session/request_permission", "2+2?").Reply(obj{"outcome": obj{"outcome": "selected", "optionId": option}}, nil)
				result := map[bool]string{true: "the sum is four", false: "rejected"}[agrees] // the tool may show progress before
				says(t, string(s.until(t, "session/update", result).Params))
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if err := c.end(); err != nil {
					t.Error(err)
				}
			})
			t.Run(fmt.Sprintf("eca %s %v", way, agrees), func(t *testing.T) {
				c := p.started(t, "eca")
				s := make(inbox, 1000)
				conn := c.connect(t.Context(), wire.ContentLength, s.handle)
				caps := obj{"codeAssistant": obj{"chat": true, "chatCapabilities": obj{"askQuestion": true}}}
				if err := conn.Ask(t.Context(), "initialize", obj{"capabilities": caps, "workspaceFolders": []any{obj{"uri": "file://" + filepath.ToSlash(p.work), "name": "w"}}}, nil); err != nil {
					t.Fatal(err)
				}
				if err := conn.Notify("initialized", obj{}); err != nil {
					t.Fatal(err)
				}
				if err := conn.Ask(t.Context(), "chat/prompt", obj{"chatId": "c", "message": "use it"}, nil); err != nil {
					t.Fatal(err)
				}
				label := map[bool]string{true: "Let it ask", false: "Do not"}[agrees]
				s.until(t, "chat/askQuestion", "2+2?").Reply(obj{"answer": label, "cancelled": false}, nil)
				says(t, string(s.until(t, "chat/contentReceived", `"type":"toolCalled"`).Params))
				s.until(t, "chat/contentReceived", `"finished"`)
				if err := conn.Ask(t.Context(), "shutdown", nil, nil); err != nil {
					t.Error(err)
				}
				if err := c.end(); err != nil {
					t.Error(err)
				}
			})
		}
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
