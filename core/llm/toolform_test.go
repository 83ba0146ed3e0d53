package llm

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// awkwardTools are tools as servers list them, each with something that a family of models refuses.
var awkwardTools = []inference.ToolSpec{
	{Name: "pics__plain", Description: "Stays as it is.", Schema: json.RawMessage(`{"properties":{"b":{"type":"string"},"a":{"type":"integer","minimum":1}},"required":["b"],"type":"object"}`)},
	{Name: "update__issue", Description: "Updates an issue.", Schema: json.RawMessage(`{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"title":{"type":"string"},"state":{"type":"string"}},"anyOf":[{"required":["title"]},{"required":["state"]}]}`)},
	{Name: "zod__union", Description: "Draws.", Schema: json.RawMessage(`{"type":"object","oneOf":[` +
		`{"type":"object","properties":{"kind":{"type":"string","const":"circle"},"radius":{"type":"number"},"at":{"type":"string"}},"required":["kind","radius"],"additionalProperties":false},` +
		`{"type":"object","properties":{"kind":{"type":"string","const":"box"},"width":{"type":"number"},"at":{"$ref":"#/oneOf/0/properties/at"}},"required":["kind","width"],"additionalProperties":false}]}`)},
	{Name: "all__of", Schema: json.RawMessage(`{"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"n":{"type":"array"}}}]}}}`)},
	{Name: "early__draft", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"int","minimum":0,"exclusiveMinimum":true,"required":true},"pair":{"type":"array","items":[{"type":"string"},{"type":"number"}]},"any":true,"x":{"type":["string","any"]},"r":{"$ref":"#/nowhere"}}}`)},
	{Name: "odd__names", Schema: json.RawMessage(`{"type":"object","properties":{"filter[id]":{"type":"string"},"$top":{"type":"integer"},"max-results":{"type":"integer"}},"required":["filter[id]"]}`)},
	{Name: "21st__button", Schema: json.RawMessage(`{"type":"object"}`)},
	{Name: "rich__one", Description: "Has much.", Schema: json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"properties":{` +
		`"url":{"type":"string","format":"uri"},"level":{"type":"integer","enum":[1,2]},"mode":{"type":"string","enum":["a","","b"],"default":"a"},"maybe":{"type":["string","null"]},` +
		`"either":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},"tree":{"$ref":"#/$defs/node"},"list":{"type":"array"},"free":{}},"required":["url","gone"],` +
		`"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`)},
	{Name: "long__text", Description: strings.Repeat("Many words. ", 100), Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
	{Name: "no__schema"},
	{Name: "not__object", Schema: json.RawMessage(`"a text"`)},
}

// families are models of each family.
func families() map[string]*remote {
	named := func(base, kind, model string) *remote {
		m := remoteFor(base, kind)
		return newRemote(m.p, m.base, model, m.wire)
	}
	return map[string]*remote{
		"anthropic": named("https://api.anthropic.com/v1", KindAnthropic, "claude-x"),
		"azure":     named("https://x.openai.azure.com/openai", KindAzure, "gpt-x"),
		"gemini":    named("https://generativelanguage.googleapis.com/v1beta/openai", KindOpenAIChat, "gemini-x"),
		"kimi":      named("https://api.moonshot.ai/v1", KindOpenAIChat, "kimi-x"),
		"ollama":    named("http://localhost:11434", KindOllama, "gemma"),
		"openai":    named("https://api.openai.com/v1", KindOpenAIResponses, "gpt-x"),
	}
}

// TestToolForms shows each awkward tool in the form for each family.
func TestToolForms(t *testing.T) {
	for name, m := range families() {
		got := ""
		for _, tool := range awkwardTools {
			f := m.p.forms.of(m.family, tool)
			got += f.sent.Name + ": " + f.sent.Description + "\n" + string(f.sent.Parameters) + "\n\n"
		}
		coretest.GoldenFile(t, filepath.Join("testdata", "tools", name+".txt"), got, *update)
		if p := string(m.p.forms.of(m.family, awkwardTools[0]).sent.Parameters); m.family.name != "gemini" && p != string(awkwardTools[0].Schema) {
			t.Errorf("%s: a plain tool became %s", name, p)
		}
	}
}

// The forms of all tools break no rule of their family, and the form of a form is the same.
func TestToolFormsBreakNoRule(t *testing.T) {
	for name, m := range families() {
		for _, tool := range awkwardTools {
			sent := m.p.forms.of(m.family, tool).sent
			for _, fault := range coretest.ToolFaults(m.family.name, sent.Name, sent.Description, sent.Parameters) {
				t.Errorf("%s: %s: %s", name, tool.Name, fault)
			}
			again := m.family.form(inference.ToolSpec{Name: sent.Name, Description: sent.Description, Schema: sent.Parameters}).sent
			if again.Name != sent.Name || string(again.Parameters) != string(sent.Parameters) {
				t.Errorf("%s: %s: the form of its form is %s %s", name, tool.Name, again.Name, again.Parameters)
			}
		}
	}
}

// The arguments for a folded schema are checked against the tool's own one, and an argument or a tool that was sent
// with another name gets its own again.
func TestCallsOfFoldedTools(t *testing.T) {
	for _, c := range []struct {
		kind, tool, args string
		want, bad        string
	}{
		{KindOpenAIChat, "zod__union", `{"kind":"circle","radius":2}`, `{"kind":"circle","radius":2}`, ""},
		{KindOpenAIChat, "zod__union", `{"kind":"circle","width":2}`, `{"kind":"circle","width":2}`, "kind = \"circle\", with radius"},
		{KindAnthropic, "update__issue", `{"id":"1"}`, `{"id":"1"}`, "at least one of these alternatives: (1) with title; (2) with state"},
		{KindAnthropic, "update__issue", ``, `{}`, "do not fit the tool's schema"},
		{KindAnthropic, "odd__names", `{"filter_id_":"1","_top":2}`, `{"filter[id]":"1","$top":2}`, ""},
		{KindOpenAIChat, "pics__plain", `{"a":0}`, `{"a":0}`, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := model(t, serve(t, Provider{Kind: c.kind}, func(w http.ResponseWriter, r *http.Request) {
				if c.kind == KindAnthropic {
					s := newStream(w)
					s.data(
						`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`,
						`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":`+quote(c.tool)+`,"input":{}}}`,
						`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+quote(c.args)+`}}`,
						`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`,
					)
					return
				}
				s := newStream(w)
				s.data(toolPiece(0, "x", c.tool, c.args))
				s.end("tool_calls", "")
			}))
			r := coretest.ModelRequest()
			r.Tools = awkwardTools
			h := coretest.Hear(t.Context(), t, m, r, nil)
			if h.Err != nil || len(h.Calls) != 1 {
				t.Fatalf("%s: %d calls, error %v", c.args, len(h.Calls), h.Err)
			}
			got := h.Calls[0]
			if c.bad == "" && got.Args != c.want || (got.Bad == nil) != (c.bad == "") || got.Bad != nil && !strings.Contains(got.Bad.Error(), c.bad) {
				t.Errorf("%s became %s, error %v", c.args, got.Args, got.Bad)
			}
		})
	}
}
