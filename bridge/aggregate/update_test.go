package aggregate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// A change of the configuration ends the connections to what it changes and no others: a call
// that is open at another server finishes, the client is told, and its session lives on.
func TestAggregateFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*testing.T, *Server) mcp.Transport{"pipe": piped, "http": overHTTP} {
		for _, version := range bridgetest.Eras {
			t.Run(name+"/"+version, func(t *testing.T) {
				entered, leave := make(chan struct{}), make(chan struct{})
				stays := bridgetest.SmallServer("stays")
				stays.AddTool(&mcp.Tool{Name: "hold", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					close(entered)
					<-leave
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "held"}}}, nil
				})
				one, two := hosted(t, "stays", stays, nil), hosted(t, "goes", bridgetest.SmallServer("goes", "old"), nil)
				three := hosted(t, "comes", bridgetest.SmallServer("comes", "new"), nil)
				a := aggregate(t, upstream.Options{Servers: []upstream.Server{one, two}}, Options{})
				told := make(chan struct{}, 100)
				cs := bridgetest.Connected(t, connect(t, a), version, &mcp.ClientOptions{
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
				})
				if got := bridgetest.ToolNames(t, cs); !slices.Contains(got, "old") {
					t.Fatalf("tools: %s", got)
				}
				held := make(chan string)
				go func() { held <- bridgetest.Said(t, cs, "hold", map[string]any{}) }()
				<-entered
				a.box.Set([]upstream.Server{one, three})
				a.Update(Options{Servers: []string{"*"}})
				if version == proto.Legacy {
					<-told
				}
				if got := strings.Join(bridgetest.ToolNames(t, cs), " "); got != "agent_prompt reserved new hold" {
					t.Errorf("tools: %s", got)
				}
				if got := bridgetest.Said(t, cs, "new", map[string]any{}); got != "comes's new" {
					t.Errorf("what came: %s", got)
				}
				if got := bridgetest.Said(t, cs, "old", map[string]any{}); !strings.Contains(got, "is not there any more") {
					t.Errorf("what went: %s", got)
				}
				close(leave)
				if got := <-held; got != "held" {
					t.Errorf("a call at a server that is as it was: %s", got)
				}
			})
		}
	}
}
