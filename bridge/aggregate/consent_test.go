package aggregate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

func askFirst(_, tool string, _ json.RawMessage) error {
	if tool == "echo" || tool == "ask" {
		return &upstream.AskFirst{Why: bridgetest.MustAsk}
	}
	return nil
}

// asking is a server of the older versions with a tool that asks the user.
func asking() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the user says " + res.Action}}}, nil, nil
	})
	return s
}

// A call that an ask rule matches is put to the client's user, who sees the server, the
// tool and the arguments. If nobody can be asked it is refused.
func TestAskRulesHoldForClients(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*testing.T, *Server) mcp.Transport{"pipe": piped, "http": overHTTP} {
		for _, version := range bridgetest.Eras {
			for answer, want := range map[string]string{"allow": "hi\u202e", "no": "did not allow the call", "decline": "did not allow the call", "cancel": "did not allow the call", "": "cannot ask its user"} {
				t.Run(name+"/"+version+"/"+answer, func(t *testing.T) {
					var mu sync.Mutex
					var asked []string
					o := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						mu.Lock()
						defer mu.Unlock()
						asked = append(asked, r.Params.Message)
						switch {
						case !strings.HasPrefix(r.Params.Message, "May the tool"): // the server's own question
							return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
						case answer == "allow" || answer == "no":
							return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": answer == "allow"}}, nil
						}
						return &mcp.ElicitResult{Action: answer}, nil
					}}
					if answer == "" {
						o = nil
					}
					a := aggregate(t, upstream.Options{Servers: []upstream.Server{hosted(t, "up", asking(), nil)}}, Options{Check: askFirst})
					cs := bridgetest.Connected(t, connect(t, a), version, o)
					if got := bridgetest.Said(t, cs, "echo", map[string]any{"text": "hi\u202e"}); !strings.Contains(got, want) || answer != "allow" && (!strings.Contains(got, "error: ") || strings.Contains(got, "hi\u202e")) {
						t.Errorf("%q, want %q", got, want)
					}
					const question = `May the tool echo of the MCP server up be called? Its arguments: {"text":"hi⟨U+202E⟩"} (` + bridgetest.MustAsk + `.)`
					mu.Lock()
					if answer != "" && (len(asked) != 1 || strings.ReplaceAll(asked[0], `: "`, `:"`) != question) || answer == "" && len(asked) > 0 {
						t.Errorf("asked %q", asked)
					}
					asked = nil
					mu.Unlock()
					if answer != "allow" {
						return
					}
					// A tool that asks in its turn is asked about once for a call.
					got := bridgetest.Said(t, cs, "ask", map[string]any{})
					mu.Lock()
					defer mu.Unlock()
					if got != "the user says accept" || len(asked) != 2 || !strings.HasPrefix(asked[0], "May the tool ask") || strings.HasPrefix(asked[1], "May the tool") {
						t.Errorf("a tool that asks: %q, asked %q", got, asked)
					}
				})
			}
		}
	}
}

// The state of a call that waits for an answer lets no other call pass unasked.
func TestStateOfAnotherCallIsNoConsent(t *testing.T) {
	modern := hosted(t, "new", bridgetest.SmallServer("new", "echo"), &mcp.StreamableHTTPOptions{Stateless: true})
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{hosted(t, "up", asking(), nil), modern}}, Options{Check: func(server, _ string, _ json.RawMessage) error {
		if server == "new" {
			return &upstream.AskFirst{Why: bridgetest.MustAsk}
		}
		return nil
	}})
	c := unspoken(t, a)
	call := func(id, tool, more string) string {
		c.Say(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},` + bridgetest.ModernMeta(`{"elicitation":{}}`, "") + more + `}}`)
		return bridgetest.Last(c.Until(`"id":` + id + `,`))
	}
	var parked struct{ Result struct{ RequestState string } }
	if line := call("1", "ask", ""); json.Unmarshal([]byte(line), &parked) != nil || parked.Result.RequestState == "" {
		t.Fatal(line)
	}
	if line := call("2", "new__echo", `,"requestState":"`+parked.Result.RequestState+`","inputResponses":{}`); !strings.Contains(line, "May the tool echo of the MCP server new be called?") {
		t.Errorf("the call was not asked about: %s", line)
	}
	if line := call("3", "ask", `,"requestState":"`+parked.Result.RequestState+`","inputResponses":{"1":{"action":"decline"}}`); !strings.Contains(line, "the user says decline") {
		t.Errorf("the state no longer goes on with its own call: %s", line)
	}
}

// A call that is made again with its user's answer is judged by what the user was shown,
// which is what the server gets, and not by what it says this time.
func TestConsentIsJudgedAsItWasShown(t *testing.T) {
	var denies atomic.Bool
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{hosted(t, "up", asking(), nil)}}, Options{Check: func(_, _ string, args json.RawMessage) error {
		if denies.Load() && strings.Contains(string(args), "secret") {
			return errors.New("denied by a rule that is new")
		}
		return &upstream.AskFirst{Why: bridgetest.MustAsk}
	}})
	c := unspoken(t, a)
	call := func(id, text, more string) string {
		c.Say(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"},` + bridgetest.ModernMeta(`{"elicitation":{}}`, "") + more + `}}`)
		return bridgetest.Last(c.Until(`"id":` + id + `,`))
	}
	state := func(line string) string {
		t.Helper()
		var parked struct{ Result struct{ RequestState string } }
		if json.Unmarshal([]byte(line), &parked) != nil || parked.Result.RequestState == "" {
			t.Fatal(line)
		}
		return `,"requestState":"` + parked.Result.RequestState + `","inputResponses":{"allow":{"action":"accept","content":{"allow":true}}}`
	}
	again := state(call("1", "secret", ""))
	if line := call("2", "other", again); !strings.Contains(line, `"secret"`) {
		t.Errorf("the server got another call than was shown: %s", line)
	}
	again = state(call("3", "secret", ""))
	denies.Store(true)
	if line := call("4", "other", again); !strings.Contains(line, "denied by a rule that is new") {
		t.Errorf("a call that is denied by now: %s", line)
	}
	denies.Store(false)
	if line := call("5", "other", again); !strings.Contains(line, "too old") {
		t.Errorf("a state that was used: %s", line)
	}
}
