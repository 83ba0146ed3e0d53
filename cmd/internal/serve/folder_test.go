package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolderOfANewSession(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                         "",
		filepath.Join(dir, "gone"):  "does not exist",
		file:                        "is not a folder",
		filepath.Join(file, "more"): filepath.Join(file, "more"),
	} {
		got := ""
		if err := workable(path); err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) || want != "" && !strings.Contains(got, path) {
			t.Errorf("%s: %q", path, got)
		}
	}
}
