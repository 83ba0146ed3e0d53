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

// agreements are the programs and addresses that the user has agreed to for good, of
// those that clients bring along. What is kept is a checksum of all that would be
// started, and where: the environment may hold keys.
type agreements struct{ path string } // "": nothing is kept

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

// has reports whether the user has agreed. A file that cannot be read holds nothing:
// the user is asked then.
func (a agreements) has(key string) bool {
	kept, err := a.read()
	_, ok := kept[key]
	return ok && err == nil
}

func (a agreements) read() (map[string]agreement, error) {
	kept := map[string]agreement{}
	if a.path == "" {
		return kept, nil
	}
	b, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("what was agreed to be started cannot be read: %v; mend or remove %s", err, a.path)
	}
	return kept, nil
}

// add keeps an agreement. Processes do so one after the other.
func (a agreements) add(key, server string) error {
	if a.path == "" {
		return nil
	}
	dir := filepath.Dir(a.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	held, err := lockFile(a.path + ".lock")
	if err != nil {
		return err
	}
	defer held.Unlock() //nolint:errcheck // it is locked no more in any case
	kept, err := a.read()
	if err != nil {
		return err
	}
	next := maps.Clone(kept)
	next[key] = agreement{Server: server, At: time.Now().UTC().Truncate(time.Second)}
	b, err := json.MarshalIndent(next, "", " ")
	if err != nil {
		return err
	}
	return replaceFile(a.path, b)
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
