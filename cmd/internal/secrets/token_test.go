package secrets

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "token")
	var wg sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = tokenIn(path); err != nil {
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
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := tokenIn(path); err == nil || !strings.Contains(err.Error(), "can be read by others") {
		t.Errorf("a token that others can read: %v", err)
	}
	if err := os.WriteFile(path, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tokenIn(path); err == nil {
		t.Error("an empty token is one")
	}
}
