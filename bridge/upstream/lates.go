package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"sync"

	"dragoman/core/datadir"
)

// lates are the servers that clients have waited for in vain and that have never answered since, so that
// the next client, which is mostly one of another process, does not wait for them, too.
type lates struct {
	file datadir.Document[map[string]string] // the places of the servers, as checksums; Path "": of this process alone

	mu   sync.Mutex // guards the field below
	here map[string]string
}

// placeOf identifies the place of a server: with another one it is another server.
func placeOf(s Server) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", s.Location.Command, s.Location.Args, s.Location.URL))
	return hex.EncodeToString(sum[:8])
}

func (l *lates) has(s Server) bool {
	place := placeOf(s)
	l.mu.Lock()
	here := l.here[s.Name] == place
	l.mu.Unlock()
	if here || l.file.Path == "" {
		return here
	}
	all, err := l.file.Read()
	return err == nil && all[s.Name] == place // without the file it is waited for
}

// note records whether a server is late. What cannot be stored counts for this process.
func (l *lates) note(s Server, late bool) {
	if l.has(s) == late {
		return
	}
	change := func(all map[string]string) map[string]string {
		next := maps.Clone(all)
		if next == nil {
			next = map[string]string{}
		}
		if delete(next, s.Name); late {
			next[s.Name] = placeOf(s)
		}
		return next
	}
	l.mu.Lock()
	l.here = change(l.here)
	l.mu.Unlock()
	if l.file.Path == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockFor)
	defer cancel()
	_ = l.file.Change(ctx, func(all map[string]string) (map[string]string, error) { return change(all), nil })
}
