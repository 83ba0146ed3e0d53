package streamable

import (
	"encoding/json"
	"testing"

	proto "dragoman/adapters/proto/mcp"
)

// The parts of parameters are found by their exact names; the last of several counts.
func TestReadParams(t *testing.T) {
	p := ReadParams(json.RawMessage(`{"name":"a","name":"t","NAME":"b","uri":7,"arguments":{"name":"c"},
		"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/clientCapabilities":{}}}`))
	for got, want := range map[string]string{
		string(p.Name): `"t"`, string(p.URI): `7`, string(p.Args): `{"name":"c"}`, string(p.Token): `"p"`,
		string(p.Client): `{"name":"c"}`, string(p.Caps): `{}`, p.Says(): proto.Modern,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if !p.Modern() || p.Task != nil {
		t.Errorf("modern %t, task %s", p.Modern(), p.Task)
	}
	for _, params := range []string{``, `[]`, `{}`, `{"_meta":[]}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":20260728}}`} {
		if p := ReadParams(json.RawMessage(params)); p.Says() != "" || VersionOf(json.RawMessage(params)) != "" {
			t.Errorf("%s says %q", params, p.Says())
		}
	}
}
