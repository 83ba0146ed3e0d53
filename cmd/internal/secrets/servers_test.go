package secrets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A login is encrypted if there is a keyring, and a server of another name cannot use it.
func TestServerLoginsAreKept(t *testing.T) {
	dir := t.TempDir()
	s := ServerLogins{filepath.Join(dir, serverLoginDir), newVault(&fakeRing{}, dir)}
	put := func(text string) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return []byte(text), nil }
	}
	if err := s.Change(t.Context(), "../up", put("hunter2")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Load(t.Context(), "../up"); string(got) != "hunter2" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if text, err := os.ReadFile(s.path("../up")); err != nil || strings.Contains(string(text), "hunter") || !strings.Contains(s.Where(t.Context(), "../up"), "encrypted with a key") {
		t.Errorf("%s, %v", text, err)
	}
	if got, err := s.Load(t.Context(), "up"); got != nil || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	locked := ServerLogins{s.dir, newVault(nil, dir)}
	if _, err := locked.Load(t.Context(), "../up"); err == nil {
		t.Error("it was read without the keyring")
	}
	if err := locked.Change(t.Context(), "../up", put("anew")); err != nil {
		t.Error(err)
	}
	if got, err := s.Load(t.Context(), "../up"); string(got) != "anew" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if err := s.Change(t.Context(), "../up", func([]byte) ([]byte, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
	if got, err := s.Load(t.Context(), "../up"); got != nil || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
