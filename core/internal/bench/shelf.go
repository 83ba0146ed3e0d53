package bench

import (
	"slices"
	"sync"
)

// maxShelf is the number of lists that a shelf keeps.
const maxShelf = 16

// Shelf keeps the descriptions of listed tools, so that the benches of a process whose tools have the
// same ones share them. It is safe for concurrent use.
type Shelf[D any] struct {
	name  func(D) Name
	equal func(a, b D) bool

	mu   sync.Mutex         // guards kept
	kept []*descriptions[D] // the last used one first
}

// descriptions are those of a list of tools. They never change.
type descriptions[D any] struct {
	specs []D
	at    map[Name]int
}

// NewShelf returns an empty shelf. name returns the name of a tool by its description, and equal
// compares two descriptions.
func NewShelf[D any](name func(D) Name, equal func(a, b D) bool) *Shelf[D] {
	return &Shelf[D]{name: name, equal: equal}
}

// share returns the descriptions that are equal to specs, or else takes these.
func (s *Shelf[D]) share(specs []D) *descriptions[D] {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.kept, func(d *descriptions[D]) bool { return slices.EqualFunc(d.specs, specs, s.equal) })
	if at >= 0 {
		d := s.kept[at]
		copy(s.kept[1:at+1], s.kept[:at])
		s.kept[0] = d
		return d
	}
	d := &descriptions[D]{slices.Clip(specs), make(map[Name]int, len(specs))}
	for i, spec := range specs {
		d.at[s.name(spec)] = i
	}
	s.kept = slices.Insert(s.kept, 0, d)
	if len(s.kept) > maxShelf {
		s.kept = slices.Delete(s.kept, maxShelf, len(s.kept))
	}
	return d
}
