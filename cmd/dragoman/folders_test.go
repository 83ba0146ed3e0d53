package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/wire"
	"dragoman/core/fileuri"
)

// A folder that an editor adds while an MCP server runs for a chat becomes known to that server at
// once, and one that it removes is forgotten.
func TestServersLearnOfTheEditorsFolders(t *testing.T) {
	p := newPlace(t)
	heard := make(chan []string, 10)
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, &mcp.ServerOptions{
		RootsListChangedHandler: func(ctx context.Context, r *mcp.RootsListChangedRequest) { //nolint:staticcheck // as below
			res, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // servers that ask for them still exist
			if err != nil {
				t.Error(err)
				return
			}
			var list []string
			for _, root := range res.Roots {
				list = append(list, root.URI)
			}
			heard <- list
		},
	})
	mcp.AddTool(s, &mcp.Tool{Name: "look"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "nothing"}}}, nil, nil
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	turns := filepath.Join(p.home, "turns.json")
	p.write(t, turns, `{"fixtures":[
		{"match":{"userMessage":"look","hasToolResult":false},"response":{"toolCalls":[{"id":"c1","name":"up__look","arguments":{}}]}},
		{"match":{"userMessage":"look"},"response":{"content":"Done."}}]}`)
	p.config(t, "model: played/x\nproviders:\n  played:\n    kind: replay\n    options: {file: "+strconv.Quote(turns)+"}\npolicy:\n  allow:\n    - {server: up}\nmcp_servers:\n  up: "+fmt.Sprintf("{url: %q}", srv.URL)+"\n")
	p.well(t, "", "mcp-servers", "approve", "up") // its tools are known before it runs, however long it takes to start
	c := p.started(t, "eca")
	in := make(inbox, 1000)
	conn := c.connect(t.Context(), wire.ContentLength, in.handle)
	work := obj{"uri": fileuri.Of(p.work), "name": "w"}
	other := obj{"uri": fileuri.Of(t.TempDir()), "name": "o"}
	if err := conn.Ask(t.Context(), "initialize", obj{"capabilities": obj{"codeAssistant": obj{"chat": true}}, "workspaceFolders": []any{work}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Notify("initialized", obj{}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Ask(t.Context(), "chat/prompt", obj{"chatId": "c", "message": "look"}, nil); err != nil {
		t.Fatal(err)
	}
	in.until(t, "chat/contentReceived", `"type":"toolCalled"`)
	in.until(t, "chat/contentReceived", `"finished"`)
	change := func(added, removed []any, want ...obj) {
		t.Helper()
		if err := conn.Notify("workspace/didChangeWorkspaceFolders", obj{"event": obj{"added": added, "removed": removed}}); err != nil {
			t.Fatal(err)
		}
		var uris []string
		for _, w := range want {
			uris = append(uris, w["uri"].(string))
		}
		select {
		case got := <-heard:
			if !slices.Equal(got, uris) {
				t.Errorf("the server has heard of %q, want %q", got, uris)
			}
		case <-time.After(time.Minute):
			t.Fatalf("the server has not heard of %q", uris)
		}
	}
	change([]any{other}, []any{}, work, other)
	change([]any{}, []any{other}, work)
	if err := conn.Ask(t.Context(), "shutdown", nil, nil); err != nil {
		t.Error(err)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}
