package relay

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

// Servers of the early dialect: strict refuses a version that is a date, and the list of tools; lenient
// answers any version with its own.
const (
	earlyAnswers = `server/discover {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"unknown method"}}
initialize1 {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":1,"capabilities":{"tools":{},"prompts":{},"resources":{},"logging":{}},"serverInfo":{"name":"old","version":"1"}}}
tools/call {"jsonrpc":"2.0","id":$ID,"result":{"output":"called"}}
prompts/get {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such prompt"}}
logging/setLevel {"jsonrpc":"2.0","id":$ID,"result":null}
`
	strict = earlyAnswers + `initialize {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"protocolVersion must be a number"}}
tools/list {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"unknown method"}}
resources/templates/list {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"unknown method"}}
`
	lenient = earlyAnswers + `initialize {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":1,"capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}
tools/list {"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}
`
)

// A client of a version with a date uses a server of the early dialect as one of its own version: an
// error without an id ends the oldest open request, and a list that the dialect lacks is empty.
func TestServersOfTheEarlyDialect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, tools string }{"strict": {strict, ""}, "lenient": {lenient, "t"}} {
		for face, connect := range faces {
			for _, version := range append(bridgetest.Eras, proto.Oldest) {
				t.Run(name+"/"+face+"/"+version, func(t *testing.T) {
					t.Parallel()
					r := relayTo(t, upstream.Server{Name: "up", Endpoint: plays("script", "SCRIPT="+c.script)}, nil)
					cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).
						Connect(bridgetest.Patient(t), connect(t, r), &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					defer cs.Close()
					want := version
					if version == proto.Modern { // the server refuses it
						want = proto.Legacy
					}
					if got := cs.InitializeResult().ProtocolVersion; got != want {
						t.Errorf("they speak %s", got)
					}
					if got := strings.Join(bridgetest.ToolNames(t, cs), " "); got != c.tools {
						t.Errorf("tools: %s", got)
					}
					if got := bridgetest.Said(t, cs, "t", map[string]any{}); got != "called" {
						t.Errorf("t: %s", got)
					}
					if _, err := cs.GetPrompt(bridgetest.Patient(t), &mcp.GetPromptParams{Name: "p"}); err == nil || !strings.Contains(err.Error(), "no such prompt") {
						t.Errorf("p: %v", err)
					}
					if err := cs.SetLoggingLevel(bridgetest.Patient(t), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil { //nolint:staticcheck // clients that set it live on
						t.Errorf("level: %v", err)
					}
					if name == "strict" {
						if list, err := cs.ListResourceTemplates(bridgetest.Patient(t), nil); err != nil || len(list.ResourceTemplates) > 0 {
							t.Errorf("templates: %v, %v", list, err)
						}
					}
				})
			}
		}
	}
}

// A client of the early dialect gets the messages of such a server as they were written.
func TestClientsOfTheEarlyDialectGetItsMessagesUnchanged(t *testing.T) {
	t.Parallel()
	r := relayTo(t, upstream.Server{Name: "up", Endpoint: plays("script", "SCRIPT="+strict)}, nil)
	got := talk(t, r,
		strings.Replace(hello1, `"2025-11-25"`, "1", 1),
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"info"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"p"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`,
	)
	want := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"capabilities":{"tools":{},"prompts":{},"resources":{},"logging":{}},"serverInfo":{"name":"old","version":"1"}}}
{"jsonrpc":"2.0","id":2,"result":{"output":"called"}}
{"jsonrpc":"2.0","id":3,"result":null}
{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such prompt"}}
{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"unknown method"}}
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// A server that refuses a client's version, and its number, or ends when it is offered the number, has
// refused in its own words.
func TestRefusalsOfAVersionPassUnchanged(t *testing.T) {
	t.Parallel()
	refusal := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32602,"message":"not that version","data":{"why":1.0}}}`
	}
	for name, second := range map[string]string{
		"refuses": `initialize1 {"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"broken"}}`,
		"ends":    `initialize1 exit`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := relayTo(t, upstream.Server{Name: "up", Endpoint: plays("script", "SCRIPT=initialize "+refusal("$ID")+"\n"+second)}, nil)
			if got, want := talk(t, r, hello1), refusal("1")+"\n"; got != want {
				t.Errorf("got %swant %s", got, want)
			}
		})
	}
}
