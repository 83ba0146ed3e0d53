package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// Agreements records the user's permanent consent to things that clients bring along:
// programs and addresses of servers, and settings. It keeps only a checksum of all that
// was shown, which may hold keys.
type Agreements struct {
	// Path is the file; empty: nothing is kept.
	Path string
}

// agreement is when the user agreed, for people who look into the file.
type agreement struct {
	Server string    `json:"server"`
	At     time.Time `json:"at"`
}

// agreementOf names what would be started. The folder counts: what ./server is depends
// on it.
func agreementOf(e Endpoint) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", e.URL, e.Command, e.Args, e.Env, e.Dir))
	return hex.EncodeToString(sum[:])
}

// Has reports whether the user has agreed. A file that cannot be read holds nothing:
// the user is asked then.
func (a Agreements) Has(key string) bool {
	kept, err := a.read()
	_, ok := kept[key]
	return ok && err == nil
}

func (a Agreements) read() (map[string]agreement, error) {
	kept := map[string]agreement{}
	if a.Path == "" {
		return kept, nil
	}
	b, err := os.ReadFile(a.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of what you have agreed to cannot be read: %v; mend or remove %s", err, a.Path)
	}
	return kept, nil
}

// Add records an agreement, with a name for people who read the file. It may be called by
// several processes at once.
func (a Agreements) Add(key, name string) error {
	if a.Path == "" {
		return nil
	}
	dir := filepath.Dir(a.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	held, err := lockFile(a.Path + ".lock")
	if err != nil {
		return err
	}
	defer held.Unlock() //nolint:errcheck // it is locked no more in any case
	kept, err := a.read()
	if err != nil {
		return err
	}
	next := maps.Clone(kept)
	next[key] = agreement{Server: name, At: time.Now().UTC().Truncate(time.Second)}
	b, err := json.MarshalIndent(next, "", " ")
	if err != nil {
		return err
	}
	return replaceFile(a.Path, b)
}

// replaceFile writes a file anew, whole and for its owner's eyes only.
func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".mcp-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it has no use
	}
	return err
}
