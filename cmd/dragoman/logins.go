package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// loginFile is where the keys are kept that people have given, in the data folder.
const loginFile = "auth.json"

const (
	maxLogins = 1 << 20 // bytes of that file
	maxKey    = 8 << 10 // bytes of one key
)

// logins are the keys that people have given, by provider. They are read when
// somebody looks for one, and again when the file has changed, so that what one
// process is given counts in all of them.
type logins struct {
	path string // empty: there is no place for it

	writing chan struct{} // holds the one token of whoever changes the file

	mu   sync.Mutex // guards the fields below
	seen sighting
	keys map[string]string
	err  error // why the file is not used
}

// keptLogin is one key as it is stored.
type keptLogin struct {
	Key string `json:"key"`
}

// keptLogins is the file.
type keptLogins struct {
	Version   int                  `json:"version"`
	Providers map[string]keptLogin `json:"providers"`
}

// openLogins finds the file; it reads nothing.
func (a *app) openLogins() *logins {
	l := &logins{writing: make(chan struct{}, 1)}
	if dir, err := a.dataDir(); err == nil {
		l.path = filepath.Join(dir, loginFile)
	}
	return l
}

// key is configs.Logins. A nil logins has none.
func (l *logins) key(provider string) string {
	if l == nil {
		return ""
	}
	keys, _ := l.all() // why there are none is said where people look after them
	return keys[provider]
}

// all is what is kept. The map must not be changed.
func (l *logins) all() (map[string]string, error) {
	if l.path == "" {
		return nil, nil
	}
	now := seenOf(l.path)
	l.mu.Lock()
	if now == l.seen && (l.keys != nil || l.err != nil) {
		defer l.mu.Unlock()
		return l.keys, l.err
	}
	l.mu.Unlock()
	keys, err := readLogins(l.path)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen, l.keys, l.err = now, keys, err
	return keys, err
}

// readLogins reads the file; one that is not there holds nothing.
func readLogins(path string) (map[string]string, error) {
	failed := func(err error) error {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return fmt.Errorf("read the keys in %s: %w; mend the file or remove it", path, err)
	}
	keys := map[string]string{}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // of the folder others tell
		return keys, nil
	case err != nil:
		return keys, failed(err)
	case !info.Mode().IsRegular() || info.Size() > maxLogins:
		return keys, failed(errors.New("it is no file of keys"))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return keys, failed(err)
	}
	var kept keptLogins
	// The library's message could hold a piece of a key.
	if json.Unmarshal(data, &kept) != nil || kept.Version != 1 {
		return keys, failed(errors.New("it is not in a form that this version knows"))
	}
	for provider, login := range kept.Providers {
		keys[provider] = login.Key
	}
	return keys, nil
}

// set keeps a key, or forgets it where it is empty. It reports whether that
// changed anything. It blocks until the file is written.
func (l *logins) set(provider, key string) (changed bool, err error) {
	if l.path == "" {
		return false, errors.New("there is no folder for keys: neither XDG_STATE_HOME nor a home folder is known; give one with --data-dir")
	}
	l.writing <- struct{}{}
	defer func() { <-l.writing }()
	now, err := readLogins(l.path)
	if err != nil {
		return false, err
	}
	if now[provider] == key {
		return false, nil
	}
	if now[provider] = key; key == "" {
		delete(now, provider)
	}
	if err := writeLogins(l.path, now); err != nil {
		return false, fmt.Errorf("keep the keys: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen, l.keys, l.err = seenOf(l.path), now, nil
	return true, nil
}

// writeLogins replaces the file at once and whole, for its owner's eyes only.
func writeLogins(path string, keys map[string]string) (err error) {
	kept := keptLogins{Version: 1, Providers: map[string]keptLogin{}}
	for provider, key := range keys {
		kept.Providers[provider] = keptLogin{key}
	}
	data, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".auth-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// shared reports whether others can read the file.
func (l *logins) shared() bool {
	info, err := os.Stat(l.path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// names lists the providers that a key is kept for.
func (l *logins) names() []string {
	keys, _ := l.all()
	return slices.Sorted(maps.Keys(keys))
}

// checkKey says what is wrong with a key, without showing it.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty")
	case len(key) > maxKey:
		return fmt.Errorf("the key is longer than %d KiB", maxKey>>10)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("a key is one word of letters, digits and signs; this text holds something else")
	}
	return nil
}
