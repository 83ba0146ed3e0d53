package secrets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeRing is a keyring.
type fakeRing struct {
	mu    sync.Mutex
	has   map[string]string
	fault error
	asked int
}

func (r *fakeRing) Get(_ context.Context, account string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	secret, ok := r.has[account]
	if r.fault == nil && !ok {
		return "", ErrNoSecret
	}
	return secret, r.fault
}

func (r *fakeRing) Set(_ context.Context, account, secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		return r.fault
	}
	if r.has == nil {
		r.has = map[string]string{}
	}
	r.has[account] = secret
	return nil
}

func (r *fakeRing) breaks(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = err
}

// With a keyring the key is not in the file, which is useless without the keyring. The keyring is
// not used before a key is needed, and then once.
func TestKeysAreEncrypted(t *testing.T) {
	r, dir := &fakeRing{}, t.TempDir()
	one := loginsWith(r, dir)
	if changed, err := one.Set(t.Context(), "groq", "sk-hunter2"); !changed || err != nil {
		t.Fatal(changed, err)
	}
	text, err := os.ReadFile(one.Path())
	if err != nil || strings.Contains(string(text), "hunter") || !strings.Contains(string(text), `"version": 2`) {
		t.Errorf("%s, %v", text, err)
	}
	if !strings.Contains(one.Where(t.Context(), "groq"), "encrypted with a key of the system's keyring") {
		t.Error(one.Where(t.Context(), "groq"))
	}
	asked := r.asked
	two := loginsWith(r, dir)
	if !two.Has("groq") || len(two.Names()) != 1 || r.asked != asked {
		t.Error("the keyring was asked for nothing")
	}
	for range 3 {
		if got := two.key(t, "groq"); got != "sk-hunter2" {
			t.Errorf("%q", got)
		}
	}
	if r.asked != asked+1 {
		t.Errorf("asked %d times", r.asked-asked)
	}
	if changed, err := two.Set(t.Context(), "groq", "sk-hunter2"); changed || err != nil {
		t.Errorf("the same again: %v, %v", changed, err)
	}
	// Without the keyring the key exists, but is not available.
	three := loginsWith(nil, dir)
	if key, err := three.Key(t.Context(), "groq"); key != "" || err == nil || !three.Has("groq") {
		t.Errorf("%q, %v", key, err)
	}
	// With another encryption key the login is useless, and an error reports that.
	other := loginsWith(&fakeRing{}, dir)
	if _, err := other.vault.seal(t.Context(), "x", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Key(t.Context(), "groq"); err == nil || !strings.Contains(err.Error(), "log in again") {
		t.Errorf("%v", err)
	}
	// A secret of one provider cannot be used for another.
	if _, err := one.vault.open(t.Context(), "provider openai", two.stored(t)["groq"].Sealed); err == nil {
		t.Error("a key of one provider was taken for another's")
	}
	if changed, err := three.Set(t.Context(), "groq", ""); !changed || err != nil || one.Has("groq") {
		t.Errorf("forgotten: %v, %v", changed, err)
	}
}

// If the keyring fails, the key stays in the file, and the reason is shown. If it works later, it
// protects the next key.
func TestKeyringThatFails(t *testing.T) {
	r, dir := &fakeRing{fault: errors.New("it is locked")}, t.TempDir()
	l := loginsWith(r, dir)
	if _, err := l.Set(t.Context(), "groq", "sk-1"); err != nil {
		t.Fatal(err)
	}
	if got := l.key(t, "groq"); got != "sk-1" {
		t.Errorf("%q", got)
	}
	if got := l.Where(t.Context(), "groq"); !strings.Contains(got, "unencrypted in ") || !strings.Contains(got, "it is locked") {
		t.Error(got)
	}
	asked := r.asked
	if _, err := l.Set(t.Context(), "openai", "sk-2"); err != nil || r.asked != asked {
		t.Errorf("asked again at once: %v", err)
	}
	r.breaks(nil)
	next := loginsWith(r, dir)
	if changed, err := next.Set(t.Context(), "groq", "sk-1"); !changed || err != nil || next.stored(t)["groq"].Sealed == "" || next.stored(t)["openai"].Key != "sk-2" {
		t.Errorf("%v, %v, %+v", changed, err, next.stored(t))
	}
	if next.key(t, "groq") != "sk-1" || next.key(t, "openai") != "sk-2" {
		t.Error("a key is lost")
	}
}

// Two processes that create the encryption key at once use the same.
func TestOneKeyForAll(t *testing.T) {
	r, dir := &fakeRing{}, t.TempDir()
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			if _, err := loginsWith(r, dir).Set(t.Context(), name, "k"+name); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	l := loginsWith(r, dir)
	for _, name := range []string{"a", "b", "c", "d"} {
		if got := l.key(t, name); got != "k"+name {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A child process uses the keyring; it gets the secret over its input, and is killed when it
// takes too long.
func TestKeyringChild(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the child here is a script for sh")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "child")
	script := `#!/bin/sh
test "$1" = keyring || exit 9
case "$2 $3" in
"set x") cat >"$DIR/x" ;;
"get x") test -e "$DIR/x" || exit 3; cat "$DIR/x" ;;
"get broken") echo "dragoman: no such bus" >&2; exit 1 ;;
"get late") exec sleep 1000 ;;
"get long") exec cat /dev/zero ;;
esac
`
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r := childRing{program: program, environ: append(os.Environ(), "DIR="+dir), wait: time.Minute}
	if _, err := r.Get(t.Context(), "x"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("%v", err)
	}
	if err := r.Set(t.Context(), "x", "s3cret"); err != nil {
		t.Error(err)
	}
	if got, err := r.Get(t.Context(), "x"); got != "s3cret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := r.Get(t.Context(), "broken"); err == nil || !strings.Contains(err.Error(), "does not work: no such bus") {
		t.Errorf("%v", err)
	}
	if _, err := r.Get(t.Context(), "long"); err == nil {
		t.Error("it printed for ever")
	}
	r.wait = 100 * time.Millisecond
	if _, err := r.Get(t.Context(), "late"); err == nil || !strings.Contains(err.Error(), "did not answer within") {
		t.Errorf("%v", err)
	}
}

func TestSystemRing(t *testing.T) {
	env := func(kv ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == name {
					return kv[i+1], true
				}
			}
			return "", false
		}
	}
	if SystemRing(env("DRAGOMAN_KEYRING", "off", "DBUS_SESSION_BUS_ADDRESS", "unix:path=/x")) != nil {
		t.Error("it is not left alone")
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return
	}
	if SystemRing(env()) != nil || SystemRing(env("XDG_RUNTIME_DIR", t.TempDir())) != nil {
		t.Error("there is a keyring without a bus")
	}
	if SystemRing(env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x")) == nil {
		t.Error("there is none with a bus")
	}
}
