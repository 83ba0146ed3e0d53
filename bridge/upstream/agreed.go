package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"dragoman/core/datadir"
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

// document is the file, which is read anew by whoever makes it.
func (a Agreements) document() *datadir.Document[map[string]agreement] {
	return &datadir.Document[map[string]agreement]{Path: a.Path}
}

// Has reports whether the user has agreed. A file that cannot be read holds nothing:
// the user is asked then.
func (a Agreements) Has(key string) bool {
	if a.Path == "" {
		return false
	}
	kept, err := a.document().Read()
	_, ok := kept[key]
	return ok && err == nil
}

// Add records an agreement, with a name for people who read the file. It may be called by
// several processes at once.
func (a Agreements) Add(key, name string) error {
	if a.Path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockFor)
	defer cancel()
	err := a.document().Change(ctx, func(kept map[string]agreement) (map[string]agreement, error) {
		next := map[string]agreement{key: {Server: name, At: time.Now().UTC().Truncate(time.Second)}}
		for k, v := range kept {
			if k != key {
				next[k] = v
			}
		}
		return next, nil
	})
	if err != nil {
		return fmt.Errorf("store your approval: %w; fix or remove %s if it cannot be read", err, a.Path)
	}
	return nil
}
