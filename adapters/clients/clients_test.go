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
		folder, name, ok := strings.Cut(r.Test, ".")
		files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
		if err != nil || !ok || len(files) == 0 {
			t.Errorf("%s: there are no tests in %q (%v)", r.Name, folder, err)
			continue
		}
		found := false
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(code), "\nfunc "+name+"(")
		}
		if !found {
			t.Errorf("%s: there is no test %s", r.Name, r.Test)
		}
	}
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
