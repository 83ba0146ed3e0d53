package signin

import (
	"context"
	"maps"
	"reflect"

	"dragoman/core/datadir"
)

// Notes keep how to sign in to agents, so that no agent is started for that. All processes of a user
// share them. They have no secrets. nil: nothing is kept.
type Notes struct {
	doc datadir.Document[map[string]Note]
}

// Note records how to log in to an agent, and whether it wants a login.
type Note struct {
	SignIns []Method `json:"sign_ins,omitempty"`
	Wanted  bool     `json:"wanted,omitempty"` // its last answer was that it wants one
}

// NewNotes returns the notes in a file; "": there is no place for one.
func NewNotes(path string) *Notes {
	if path == "" {
		return nil
	}
	return &Notes{doc: datadir.Document[map[string]Note]{Path: path, Max: 1 << 20}}
}

// Of returns the note about an agent, if there is one.
func (n *Notes) Of(agent string) (note Note, ok bool) {
	if n == nil {
		return note, false
	}
	all, err := n.doc.Read()
	if err != nil {
		return note, false // it is written anew when the agent runs
	}
	note, ok = all[agent]
	return note, ok
}

// Keep replaces the note about an agent.
func (n *Notes) Keep(ctx context.Context, agent string, note Note) error {
	if n == nil {
		return nil
	}
	if was, ok := n.Of(agent); ok && was.same(note) {
		return nil
	}
	return n.doc.Change(ctx, func(all map[string]Note) (map[string]Note, error) {
		next := maps.Clone(all)
		if next == nil {
			next = map[string]Note{}
		}
		next[agent] = note
		return next, nil
	})
}

// same reports whether two notes say the same to another process.
func (n Note) same(o Note) bool {
	return n.Wanted == o.Wanted && reflect.DeepEqual(kept(n.SignIns), kept(o.SignIns))
}

// kept returns the parts that are stored.
func kept(list []Method) (kept []Method) {
	for _, s := range list {
		s.Args, s.Env = nil, nil
		kept = append(kept, s)
	}
	return kept
}
