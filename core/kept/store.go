package kept

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/datadir"
	"dragoman/core/files"
)

// Rule is one answer that is kept.
type Rule struct {
	ID        string         `json:"id"`
	Allows    string         `json:"allows"`    // in words
	Key       string         `json:"key"`       // what it covers, as the policy compares it
	Workspace []string       `json:"workspace"` // the folders of the session, links resolved
	Agent     string         `json:"agent"`
	Principal core.Principal `json:"principal"`
	Client    string         `json:"client,omitempty"` // in which it was given
	Given     time.Time      `json:"given"`
}

const (
	maxRules = 2000    // in the file
	maxFile  = 4 << 20 // bytes
	patience = 10 * time.Second
)

// Store is the file of the rules. All processes share it. Methods may be called by any number of
// goroutines.
type Store struct {
	doc datadir.Document[content]
}

// content is that of the file.
type content struct {
	Always []Rule `json:"always"`
}

// Open returns the store in a file, which need not exist and is not opened yet. If the file is a link
// its target is replaced. A store without a path keeps nothing.
func Open(path string) *Store {
	if abs, err := filepath.Abs(path); path != "" && err == nil {
		path = abs
		if real, err := files.Real(abs); err == nil {
			path = real
		}
	}
	return &Store{doc: datadir.Document[content]{Path: path, Max: maxFile}}
}

// Path returns the file; empty: there is none.
func (s *Store) Path() string { return s.doc.Path }

// List returns the rules, the oldest first. They must not be changed.
func (s *Store) List() ([]Rule, error) {
	if s.doc.Path == "" {
		return nil, nil
	}
	c, err := s.doc.Read()
	if err != nil {
		return nil, fmt.Errorf("read what is always allowed: %w", err)
	}
	return c.Always, nil
}

// Add keeps a rule, with an ID of its own. One that is there already stays. It blocks while another
// process changes the file, for ten seconds at most.
func (s *Store) Add(ctx context.Context, r Rule) error {
	if s.doc.Path == "" {
		return errors.New("keep an answer: there is no place for it, because HOME is not set; name a configuration file with --config")
	}
	err := s.change(ctx, func(c content) (content, error) {
		if slices.ContainsFunc(c.Always, r.same) {
			return c, datadir.ErrUnchanged
		}
		if len(c.Always) >= maxRules {
			return c, fmt.Errorf("there are %d of them; forget some with \"dragoman policy forget\"", len(c.Always))
		}
		r.ID = freeID(c.Always)
		c.Always = append(slices.Clone(c.Always), r)
		return c, nil
	})
	if err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	return nil
}

// Forget removes the rules of some IDs and returns them. An unknown ID is an error, and then none is
// removed.
func (s *Store) Forget(ctx context.Context, ids ...string) (gone []Rule, err error) {
	err = s.change(ctx, func(c content) (content, error) {
		for _, id := range ids {
			if !slices.ContainsFunc(c.Always, func(r Rule) bool { return r.ID == id }) {
				return c, fmt.Errorf("there is no %q; \"dragoman policy list\" has the IDs", id)
			}
		}
		var left []Rule
		for _, r := range c.Always {
			if slices.Contains(ids, r.ID) {
				gone = append(gone, r)
			} else {
				left = append(left, r)
			}
		}
		return content{left}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("forget what is always allowed: %w", err)
	}
	return gone, nil
}

// ForgetAll removes all rules and returns them.
func (s *Store) ForgetAll(ctx context.Context) (gone []Rule, err error) {
	err = s.change(ctx, func(c content) (content, error) {
		if gone = c.Always; len(gone) == 0 {
			return c, datadir.ErrUnchanged
		}
		return content{}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("forget what is always allowed: %w", err)
	}
	return gone, nil
}

func (s *Store) change(ctx context.Context, change func(content) (content, error)) error {
	if s.doc.Path == "" {
		return errors.New("nothing is kept, because HOME is not set")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("another process keeps changing it"))
	defer cancel()
	return s.doc.Change(ctx, change)
}

// same reports whether a rule covers the same as another.
func (r Rule) same(o Rule) bool {
	return r.Key == o.Key && r.Agent == o.Agent && r.Principal == o.Principal && slices.Equal(r.Workspace, o.Workspace)
}

// freeID returns an ID that no rule has.
func freeID(list []Rule) string {
	for {
		id := strings.ToLower(rand.Text()[:6])
		if !slices.ContainsFunc(list, func(r Rule) bool { return r.ID == id }) {
			return id
		}
	}
}
