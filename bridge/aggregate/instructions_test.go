package aggregate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// What a client shows of the instructions names every server and has a part of each; the whole is a
// resource, and stands in the answer of a search.
func TestInstructionsAreShared(t *testing.T) {
	t.Parallel()
	var servers []upstream.Server
	long := strings.Repeat("Ask nicely. ", 130) // about 1.5 KB
	for i, name := range []string{"alpha", "beta", "gamma"} {
		up := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{Instructions: fmt.Sprintf("Number %d. %sEnd of %s.", i, long, name)})
		mcp.AddTool(up, &mcp.Tool{Name: "tool_of_" + name, Description: "does " + name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
		servers = append(servers, hosted(t, name, up, nil))
	}
	servers = append(servers, hosted(t, "quiet", bridgetest.SmallServer("quiet", "t"), nil))
	a := aggregate(t, upstream.Options{Servers: servers}, Options{Tools: 3})
	for _, version := range bridgetest.Eras {
		cs := bridgetest.Connected(t, piped(t, a), version, nil)
		got := cs.InitializeResult().Instructions
		if len(got) > maxInstructions || !strings.HasPrefix(got, "Ask the agent.") || !strings.Contains(got, "MCP servers: alpha, beta, gamma, quiet.") || !strings.Contains(got, instructionsURI) {
			t.Errorf("%s: %d bytes: %s", version, len(got), got)
		}
		for i, name := range []string{"alpha", "beta", "gamma"} {
			if !strings.Contains(got, fmt.Sprintf("%s: Number %d. Ask", name, i)) {
				t.Errorf("%s: nothing of %s: %s", version, name, got)
			}
		}
		if uris := listedURIs(t, cs); uris[len(uris)-1] != instructionsURI {
			t.Errorf("%s: resources: %q", version, uris)
		}
		whole, err := cs.ReadResource(bridgetest.Patient(t), &mcp.ReadResourceParams{URI: instructionsURI})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"alpha", "beta", "gamma"} {
			if !strings.Contains(whole.Contents[0].Text, "End of "+name+".") {
				t.Errorf("%s: the resource has nothing of %s", version, name)
			}
		}
		bridgetest.ToolNames(t, cs)
		found, err := cs.CallTool(bridgetest.Patient(t), &mcp.CallToolParams{Name: "tool_search", Arguments: map[string]any{"query": "beta"}})
		if err != nil {
			t.Fatal(err)
		}
		if said := text(found); !strings.Contains(said, "End of beta.") || strings.Contains(said, "End of gamma.") {
			t.Errorf("%s: the search says %s", version, said)
		}
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	paragraphs := shares([]said{{"a", strings.Repeat("a", 1000)}, {"b", "short"}, {"c", strings.Repeat("é", 1000)}}, 1000)
	total := 0
	for _, p := range paragraphs {
		total += len(p)
	}
	if total > 1000 || total < 990 || paragraphs[1] != "\n\nb: short" || len(paragraphs[0]) < 480 || len(paragraphs[2]) < 480 {
		t.Errorf("%d bytes: %q", total, paragraphs)
	}
	if got := strings.Join(shares([]said{{"a", strings.Repeat("a", 1000)}}, 20), ""); got != "" {
		t.Errorf("no room: %q", got)
	}
}

// A server that has never answered keeps no later client waiting, also one of another process. Its
// tools join when it answers, and are waited for again from then on.
func TestOnlyTheFirstClientWaitsForASilentServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "late.json")
	answers := make(chan struct{})
	good := hosted(t, "good", bridgetest.SmallServer("good", "only_good"), nil)
	slow := hosted(t, "slow", bridgetest.SmallServer("slow", "only_slow"), nil)
	at := slow.Endpoint
	slow.Endpoint = func(ctx context.Context) (upstream.Endpoint, error) {
		select {
		case <-answers:
			return at(ctx)
		case <-ctx.Done():
			return upstream.Endpoint{}, errors.New("it is silent")
		}
	}
	with := func(grace time.Duration) *Server {
		return aggregate(t, upstream.Options{Servers: []upstream.Server{good, slow}, Grace: grace, LateFile: file}, Options{})
	}
	bridgetest.ToolNames(t, bridgetest.Connected(t, piped(t, with(50*time.Millisecond)), proto.Legacy, nil))
	began := time.Now()
	lists := make(chan struct{}, 10)
	cs := bridgetest.Connected(t, piped(t, with(bridgetest.Patience)), proto.Legacy, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { lists <- struct{}{} },
	})
	if got := strings.Join(bridgetest.ToolNames(t, cs), " "); got != "agent_prompt reserved only_good" || time.Since(began) > bridgetest.Patience/2 {
		t.Errorf("tools after %v: %s", time.Since(began), got)
	}
	close(answers)
	<-lists
	if got := strings.Join(bridgetest.ToolNames(t, cs), " "); got != "agent_prompt reserved only_good only_slow" {
		t.Errorf("tools later: %s", got)
	}
	if i := with(bridgetest.Patience).exports[1].Introduction(); i.Late {
		t.Error("it is late for ever")
	}
}
