package acp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"dragoman/adapters/acp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core/coretest"
	"dragoman/core/jsonscan"
)

// Whatever the params of a method, it is answered, nothing panics, and the next request is
// answered too.
func FuzzCalls(f *testing.F) {
	for _, seed := range []struct{ method, params string }{
		{"initialize", `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true},"_meta":{"terminal_output":1}},"clientInfo":{"name":"x"}}`},
		{"session/new", `{"cwd":"/w","mcpServers":[{"type":"http","name":"a","url":"b"}],"additionalDirectories":["/x"]}`},
		{"session/load", `{"cwd":"/w","sessionId":"s1"}`},
		{"session/resume", `{"cwd":"/w","sessionId":"s1"}`},
		{"session/fork", `{"cwd":"/w","sessionId":"s1"}`},
		{"session/list", `{"cursor":"MCBh","cwd":"/w"}`},
		{"session/prompt", `{"sessionId":"s1","prompt":[{"type":"resource","resource":{"uri":"a","blob":"AA=="}},{"type":"image","data":"AA=="}]}`},
		{"session/set_config_option", `{"sessionId":"s1","configId":"trust","value":{"a":1}}`},
		{"session/set_mode", `{"sessionId":"s1","modeId":"plan"}`},
	} {
		f.Add(seed.method, []byte(seed.params))
	}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		if !json.Valid(params) || strings.ContainsAny(string(params), "\n\r") || method == "session/cancel" {
			t.Skip()
		}
		core, logged := observer.New(zapcore.ErrorLevel)
		g := newGateway(coretest.NewMemory(), nil, true)
		in, out, peer := wiretest.New(wire.Newline)
		served := make(chan error, 1)
		go func() {
			served <- acp.New(acp.Options{Gateway: g, Principal: "local", Log: zap.New(core)}).Serve(t.Context(), in, out)
		}()
		newSession(t, peer)
		name := jsonscan.AppendString(nil, method)
		if err := peer.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"fuzz","method":%s,"params":%s}`, name, params), `{"jsonrpc":"2.0","id":"next","method":"session/list"}`); err != nil {
			t.Fatal(err)
		}
		for open := 2; open > 0; {
			msg, err := peer.Next()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(msg, `"id":"fuzz"`) || strings.Contains(msg, `"id":"next"`) || strings.Contains(msg, `"id":null`) {
				open--
			}
		}
		peer.Close()
		<-served
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, entry := range logged.All() {
			t.Errorf("logged: %s %v", entry.Message, entry.ContextMap())
		}
	})
}
