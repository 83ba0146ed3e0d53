package tokens

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/access"
)

// create makes a token that must be new.
func create(t *testing.T, s *Store, name string, rights access.Rights, expires time.Time) (string, Token) {
	t.Helper()
	secret, made, err := s.Create(t.Context(), name, rights, expires)
	if err != nil {
		t.Fatal(err)
	}
	return secret, made
}

// A token has its rights until it is revoked, in every process at once, and no part of it is stored.
func TestLifeOfAToken(t *testing.T) {
	dir := t.TempDir()
	s, running := Open(dir), Open(dir) // two processes
	if _, err := running.Admit("dragoman_x"); !errors.Is(err, ErrUnknown) {
		t.Errorf("without any token: %v", err)
	}
	main, _, err := s.Main()
	if err != nil {
		t.Fatal(err)
	}
	phone, made := create(t, s, "phone", access.Watch|access.Answer, time.Time{})
	other, _ := create(t, s, "other", access.Act, time.Time{})
	if !strings.HasPrefix(phone, "dragoman_") || len(phone) < 60 || phone == other {
		t.Errorf("%q, %q", phone, other)
	}
	want := access.Holder{Principal: core.Local, Token: made.ID, Name: "phone", Rights: access.Watch | access.Answer}
	if got, err := running.Admit(phone); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := running.Admit(main); err != nil || got != access.Owner(core.Local) {
		t.Errorf("the main token: %+v, %v", got, err)
	}
	for _, wrong := range []string{
		"", " ", phone[:len(phone)-1], phone + "A", phone[len("dragoman_"):], strings.ToLower(phone), made.ID, "phone",
		fmt.Sprintf("%x", made.Sum), main[:26], main + main, phone + main,
	} {
		if got, err := running.Admit(wrong); !errors.Is(err, ErrUnknown) || got != (access.Holder{}) {
			t.Errorf("%q is %+v, %v", wrong, got, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "mcp-tokens.json"))
	if err != nil || strings.Contains(string(text), phone[len("dragoman_"):][:12]) {
		t.Errorf("%s, %v", text, err)
	}
	if gone, err := s.Revoke(t.Context(), "PHONE"); err != nil || gone.ID != made.ID {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := running.Admit(phone); !errors.Is(err, ErrUnknown) {
		t.Errorf("after it was revoked: %v", err)
	}
	again, _ := create(t, s, "phone", access.Watch, time.Time{})
	if _, err := running.Admit(phone); !errors.Is(err, ErrUnknown) {
		t.Errorf("after another of its name was made: %v", err)
	}
	if got, err := running.Admit(again); err != nil || got.Token == made.ID || got == want {
		t.Errorf("the one after it: %+v, %v", got, err)
	}
	if _, err := running.Admit(other); err != nil {
		t.Errorf("the other one: %v", err)
	}
}

// The main token follows its file: a new one replaces it at once, and without a file there is none.
func TestMainTokenIsReplaced(t *testing.T) {
	dir := t.TempDir()
	s, running := Open(dir), Open(dir)
	old, path, err := s.Main()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := running.Admit(old); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := running.Admit(old); !errors.Is(err, ErrUnknown) {
		t.Errorf("without a file: %v", err)
	}
	made, _, err := s.Main()
	if err != nil || made == old {
		t.Fatalf("%v", err)
	}
	if _, err := running.Admit(old); !errors.Is(err, ErrUnknown) {
		t.Errorf("the old one: %v", err)
	}
	if _, err := running.Admit(made); err != nil {
		t.Errorf("the new one: %v", err)
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Open(t.TempDir())
		secret, _ := create(t, s, "short", access.Watch, time.Now().Add(time.Hour))
		<-time.After(59 * time.Minute)
		if _, err := s.Admit(secret); err != nil {
			t.Error(err)
		}
		<-time.After(2 * time.Minute)
		_, err := s.Admit(secret)
		if expired := (*ExpiredError)(nil); !errors.As(err, &expired) || expired.Token.Name != "short" || strings.Contains(err.Error(), secret) {
			t.Errorf("%v", err)
		}
		if list, err := s.List(); err != nil || len(list) != 1 || !list[0].Expired(time.Now()) {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// Names and ids are unique, whatever their case, so that one who revokes or reads a record knows which
// token is meant.
func TestNames(t *testing.T) {
	s := Open(t.TempDir())
	_, made := create(t, s, "phone", access.Watch, time.Time{})
	for name, want := range map[string]string{
		"phone": "already", "Phone": "already", made.ID: "already",
		"": "no name", "-a": "no name", "a b": "no name", "a\nb": "no name", "ä": "no name", "a/b": "no name", strings.Repeat("a", 65): "no name",
	} {
		if _, _, err := s.Create(t.Context(), name, access.Watch, time.Time{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, _, err := s.Create(t.Context(), "none", 0, time.Time{}); err == nil {
		t.Error("a token without rights")
	}
	if _, err := s.Revoke(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), `no token "nobody"`) {
		t.Error(err)
	}
	if gone, err := s.Revoke(t.Context(), made.ID); err != nil || gone.Name != "phone" {
		t.Errorf("%+v, %v", gone, err)
	}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// Tokens that are made at once are all kept.
func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, _, err := Open(dir).Create(t.Context(), fmt.Sprint("t", i), access.Watch, time.Time{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := Open(dir).List(); err != nil || len(list) != 20 {
		t.Errorf("%d, %v", len(list), err)
	}
}

// A file that cannot be used admits none of its tokens, but does not lock out the main one. The error
// repeats nothing of it.
func TestUnusableFile(t *testing.T) {
	good := `{"version":1,"tokens":[{"id":"a","name":"n","rights":"watch","created":"2026-01-01T00:00:00Z","sha256":"` + strings.Repeat("ab", 32) + `"}]}`
	for name, c := range map[string]struct{ text, want string }{
		"good":                  {good, ""},
		"no JSON":               {"{", "damaged"},
		"two":                   {good + good, "damaged"},
		"a later version":       {strings.Replace(good, `"version":1`, `"version":2`, 1), "later version"},
		"no version":            {strings.Replace(good, `"version":1,`, ``, 1), "damaged"},
		"an unknown right":      {strings.Replace(good, `"watch"`, `"watch,fly"`, 1), "damaged"},
		"no rights":             {strings.Replace(good, `"rights":"watch",`, ``, 1), "damaged"},
		"an unknown limit":      {strings.Replace(good, `"id"`, `"workspace":"/w","id"`, 1), "damaged"},
		"a short checksum":      {strings.Replace(good, "abab", "ab", 1), "damaged"},
		"no checksum":           {strings.Replace(good, strings.Repeat("ab", 32), strings.Repeat("00", 32), 1), "damaged"},
		"a checksum not as hex": {strings.Replace(good, "abab", "zzzz", 1), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := Open(dir)
			main, _, err := s.Main()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "mcp-tokens.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			list, err := s.List()
			if c.want == "" {
				if err != nil || len(list) != 1 {
					t.Errorf("%v, %v", list, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "abab") || len(list) > 0 {
				t.Errorf("%v, %v", list, err)
			}
			if _, err := s.Admit("x"); err == nil || errors.Is(err, ErrUnknown) {
				t.Errorf("an unknown token: %v", err)
			}
			if _, err := s.Admit(main); err != nil {
				t.Errorf("the main token: %v", err)
			}
			if _, _, err := s.Create(t.Context(), "n2", access.Watch, time.Time{}); err == nil {
				t.Error("it was changed")
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != c.text {
				t.Errorf("it is %s now, %v", now, err)
			}
		})
	}
}

// Files that others can read admit nobody.
func TestReadableByOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	dir := t.TempDir()
	s := Open(dir)
	main, mainPath, err := s.Main()
	if err != nil {
		t.Fatal(err)
	}
	phone, _ := create(t, s, "phone", access.Watch, time.Time{})
	for _, c := range []struct{ path, of, fine string }{{filepath.Join(dir, "mcp-tokens.json"), phone, main}, {mainPath, main, phone}} {
		if info, err := os.Stat(c.path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		if err := os.Chmod(c.path, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Admit(c.of); err == nil || !strings.Contains(err.Error(), "can be read by others") {
			t.Errorf("%s: %v", c.path, err)
		}
		if _, err := s.Admit(c.fine); err != nil {
			t.Errorf("the other file: %v", err)
		}
		if err := os.Chmod(c.path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Admit(c.of); err != nil {
			t.Errorf("%s is private again: %v", c.path, err)
		}
	}
}

// Guesses change nothing, and read no file again.
func TestGuesses(t *testing.T) {
	s := Open(t.TempDir())
	secret, _ := create(t, s, "phone", access.Watch, time.Time{})
	read := 0
	decode := s.clients.Decode
	s.clients.Decode = func(b []byte) (file, error) { read++; return decode(b) }
	for i := range 10_000 {
		if _, err := s.Admit(fmt.Sprint(secret[:20], i)); !errors.Is(err, ErrUnknown) {
			t.Fatal(err)
		}
	}
	if _, err := s.Admit(secret); err != nil || read > 1 {
		t.Errorf("%v after %d reads", err, read)
	}
}
