package aggregate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// speaker is a client that writes messages by hand.
type speaker interface {
	Say(line string)
	Until(text string) []string
}

// posting is a speaker without a pipe, as over HTTP.
type posting struct {
	t    *testing.T
	c    *Client
	said chan string
}

func (p posting) Say(line string) {
	p.t.Helper()
	m, err := wire.Parse([]byte(line))
	if err != nil {
		p.t.Fatal(err)
	}
	p.c.Take(string(m.ID), m)
}

func (p posting) Until(text string) (lines []string) {
	p.t.Helper()
	for {
		select {
		case line := <-p.said:
			if lines = append(lines, line); strings.Contains(line, text) {
				return lines
			}
		case <-bridgetest.Patient(p.t).Done():
			p.t.Fatalf("%s did not come, only %.2000q", text, lines)
		}
	}
}

// speakers are clients of an aggregate of their own, over a pipe and without one; greeted as a
// client with the capabilities given, or "": not at all.
func speakers(t *testing.T, caps string, servers ...upstream.Server) map[string]speaker {
	t.Helper()
	said := make(chan string, 1000)
	c := aggregate(t, upstream.Options{Servers: servers}, Options{}).Connect(access.Owner(core.Local), t.TempDir(), false,
		func(m wire.Message, _ *wire.Call) { said <- string(wire.AppendMessage(nil, m)) })
	t.Cleanup(c.Close)
	all := map[string]speaker{
		"pipe": unspoken(t, aggregate(t, upstream.Options{Servers: servers}, Options{})),
		"http": posting{t, c, said},
	}
	for _, s := range all {
		if caps != "" {
			s.Say(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + caps + `,"clientInfo":{"name":"raw","version":"1"}}}`)
			s.Until(`"id":"hello"`)
			s.Say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			s.Say(`{"jsonrpc":"2.0","id":"tools","method":"tools/list"}`) // so that the server runs
			s.Until(`"id":"tools"`)
		}
	}
	return all
}

// The error with which a server answers a request of the client's reaches the client as it was
// written, with its data.
func TestErrorsOfServersKeepTheirData(t *testing.T) {
	t.Parallel()
	const fault = `{"code":-32042,"message":"not today","data":{"why":["it rains",1.50]}}`
	script := `initialize {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"script","version":"1"}}}
prompts/list {"jsonrpc":"2.0","id":$ID,"result":{"prompts":[{"name":"p"}]}}
resources/list {"jsonrpc":"2.0","id":$ID,"result":{"resources":[{"uri":"s://r","name":"r"}]}}
resources/templates/list {"jsonrpc":"2.0","id":$ID,"result":{"resourceTemplates":[]}}
tasks/get {"jsonrpc":"2.0","id":$ID,"result":{"taskId":"T1","status":"working"}}
` + bridgetest.OneTool("")
	requests := []struct{ method, params string }{
		{"tools/call", `"name":"t","arguments":{}`},
		{"prompts/get", `"name":"p"`},
		{"resources/read", `"uri":"s://r"`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}`},
	}
	legacy := append(requests, []struct{ method, params string }{ //nolint:gocritic // another list
		{"tasks/result", `"taskId":"T1"`},
		{"tasks/cancel", `"taskId":"T1"`},
	}...)
	for _, r := range legacy {
		script += r.method + ` {"jsonrpc":"2.0","id":$ID,"error":` + fault + "}\n"
	}
	server := upstream.Server{Name: "s", Endpoint: plays("script", "SCRIPT="+script)}
	for name, c := range speakers(t, "{}", server) {
		for _, r := range legacy {
			c.Say(`{"jsonrpc":"2.0","id":"` + r.method + `","method":"` + r.method + `","params":{` + r.params + `}}`)
			if line := bridgetest.Last(c.Until(`"id":"` + r.method)); !strings.Contains(line, fault) {
				t.Errorf("%s: %s: %s", name, r.method, line)
			}
		}
	}
	for name, c := range speakers(t, "", old(script)) {
		for _, r := range requests {
			c.Say(`{"jsonrpc":"2.0","id":"` + r.method + `","method":"` + r.method + `","params":{` + r.params + `,` + bridgetest.ModernMeta("{}", "") + `}}`)
			if line := bridgetest.Last(c.Until(`"id":"` + r.method)); !strings.Contains(line, fault) {
				t.Errorf("%s: %s of 2026-07-28: %s", name, r.method, line)
			}
		}
	}
}

// The error with which a client answers a request of a server's reaches the server as it was
// written, with its data; so does the refusal of a request that no version of the protocol has.
func TestErrorsOfClientsKeepTheirData(t *testing.T) {
	t.Parallel()
	for _, method := range []string{proto.MethodElicit, proto.MethodSample, proto.MethodRoots, "acme/look"} {
		t.Run(method, func(t *testing.T) {
			server := upstream.Server{Name: "s", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+
				`tools/call {"jsonrpc":"2.0","id":"q","method":"`+method+`","params":{"a":[1.50]}}`+"\n"+
				`answer {"jsonrpc":"2.0","id":$BEFORE,"result":{"content":[],"heard":$ERROR}}`+"\n")}
			for name, c := range speakers(t, `{"elicitation":{},"sampling":{},"roots":{}}`, server) {
				const fault = `{"code":-32601,"message":"not me","data":{"why":["it rains",1.50]}}`
				c.Say(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"t","arguments":{}}}`)
				line := bridgetest.Last(c.Until(`"id":`))
				var asked struct{ ID, Params json.RawMessage }
				if err := json.Unmarshal([]byte(line), &asked); err != nil || !strings.Contains(line, method) || string(asked.Params) != `{"a":[1.50]}` {
					t.Fatalf("%s: the client is asked %s (%v)", name, line, err)
				}
				c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, asked.ID, fault))
				if line := bridgetest.Last(c.Until(`"id":"call"`)); !strings.Contains(line, `"heard":`+fault) {
					t.Errorf("%s: %s", name, line)
				}
			}
		})
	}
}

// Over HTTP errors keep their data in both directions, too.
func TestErrorsKeepTheirDataOverHTTP(t *testing.T) {
	t.Parallel()
	const data = `{"why":["it rains",1.50]}`
	up := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	up.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		refused, ok := errors.AsType[*jsonrpc.Error](err)
		if !ok || refused.Code != -32077 || string(refused.Data) != data {
			return nil, fmt.Errorf("refused by %#v", err)
		}
		return nil, &jsonrpc.Error{Code: -32078, Message: "then not", Data: refused.Data}
	})
	for name, c := range speakers(t, `{"elicitation":{}}`, hosted(t, "up", up, nil)) {
		c.Say(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"ask","arguments":{}}}`)
		var asked struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(bridgetest.Last(c.Until(proto.MethodElicit))), &asked); err != nil {
			t.Fatal(err)
		}
		c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32077,"message":"no","data":%s}}`, asked.ID, data))
		if line := bridgetest.Last(c.Until(`"id":"call"`)); !strings.Contains(line, `"code":-32078`) || !strings.Contains(line, `"data":`+data) {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// A client of 2026-07-28 is asked nothing that is not a question of the protocol's: it could
// not answer.
func TestOtherRequestsOfServersAreRefusedForClientsOf2026(t *testing.T) {
	t.Parallel()
	for name, c := range speakers(t, "", old(bridgetest.Greeting+bridgetest.OneTool("")+
		`tools/call {"jsonrpc":"2.0","id":"q","method":"acme/look"}`+"\n"+
		`answer {"jsonrpc":"2.0","id":$BEFORE,"result":{"content":[],"heard":$ERROR}}`+"\n")) {
		c.Say(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"t","arguments":{},` + bridgetest.ModernMeta(`{"elicitation":{}}`, "") + `}}`)
		if line := bridgetest.Last(c.Until(`"id":`)); !strings.Contains(line, `"heard":{"code":-32601`) {
			t.Errorf("%s: %s", name, line)
		}
	}
}
