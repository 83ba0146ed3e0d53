package sandbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The bounds of what is kept of control files, to put it back.
const (
	maxLeaves  = 2000
	maxContent = 1 << 20 // bytes of one file
)

// Aside is a control file that a program made, changed or removed. The change was undone; what the
// program wrote is kept.
type Aside struct {
	Path   string // of the control file
	Change Change

	root, name string // Path in two parts
	kept       string // our copy of what was written; "": the file was removed
}

// Change is what happened to a control file.
type Change string

// The changes.
const (
	Appeared Change = "appeared"
	Changed  Change = "changed"
	Removed  Change = "removed"
)

// state is a control file at one moment.
type state struct {
	mode    os.FileMode
	size    int64
	changed time.Time // by the system's own clock, which programs cannot set
	link    string    // of a symbolic link
	content []byte    // of a regular file, at most maxContent
	whole   bool      // content is all of it
	locked  bool      // no program can have changed it
}

func (s state) equal(t state) bool {
	return s.mode == t.mode && s.link == t.link && s.size == t.size && bytes.Equal(s.content, t.content) && s.whole == t.whole &&
		(s.whole || s.mode.Type() != 0 || s.changed.Equal(t.changed))
}

// snapshot is the state of all control files of a workspace, by root and by name in it.
type snapshot map[string]map[string]state

// look takes a snapshot of what programs of a profile might have changed. Of a file that has not been
// touched since before, its content there is taken over.
func look(p Profile, m marks, before snapshot) snapshot {
	now := snapshot{}
	roots := p.Write
	for _, dir := range roots {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		found, folder := map[string]state{}, openFolder{root: root}
		for _, path := range sorted(append(controls(dir, false), below(dir, p.ReadOnly)...)) {
			locked := m.locks(path)
			for _, leaf := range leaves(path, maxLeaves-len(found)) {
				name, err := filepath.Rel(dir, leaf)
				if err != nil || !filepath.IsLocal(name) {
					continue
				}
				was, known := before[dir][name]
				if s, err := folder.state(name, was, known); err == nil {
					s.locked = locked
					found[name] = s
				}
			}
		}
		now[dir] = found
		folder.close()
		root.Close()
	}
	return now
}

// below lists the paths that are in a folder.
func below(dir string, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !within(dir, path) })
}

// openFolder keeps one folder below a root open: files that are looked at one after the other mostly share
// theirs, and to open it anew for each would take most of the time.
type openFolder struct {
	root *os.Root
	name string
	open *os.Root // nil: none is
}

// in returns the folder of that name.
func (f *openFolder) in(name string) (*os.Root, error) {
	if name == "." {
		return f.root, nil
	}
	if f.open != nil && f.name == name {
		return f.open, nil
	}
	f.close()
	open, err := f.root.OpenRoot(name)
	f.name, f.open = name, open
	return open, err
}

func (f *openFolder) close() {
	if f.open != nil {
		f.open.Close()
		f.open = nil
	}
}

// state returns the state of a file; was is an earlier one, if it is known.
func (f *openFolder) state(path string, was state, known bool) (state, error) {
	root, err := f.in(filepath.Dir(path))
	if err != nil {
		return state{}, err
	}
	name := filepath.Base(path)
	info, err := root.Lstat(name)
	if err != nil {
		return state{}, err
	}
	s := state{mode: info.Mode(), size: info.Size(), changed: changeTime(info)}
	if known && was.mode == s.mode && was.size == s.size && was.changed.Equal(s.changed) {
		return was, nil
	}
	switch s.mode.Type() {
	case os.ModeSymlink:
		s.link, err = root.Readlink(name)
	case 0:
		s.content, s.whole, err = readStart(root, name)
	}
	return s, err
}

func readStart(root *os.Root, name string) (text []byte, whole bool, err error) {
	f, err := openPlain(root, name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, maxContent+1))
	if len(text) > maxContent {
		return text[:maxContent], false, err
	}
	return text, true, err
}

// openPlain opens a regular file to read it, and does not wait for a pipe.
func openPlain(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EINVAL}
	}
	return f, nil
}

// settle compares two snapshots and undoes what happened in between. What programs wrote is moved
// to a folder of ours. Programs may still run, and replace folders by links: nothing outside of the
// roots is touched.
func settle(before, after snapshot, folder string) (list []Aside, err error) {
	var all error
	for dir, now := range after {
		was, ok := before[dir]
		if !ok {
			continue
		}
		changes := compare(was, now)
		if len(changes) == 0 {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		for _, name := range inOrder(changes) {
			change := changes[name]
			a := Aside{Path: filepath.Join(dir, name), Change: change, root: dir, name: name}
			if err := a.undo(root, was[name], folder); err != nil {
				all = errors.Join(all, fmt.Errorf("set %s aside: %w", a.Path, err))
			}
			list = append(list, a)
		}
		root.Close()
	}
	slices.SortFunc(list, func(a, b Aside) int { return strings.Compare(a.Path, b.Path) })
	return list, all
}

// inOrder lists changes in the order in which they are undone: a link that appeared in the place of a
// folder goes before the folder's files come back.
func inOrder(changes map[string]Change) []string {
	appeared := func(name string) int {
		if changes[name] == Appeared {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(maps.Keys(changes), func(a, b string) int {
		return cmp.Or(appeared(a)-appeared(b), strings.Compare(a, b))
	})
}

// compare returns what programs have changed. What they cannot have changed was changed by a person, and
// counts from now on.
func compare(was, now map[string]state) map[string]Change {
	changes := map[string]Change{}
	for name, s := range now {
		if s.locked {
			was[name] = s
		} else if old, ok := was[name]; !ok {
			changes[name] = Appeared
		} else if !old.equal(s) {
			changes[name] = Changed
		}
	}
	for name := range was {
		if _, ok := now[name]; !ok {
			changes[name] = Removed
		}
	}
	return changes
}

// undo puts a control file back to what it was.
func (a *Aside) undo(root *os.Root, was state, folder string) error {
	if a.Change != Removed {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		dir, err := os.MkdirTemp(folder, "")
		if err != nil {
			return err
		}
		to, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer to.Close()
		name := filepath.Base(a.name)
		switch err := move(root, a.name, to, name); {
		case err == nil:
			a.kept = filepath.Join(dir, name)
		case !errors.Is(err, os.ErrNotExist): // what a link had brought is gone with it
			return err
		}
	}
	if a.Change == Appeared {
		return nil
	}
	return was.restore(root, a.name)
}

// move moves a file or a link between folders, which may be on different disks.
func move(from *os.Root, name string, to *os.Root, as string) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case os.ModeSymlink:
		link, err := from.Readlink(name)
		if err != nil {
			return err
		}
		if err := to.Symlink(link, as); err != nil {
			return err
		}
	case 0:
		if err := copyFile(from, name, to, as, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return from.Remove(name)
}

func copyFile(from *os.Root, name string, to *os.Root, as string, mode os.FileMode) error {
	in, err := openPlain(from, name)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeNew(to, as, mode, in)
}

func writeNew(root *os.Root, name string, mode os.FileMode, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// restore writes a control file as it was.
func (s state) restore(root *os.Root, name string) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch {
	case s.mode.Type() == os.ModeSymlink:
		return root.Symlink(s.link, name)
	case s.mode.Type() != 0:
		return nil // a pipe or a socket decides nothing
	case !s.whole:
		return fmt.Errorf("it was larger than %d bytes", maxContent)
	}
	return writeNew(root, name, s.mode.Perm(), bytes.NewReader(s.content))
}

// TakeBack carries out a change that was set aside, because a person has said so.
func (a Aside) TakeBack() error {
	root, err := os.OpenRoot(a.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.RemoveAll(a.name); err != nil || a.kept == "" {
		return err
	}
	from, err := os.OpenRoot(filepath.Dir(a.kept))
	if err != nil {
		return err
	}
	defer from.Close()
	if err := root.MkdirAll(filepath.Dir(a.name), 0o755); err != nil {
		return err
	}
	return move(from, filepath.Base(a.kept), root, a.name)
}
