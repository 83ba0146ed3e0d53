package sandbox

import (
	"maps"
	"time"

	"dragoman/core/child"
)

// marks remember what a sandbox was made on. The system takes a mount away with the file or folder that
// it is on, and what is made later is not covered by any.
type marks struct {
	needed   map[string]identity  // the folders of the workspace, and what is hidden
	locked   map[string]identity  // what is read-only; without its mount it is compared like everything else
	searched map[string]time.Time // the folders that were searched for what rules deny, and when each had changed
}

// identity tells a file or folder from another one that gets its name later. The zero identity is that of
// what is not there.
type identity struct {
	device, inode uint64
	born          int64 // nanoseconds; a number of an inode is used again
}

// markOf returns the marks of a profile. They are taken before a sandbox is made.
func markOf(p Profile, roots []string, searched map[string]time.Time) marks {
	m := marks{needed: map[string]identity{}, locked: map[string]identity{}, searched: searched}
	for _, root := range roots {
		m.needed[root] = identify(root)
	}
	for _, path := range p.Hidden {
		m.needed[path] = identify(path)
	}
	for _, path := range p.ReadOnly {
		m.locked[path] = identify(path)
	}
	return m
}

// hold reports whether a sandbox with these marks is still what was asked for. While programs run in it,
// a lock that is gone is no reason for another one.
func (m marks) hold(running bool) bool {
	for dir, at := range m.searched {
		if !changedAt(dir).Equal(at) {
			return false
		}
	}
	return unmoved(m.needed) && (running || unmoved(m.locked))
}

func unmoved(list map[string]identity) bool {
	for path, was := range list {
		if identify(path) != was {
			return false
		}
	}
	return true
}

// equal reports whether two sandboxes with the same profile are on the same files.
func (m marks) equal(n marks) bool {
	return maps.Equal(m.needed, n.needed) && maps.Equal(m.locked, n.locked)
}

// locks reports whether what is at a path is still under a mount that keeps programs from changing it.
func (m marks) locks(path string) bool {
	was, ok := m.locked[path]
	return ok && was != identity{} && identify(path) == was
}

// remade returns the profile and the marks of the sandbox that a workspace is to have by now. What was not
// read-only before becomes so only in a fresh one: a worktree of git that a program has made could not be
// removed any more. While programs run, what has lost its lock is compared: they and the next ones could
// not reach each other if there were a new sandbox.
func (s *Session) remade(w Workspace, level child.Level, fresh bool) (Profile, marks) {
	p, searched := w.profile(level)
	switch {
	case level == child.None:
		return Profile{Write: p.Write, ReadOnly: p.ReadOnly, Hidden: p.Hidden, Open: p.Open}, marks{} // for wrap
	case level != child.Full:
		p.ReadOnly = nil // nothing can be excepted from what is writable
		return p, markOf(Profile{}, w.folders(), nil)
	}
	if !fresh || s.guard != nil && s.running > 0 {
		p.ReadOnly = s.profile.ReadOnly
	}
	m := markOf(p, w.folders(), searched)
	if s.guard != nil && s.running > 0 {
		m.locked = s.marks.locked
	}
	return p, m
}

// retire gives up the sandbox that there is. Programs that run go on in it. Without one, daemons that
// were left in it are ended: nothing could reach them, and its locks may be gone.
func (s *Session) retire() {
	if s.guard != nil {
		s.old = append(s.old, confinement{s.guard, s.box})
	}
	if s.running > 0 {
		return
	}
	for _, c := range s.old {
		c.close()
	}
	s.old = nil
}
