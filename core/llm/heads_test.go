package llm

import (
	"encoding/json"
	"fmt"
	"testing"

	"dragoman/core/inference"
)

// A request's beginning is encoded once for equal tools and the same model, and few are kept.
func TestHeads(t *testing.T) {
	var h heads
	encoded := 0
	get := func(model, schema string) string {
		tools := []inference.ToolSpec{{Name: "look", Description: "Looks.", Schema: json.RawMessage(schema)}}
		text, err := h.of(model, tools, func() any {
			encoded++
			return sentHead{Model: model, Tools: remoteFor("http://svc.test/v1", KindOpenAIChat).tools(tools)}
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := get("m", `{"type":"object"}`)
	if first != `{"model":"m","tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{}}}}]}` {
		t.Error(first)
	}
	for _, c := range []struct {
		model, schema string
		times         int
	}{{"m", `{"type":"object"}`, 1}, {"n", `{"type":"object"}`, 2}, {"m", `{"type":"string"}`, 3}, {"m", `{"type":"object"}`, 3}} {
		if get(c.model, c.schema); encoded != c.times {
			t.Errorf("%s with %s: encoded %d times, not %d", c.model, c.schema, encoded, c.times)
		}
	}
	for i := range 3 * maxHeads {
		get(fmt.Sprint("model", i), `{}`)
	}
	if len(h.kept) != maxHeads {
		t.Errorf("it keeps %d", len(h.kept))
	}
}
