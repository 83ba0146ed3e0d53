package tokens

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestTheMainToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var wg sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], _, err = Open(dir).Main(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, token := range got {
		if token != got[0] || len(token) < 40 {
			t.Fatalf("tokens %q", got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	path := filepath.Join(dir, "mcp-token")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir).Main(); err == nil || !strings.Contains(err.Error(), "can be read by others") {
		t.Errorf("a token that others can read: %v", err)
	}
	if err := os.WriteFile(path, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir).Main(); err == nil || !strings.Contains(err.Error(), "is empty; delete it") {
		t.Errorf("an empty token: %v", err)
	}
}
