package llm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// listedServer is a line of testdata/servers.jsonl: the tools that a server from npm has listed, with shorter
// descriptions.
type listedServer struct {
	Server  string `json:"server"`
	Version string `json:"version"`
	Tools   []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"inputSchema"`
	} `json:"tools"`
}

// No tool of a real server is sent to a model with something that the rules of its family refuse.
func TestToolsOfRealServersBreakNoRule(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "servers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	servers, tools, mended := 0, 0, map[string]int{}
	for d := json.NewDecoder(f); d.More(); servers++ {
		var s listedServer
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		for _, one := range s.Tools {
			tools++
			spec := inference.ToolSpec{Name: inference.ToolName(s.Server, one.Name), Description: one.Description, Schema: one.Schema}
			for family, m := range families() {
				sent := m.p.forms.of(m.family, spec).sent
				for _, fault := range coretest.ToolFaults(family, sent.Name, sent.Description, sent.Parameters) {
					t.Errorf("%s %s: %s: %s: %s", s.Server, s.Version, family, one.Name, fault)
				}
				if coretest.ToolFaults(family, spec.Name, spec.Description, spec.Schema) != nil {
					mended[family]++
				}
			}
		}
	}
	t.Logf("%d tools of %d servers; mended: %v", tools, servers, mended)
	if servers < 18 || mended["gemini"] == 0 {
		t.Errorf("%d servers, mended %v: the check is empty", servers, mended)
	}
}
