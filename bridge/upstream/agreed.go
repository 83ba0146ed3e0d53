package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"dragoman/core"
	"dragoman/core/datadir"
)

// Agreements records the user's permanent consents to things that clients bring along: programs
// and addresses of servers, and settings. It stores only a checksum of the text that was shown,
// because that may hold keys.
type Agreements struct {
	// Path is the file; empty: nothing is stored.
	Path string

	of core.Principal // the one who agreed; empty: the owner of the file
}

// Of returns a principal's agreements. The owner's are those without a principal.
func (a Agreements) Of(p, owner core.Principal) Agreements {
	if a.of = p; p == owner {
		a.of = ""
	}
	return a
}

// keyOf returns the member of the file that stands for a key.
func (a Agreements) keyOf(key string) string {
	if a.of == "" {
		return key
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", a.of, key))
	return hex.EncodeToString(sum[:])
}

// consentKey identifies a question that a principal has been asked.
type consentKey struct {
	of  core.Principal
	key string
}

// agreement is the time at which the user agreed, for people who read the file.
type agreement struct {
	Server string    `json:"server"`
	At     time.Time `json:"at"`
}

// agreementOf identifies an endpoint. The folder counts: the meaning of ./server depends on it.
func agreementOf(e Endpoint) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", e.URL, e.Command, e.Args, e.Env, e.Dir))
	return hex.EncodeToString(sum[:])
}

// document returns the file. Each call returns a new document, which reads the file again.
func (a Agreements) document() *datadir.Document[map[string]agreement] {
	return &datadir.Document[map[string]agreement]{Path: a.Path}
}

// Has reports whether the user has agreed. If the file cannot be read there is no agreement, and
// the user is asked.
func (a Agreements) Has(key string) bool {
	if a.Path == "" {
		return false
	}
	kept, err := a.document().Read()
	_, ok := kept[a.keyOf(key)]
	return ok && err == nil
}

// Add records an agreement, with a name for people who read the file. Several processes may call
// it at once.
func (a Agreements) Add(key, name string) error {
	if a.Path == "" {
		return nil
	}
	key = a.keyOf(key)
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
