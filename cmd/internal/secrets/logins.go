package secrets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"dragoman/configs"
	"dragoman/core/datadir"
)

// loginFile contains the stored keys. It is in the data folder.
const loginFile = "auth.json"

const (
	maxLogins = 1 << 20 // bytes of that file
	// MaxKey limits one key, in bytes.
	MaxKey = 8 << 10
)

// Logins are the keys that people have given, by provider. They are read when one is needed, and
// again when the file has changed, so that a new key applies in all processes.
type Logins struct {
	file  datadir.Document[map[string]keptLogin] // Path "": there is no place for it
	vault *vault
}

// keptLogin is one key in its stored form: plain or encrypted.
type keptLogin struct {
	Key    string `json:"key,omitempty"`
	Sealed string `json:"sealed,omitempty"`
}

// keptLogins is the content of the file. Versions of dragoman without encrypted keys ignore
// version 2.
type keptLogins struct {
	Version   int                  `json:"version"`
	Providers map[string]keptLogin `json:"providers"`
}

// newLogins returns the keys in a file of a data folder; "": there is no place for them.
func newLogins(dir string, v *vault) *Logins {
	l := &Logins{vault: v}
	if dir != "" {
		path := filepath.Join(dir, loginFile)
		l.file = datadir.Document[map[string]keptLogin]{
			Path:   path,
			Lock:   filepath.Join(dir, loginLock),
			Max:    maxLogins,
			Decode: decodeLogins,
			Encode: encodeLogins,
		}
	}
	return l
}

// Path returns the file that stores the keys; empty: there is no place for it.
func (l *Logins) Path() string { return l.file.Path }

// Rev returns a text that changes with the stored key of a provider, and does not contain it.
func (l *Logins) Rev(provider string) string {
	kept, _ := l.all() //nolint:errcheck // an unreadable file has no keys
	sum := sha256.Sum256(fmt.Append(nil, kept[provider]))
	return hex.EncodeToString(sum[:8])
}

// Check returns the reason why the file is not used; nil: it is used.
func (l *Logins) Check() error {
	_, err := l.all()
	return err
}

// Has implements configs.Logins. A nil Logins has none.
func (l *Logins) Has(provider string) bool {
	if l == nil {
		return false
	}
	kept, _ := l.all() // errors are reported where people manage the keys
	_, ok := kept[provider]
	return ok
}

// Look returns the keys as they are now, for a list of providers: Has of it does not look at the
// file again.
func (l *Logins) Look() configs.Logins {
	if l == nil {
		return l
	}
	kept, _ := l.all() // as in Has
	return lookedLogins{l, kept}
}

// lookedLogins implements Look.
type lookedLogins struct {
	*Logins

	kept map[string]keptLogin
}

// Has implements configs.Logins.
func (l lookedLogins) Has(provider string) bool {
	_, ok := l.kept[provider]
	return ok
}

// Key implements configs.Logins.
func (l *Logins) Key(ctx context.Context, provider string) (string, error) {
	if l == nil {
		return "", nil
	}
	kept, _ := l.all()
	key, err := l.keyOf(ctx, provider, kept[provider])
	if err != nil {
		return "", fmt.Errorf("the stored key of %s cannot be read: %w", provider, err)
	}
	return key, nil
}

func (l *Logins) keyOf(ctx context.Context, provider string, k keptLogin) (string, error) {
	if k.Sealed == "" {
		return k.Key, nil
	}
	key, err := l.vault.open(ctx, "provider "+provider, k.Sealed)
	return string(key), err
}

// all returns the stored keys. The map must not be changed.
func (l *Logins) all() (map[string]keptLogin, error) {
	if l.Path() == "" {
		return nil, nil
	}
	kept, err := l.file.Read()
	if err != nil {
		return nil, l.unreadable(err)
	}
	return kept, nil
}

func (l *Logins) unreadable(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("read the keys in %s: %w; fix or remove the file", l.Path(), err)
}

// decodeLogins reads the file's content.
func decodeLogins(data []byte) (map[string]keptLogin, error) {
	var kept keptLogins
	// The library's message could contain a piece of a key.
	if json.Unmarshal(data, &kept) != nil || kept.Version != 1 && kept.Version != 2 {
		return nil, errNoLogins
	}
	maps.DeleteFunc(
		kept.Providers,
		func(_ string, k keptLogin) bool { return k.Sealed == "" && strings.TrimSpace(k.Key) == "" },
	)
	return kept.Providers, nil
}

var errNoLogins = errors.New("it is not in a form that this version knows")

// encodeLogins returns the file's content.
func encodeLogins(kept map[string]keptLogin) ([]byte, error) {
	file := keptLogins{Version: 1, Providers: kept}
	for _, k := range kept {
		if k.Sealed != "" {
			file.Version = 2
		}
	}
	data, err := json.MarshalIndent(file, "", "  ")
	return append(data, '\n'), err
}

// Set stores a key, or removes it if it is empty. It reports whether that changed anything. It
// blocks until the file is written, under a lock against other processes.
func (l *Logins) Set(ctx context.Context, provider, key string) (changed bool, err error) {
	if l.Path() == "" {
		return false, errors.New(
			"there is no folder for keys: neither XDG_STATE_HOME nor HOME is set; choose one with --data-dir",
		)
	}
	next := keptLogin{Key: key}
	if key != "" {
		if sealed, err := l.vault.seal(ctx, "provider "+provider, []byte(key)); err == nil {
			next = keptLogin{Sealed: sealed}
		} // otherwise it is stored plain; Where reports that
	}
	err = l.file.Change(ctx, func(now map[string]keptLogin) (map[string]keptLogin, error) {
		old, had := now[provider]
		was, err := l.keyOf(ctx, provider, old)
		if same := had && err == nil && was == key || !had && key == ""; same &&
			(old.Sealed != "" || next.Sealed == "") {
			return nil, datadir.ErrUnchanged
		}
		changed = true
		all := map[string]keptLogin{}
		maps.Copy(all, now)
		if all[provider] = next; key == "" {
			delete(all, provider)
		}
		return all, nil
	})
	if err != nil {
		return false, fmt.Errorf("keep the keys in %s: %w", l.Path(), err)
	}
	return changed, nil
}

// loginLock is locked while the file is read and rewritten. It is in the data folder.
const loginLock = "auth.lock"

// Where describes how the key of a provider is stored.
func (l *Logins) Where(ctx context.Context, provider string) string {
	kept, _ := l.all()
	return l.vault.where(ctx, l.Path(), kept[provider].Sealed)
}

// Shared reports whether others can read the file.
func (l *Logins) Shared() bool {
	info, err := os.Stat(l.Path())
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// Names lists the providers with a stored key.
func (l *Logins) Names() []string {
	kept, _ := l.all()
	return slices.Sorted(maps.Keys(kept))
}

// checkKey returns an error for a malformed key, without showing it.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty")
	case len(key) > MaxKey:
		return fmt.Errorf("the key is longer than %d KiB", MaxKey>>10)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("a key is one word of letters, digits and punctuation; this text contains something else")
	}
	return nil
}
