package inference_test

import (
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/inference"
)

func TestToolNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	seen := map[string]string{}
	for _, test := range []struct{ server, tool, want string }{
		{core.Native, "read_file", "read_file"},
		{"files", "read_file", "files__read_file"},
		{"a", "b__c", "a__b__c"},
		{"a__b", "c", ""},
		{"a_", "b", ""},
		{"a", "_b", "a___b"},
		{core.Native, "a__b", ""},
		{core.Native, "é", ""},
		{core.Native, "è", ""},
		{core.Native, "", ""},
		{"", "x", ""},
		{"x.y", "do it", ""},
		{"x_y", "do_it", "x_y__do_it"},
		{long, "a", ""},
		{long, "b", ""},
		{core.Native, long, ""},
	} {
		got := inference.ToolName(test.server, test.tool)
		if test.want != "" && got != test.want {
			t.Errorf("%q, %q: %q, want %q", test.server, test.tool, got, test.want)
		}
		if !inference.LegalToolName(got) {
			t.Errorf("%q, %q: %q is not legal everywhere", test.server, test.tool, got)
		}
		key := test.server + "/" + test.tool
		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s are both %q", key, other, got)
		}
		seen[got] = key
	}
}

// A name within a shorter limit stays as it is if it fits, and otherwise keeps its checksum.
func TestToolNamesWithin(t *testing.T) {
	if got := inference.ToolNameWithin(49, "files", "read_file"); got != "files__read_file" {
		t.Errorf("it fits, and is %q", got)
	}
	tool := strings.Repeat("x", 43)
	short, long := inference.ToolNameWithin(49, "files", tool), inference.ToolName("files", tool)
	if len(short) != 49 || len(long) != 50 || short == inference.ToolNameWithin(49, "files", tool+"x") {
		t.Errorf("%q within 49 bytes, %q within 64", short, long)
	}
}
