package refer

import (
	"os"
	"time"

	"dragoman/core"
	"dragoman/core/workspace"
)

// Shelf keeps what a chat's client has in view from one prompt to the next, so that it is read
// again only after a change. The zero value is empty. It belongs to one goroutine.
type Shelf struct {
	now, before shelved
	standing    []string // files in view with the last prompt
}

// shelved holds what one prompt has looked up.
type shelved struct {
	items map[workspace.Reference]item
	told  map[string]bool // messages to the user
}

type item struct {
	stamp stamp
	block core.Block
}

// stamp identifies the content of a reference. Pages have the zero stamp, as have files that cannot
// be looked at.
type stamp struct {
	time time.Time
	size int64
}

// settled is the age at which a file's time of change tells two contents apart: several changes
// may have the same time, on some file systems within two seconds.
const settled = 2 * time.Second

// stampOf returns the stamp of a reference now. ok is false if it cannot tell whether the content
// has changed: a folder, a file that has just changed, or none. Pages and resources of servers do
// not change as long as they stay in view.
func stampOf(r workspace.Reference) (s stamp, ok bool) {
	if r.URL != "" {
		return stamp{}, true
	}
	info, err := os.Stat(r.Path)
	if err != nil || !info.Mode().IsRegular() {
		return stamp{}, false
	}
	return stamp{info.ModTime(), info.Size()}, time.Since(info.ModTime()) > settled
}

// next begins a prompt: what the last one did not look up is dropped.
func (s *Shelf) next() {
	s.before = s.now
	s.now = shelved{map[workspace.Reference]item{}, map[string]bool{}}
}

// get returns the content of a reference, which read reads if it may have changed.
func (s *Shelf) get(r workspace.Reference, read func() core.Block) core.Block {
	if s == nil {
		return read()
	}
	if have, ok := s.now.items[r]; ok {
		return have.block
	}
	now, sure := stampOf(r)
	have, ok := s.before.items[r]
	if !ok || !sure || have.stamp != now {
		have = item{now, read()}
	}
	if workspace.WasRead(have.block) {
		s.now.items[r] = have
	}
	return have.block
}

// isNew reports whether the user did not get a message with the last prompt or this one.
func (s *Shelf) isNew(text string) bool {
	if s == nil {
		return true
	}
	was := s.before.told[text] || s.now.told[text]
	s.now.told[text] = true
	return !was
}
