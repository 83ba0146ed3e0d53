package secrets

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func loginsIn(dir string) *Logins {
	return loginsWith(nil, dir)
}

func loginsWith(r Ring, dir string) *Logins {
	dir = filepath.Join(dir, "data")
	return newLogins(dir, newVault(r, dir))
}

// key returns the key of a provider.
func (l *Logins) key(t *testing.T, provider string) string {
	t.Helper()
	key, err := l.Key(t.Context(), provider)
	if err != nil || l.Has(provider) != (key != "") {
		t.Errorf("%s: %v, %v", provider, l.Has(provider), err)
	}
	return key
}

// stored returns the stored keys.
func (l *Logins) stored(t *testing.T) map[string]keptLogin {
	t.Helper()
	kept, err := l.all()
	if err != nil {
		t.Error(err)
	}
	return kept
}

// A key given to one process is visible to another; the file is written as a whole and readable
// only by its owner.
func TestLoginsAreShared(t *testing.T) {
	dir := t.TempDir()
	one, two := loginsIn(dir), loginsIn(dir)
	if got := two.key(t, "groq"); got != "" {
		t.Errorf("at first: %q", got)
	}
	if changed, err := one.Set(t.Context(), "groq", "a"); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if changed, err := one.Set(t.Context(), "groq", "a"); changed || err != nil {
		t.Errorf("the same again: %v, %v", changed, err)
	}
	if one.key(t, "groq") != "a" || two.key(t, "groq") != "a" {
		t.Errorf("%q, %q", one.key(t, "groq"), two.key(t, "groq"))
	}
	if _, err := two.Set(t.Context(), "openai", "b"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(one.Names(), " "); got != "groq openai" {
		t.Errorf("names: %s", got)
	}
	if changed, err := one.Set(t.Context(), "groq", ""); !changed || err != nil || two.key(t, "groq") != "" || two.key(t, "openai") != "b" {
		t.Errorf("forgotten: %v, %v, %q", changed, err, two.key(t, "groq"))
	}
	info, err := os.Stat(one.Path())
	if err != nil || info.Mode().Perm()&0o077 != 0 || one.Shared() {
		t.Errorf("%v, %v", info, err)
	}
	left, err := os.ReadDir(filepath.Dir(one.Path()))
	if err != nil || len(left) != 2 { // the keys and the lock
		t.Errorf("left behind: %v, %v", left, err)
	}
	var none *Logins
	if none.Has("groq") {
		t.Error("none has a key")
	}
}

// A file that cannot be read is left unchanged, and its text is not shown.
func TestLoginsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{`{"version":1,"providers":{"groq":"sk-hunter2"}}`, "sk-hunter2", `{"version":9,"providers":{"groq":{"key":"sk-hunter2"}}}`, "[]"} {
		l := loginsIn(t.TempDir())
		if err := os.MkdirAll(filepath.Dir(l.Path()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(l.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := l.all()
		if err == nil || strings.Contains(err.Error(), "hunter") || !strings.Contains(err.Error(), "fix or remove the file") {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := l.Set(t.Context(), "openai", "b"); err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: it was written over: %v", text, err)
		}
		if now, err := os.ReadFile(l.Path()); err != nil || string(now) != text {
			t.Errorf("%s became %s, %v", text, now, err)
		}
	}
	if _, err := newLogins("", newVault(nil, "")).Set(t.Context(), "groq", "k"); err == nil {
		t.Error("kept nowhere")
	}
}

// Several processes that get keys at once lose none.
func TestConcurrentLogins(t *testing.T) {
	dir := t.TempDir()
	l := loginsIn(dir)
	var all sync.WaitGroup
	for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
		l := l
		if i%2 == 1 {
			l = loginsIn(dir) // in place of another process
		}
		all.Go(func() {
			if _, err := l.Set(t.Context(), name, "k"+name); err != nil {
				t.Error(err)
			}
			_ = l.Has(name)
		})
	}
	all.Wait()
	if got := len(l.Names()); got != 6 {
		t.Errorf("%d keys are left of 6", got)
	}
}

func TestKeysAreChecked(t *testing.T) {
	for key, ok := range map[string]bool{
		"sk-1": true, "AIza_x-y.z": true, "": false, "a b": false, "a\nb": false, "schlüssel": false, "a\x00": false, strings.Repeat("k", MaxKey): true, strings.Repeat("k", MaxKey+1): false,
	} {
		if err := checkKey(key); (err == nil) != ok || err != nil && len(key) > 3 && strings.Contains(err.Error(), key) {
			t.Errorf("%.20q: %v", key, err)
		}
	}
}
