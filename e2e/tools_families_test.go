package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// sentTools returns the tools of a request, whatever its format: their names and schemas.
func sentTools(request object) (tools [][2]string) {
	for _, d := range objectsAt(request, "tools") {
		if f, ok := d["function"].(object); ok {
			d = f
		}
		schema := d["parameters"]
		if schema == nil {
			schema = d["input_schema"]
		}
		tools = append(tools, [2]string{fmt.Sprint(d["name"]), asJSON(schema)})
	}
	return tools
}

// refusedIn returns what a family refuses at the top of a schema, and the keywords that Gemini does not know.
func refusedIn(family string, schema []byte) (faults []string) {
	var root object
	if err := json.Unmarshal(schema, &root); err != nil || root["type"] != "object" || root["properties"] == nil {
		return []string{"not an object with properties: " + string(schema)}
	}
	for _, union := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if root[union] != nil {
			faults = append(faults, union+" at the top")
		}
	}
	for _, unknown := range []string{`"$schema":`, `"additionalProperties":`, `"const":`, `"oneOf":`, `"$ref":`, `"exclusiveMinimum":`, `"default":`} {
		if family == "gemini" && bytes.Contains(schema, []byte(unknown)) {
			faults = append(faults, "unknown name "+unknown)
		}
	}
	return faults
}

// The tools of real servers are sent to each family of models without anything that it refuses, and each value of a
// structured result is in the model's text once.
func TestToolsAndResultsForEachFamily(t *testing.T) {
	for _, family := range []struct{ name, kind, model string }{
		{"openai", "openai-chat", "gpt-mock"},
		{"openai", "openai-responses", "gpt-mock"},
		{"anthropic", "anthropic", "claude-mock"},
		{"gemini", "openai-chat", "gemini-mock"},
	} {
		t.Run(family.name+" "+family.kind, func(t *testing.T) {
			p := newPlace(t)
			steps := []step{
				{tool: "get-structured-content", args: object{"location": "Chicago"}},
				{tool: "list_directory", args: object{"path": p.work}},
			}
			m := &hostModel{marks: "get-structured-content", play: func(results []string) step {
				if n := len(results); n < len(steps) {
					return steps[n]
				}
				return step{text: "all was read"}
			}}
			var mu sync.Mutex
			seen := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				var request object
				if err == nil && json.Unmarshal(body, &request) == nil {
					for _, tool := range sentTools(request) {
						mu.Lock()
						seen++
						mu.Unlock()
						for _, fault := range refusedIn(family.name, []byte(tool[1])) {
							t.Errorf("%s: %s", tool[0], fault)
						}
					}
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				m.ServeHTTP(w, r)
			}))
			defer srv.Close()
			cfg, _ := p.servers(t, fmt.Sprintf("model: mock/%s\nproviders:\n  mock: {kind: %s, base_url: \"%s/v1\", api_key: x}\n", family.model, family.kind, srv.URL))
			for _, server := range []string{"everything", "files"} {
				if out, errs, code := p.run(t, "--config", cfg, "mcp-servers", "approve", server); code != 0 {
					t.Fatalf("approve %s: exit code %d\n%s\n%s", server, code, out, errs)
				}
			}
			out, errs, code := p.run(t, "--config", cfg, "run", "--allow", "everything__*", "--allow", "files__*", "read all")
			results, _ := m.seen()
			if code != 0 || len(results) != len(steps) || seen == 0 {
				t.Fatalf("exit code %d, %d results, %d tools\n%s\n%s", code, len(results), seen, out, errs)
			}
			for _, leaf := range []string{"36", "Light rain / drizzle", "82"} { // what the server has about Chicago
				if strings.Count(results[0], leaf) != 1 {
					t.Errorf("%q is not once in %s", leaf, results[0])
				}
			}
		})
	}
}
