package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every row says why it is there, and names a test that is there.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range table {
		if key := strings.ToLower(r.Name); r.Why == "" || key == "" || seen[key] {
			t.Errorf("the row %q has no name, no reason, or is there twice", r.Name)
		} else {
			seen[key] = true
		}
		if r.Test == "" {
			t.Errorf("%s: no test shows it", r.Name)
		}
		for test := range strings.FieldsSeq(r.Test) {
			if !there(t, test) {
				t.Errorf("%s: there is no test %s", r.Name, test)
			}
		}
	}
}

// there reports whether there is a test FOLDER.TestName.
func there(t *testing.T, test string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(test, ".")
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(code), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

// A name is known whatever its case and whatever follows its last word.
func TestOf(t *testing.T) {
	for name, want := range map[string]string{
		"agent-shell": "agent-shell", "CodeCompanion.nvim": "CodeCompanion", "Zed": "zed", "zed 1.9.0": "zed", "JetBrains.IntelliJ": "JetBrains",
		"codex-mcp-client": "codex", "VsCode": "VsCode",
		"": "", "zedra": "", "my zed": "", "toads": "", "emacs2": "", "ag": "", "zedé": "",
	} {
		if got := Of(name).Name; got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// Clients that are not known, and Go clients, whose library holds 1,024 notifications, get pauses.
func TestFlow(t *testing.T) {
	for name, want := range map[string]bool{
		"agent-shell": true, "CodeCompanion.nvim": true, "acpx": true, "zed": true, "toad": true, "emacs": true, "VsCode": true,
		"JetBrains.IDEA": false, "acp-go-sdk": false, "goose": false, "": false,
	} {
		if got := Of(name).Flow; got != want {
			t.Errorf("%q: Flow is %t, want %t", name, got, want)
		}
	}
}
