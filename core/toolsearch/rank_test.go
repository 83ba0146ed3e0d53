package toolsearch

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/core/inference"
)

func TestRankTools(t *testing.T) {
	list := []inference.ToolSpec{
		{Name: "jira__createIssue", Description: "Makes a ticket"},
		{Name: "jira__search", Description: "Looks for issues"},
		{Name: "files__read_file", Description: "Reads a file", Schema: json.RawMessage(`{"properties":{"path":{}}}`)},
		{Name: "files__write_file", Description: "Writes a file and creates folders", Schema: json.RawMessage(`{"properties":{"path":{},"text":{}}}`)},
	}
	for _, test := range []struct{ query, want string }{
		{"create issues", "jira__createIssue jira__search files__write_file"},
		{"ISSUE", "jira__createIssue jira__search"},
		{"files", "files__read_file files__write_file"},
		{"path text", "files__write_file files__read_file"},
		{"weather", ""},
		{"a", "jira__createIssue files__read_file files__write_file"},
	} {
		var got []string
		for _, s := range rank(list, test.query) {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q found %q, want %q", test.query, strings.Join(got, " "), test.want)
		}
	}
	if got := strings.Join(tokens("createIssue_by-ID: HTTPServer v2 Größe"), " "); got != "create issue by id httpserver v2 größe" {
		t.Errorf("words: %s", got)
	}
}
