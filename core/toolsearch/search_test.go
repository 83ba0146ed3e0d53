package toolsearch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/core/inference"
)

// Filler words find nothing, unless there are no others.
func TestSearchWithFillers(t *testing.T) {
	hidden := []inference.ToolSpec{{Name: "up__send", Description: "Sends a letter to the address"}, {Name: "up__all", Description: "Lists"}}
	for query, want := range map[string]string{"a tool to send the": "1 of 2 tools fit", "the": "1 of 2 tools fit", "all": "up__all\nLists", "for it": "None of the 2 tools"} {
		if got := Answer(hidden, json.RawMessage(`{"query":"`+query+`"}`)); !strings.Contains(got, want) {
			t.Errorf("%q: %s", query, got)
		}
	}
}

// The answer to a search is bounded, for any number of tools.
func TestSearchIsBounded(t *testing.T) {
	var hidden []inference.ToolSpec
	for i := range 5000 {
		hidden = append(hidden, inference.ToolSpec{Name: fmt.Sprintf("up__thing_%d", i)})
	}
	for i := range 20 {
		hidden[i].Description = strings.Repeat("ä", maxShown)
		hidden[i].Schema = json.RawMessage(`"` + strings.Repeat("x", 2*maxShown) + `"`)
	}
	for _, args := range []string{`{"query":"thing","limit":1000}`, `{"query":""}`, `{"query":"thing","limit":-3}`, `null`, `{"query":7}`} {
		if got := Answer(hidden, json.RawMessage(args)); len(got) > 2*maxAnswer || !strings.Contains(got, "up__thing_0") || !strings.Contains(got, "5000 tools") {
			t.Errorf("%s: %d bytes: %.200s", args, len(got), got)
		}
	}
}
