package jsonl

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folder is a folder of sessions.
type folder struct {
	name   string
	places []*place
	at     time.Time        // its modification time when it was looked at; zero: it may change without another one
	owned  map[string]bool  // keys of sessions with an owner then, but for those that are known to be dead
	owners map[string]owner // the owners that were read since
	listed bool             // it was looked at for the current list
	unread bool             // its owners were not read since it has changed
	agrees bool             // as long as at stays: its logs are those of the entries, and none has an owner
}

// unsettled reports whether a folder may change in this moment without getting another modification time. File
// systems that count in whole seconds have steps of up to two; others have those of the system's clock.
func unsettled(at time.Time) bool {
	if at.Nanosecond() == 0 {
		return time.Since(at) < 3*time.Second
	}
	return time.Since(at) < 100*time.Millisecond
}

// look looks at the folder, once for a list: what was known about its sessions counts as long as it has not changed.
// A process that claims a session makes a file in its folder before it writes.
func (f *folder) look(root string) {
	if f.listed {
		return
	}
	f.listed = true
	dir := f.path(root)
	fi, err := os.Lstat(dir)
	if err == nil && !f.at.IsZero() && fi.ModTime().Equal(f.at) {
		return
	}
	f.at, f.owned, f.owners, f.agrees, f.unread = time.Time{}, nil, nil, false, err == nil
	for _, p := range f.places {
		p.length = -1
	}
	if err == nil && !unsettled(fi.ModTime()) {
		f.at = fi.ModTime()
	}
}

func (f *folder) path(root string) string { return root + sessionsIn + f.name }

const sessionsIn = string(filepath.Separator) + "sessions" + string(filepath.Separator)

// readOwners reads which sessions have an owner, if the folder has changed.
func (f *folder) readOwners(root string) {
	if !f.unread {
		return
	}
	f.unread = false
	names, err := namesIn(f.path(root))
	if err != nil {
		f.at = time.Time{}
		return
	}
	for _, name := range names {
		if key, isOwner := strings.CutSuffix(name, ".owner"); isOwner {
			if f.owned == nil {
				f.owned = map[string]bool{}
			}
			f.owned[key] = true
		}
	}
}

// namesIn lists a folder, in no order.
func namesIn(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	return d.Readdirnames(-1)
}

// doubtful looks at the logs that may differ from their entries, and adds the sessions of those that do.
func (f *folder) doubtful(root string, in *doubts) {
	if f.agrees {
		return
	}
	f.readOwners(root)
	agrees := true
	var dir *os.File
	for _, p := range f.places {
		owned := len(f.owned) > 0 && f.owned[p.key]
		if p.length == p.entry.Log && !owned {
			continue
		}
		if dir == nil {
			d, err := os.Open(f.path(root))
			if err != nil {
				return
			}
			defer d.Close() //nolint:errcheck // it was only read
			dir = d
		}
		length, at, err := statIn(dir, p.key+".jsonl")
		in.looked++
		switch {
		case errors.Is(err, fs.ErrNotExist):
			agrees = false
			in.gone = append(in.gone, p.key)
			continue
		case err == nil:
			p.length = length
		}
		if err != nil || length != p.entry.Log {
			agrees = false
			t := talkOf(p.entry, p)
			t.at = max(t.at, at)
			in.all = append(in.all, t)
		} else if owned && f.dead(root, p.key) {
			delete(f.owned, p.key)
		}
	}
	f.agrees = agrees && !f.at.IsZero() && len(f.owned) == 0
}

// dead reports whether a session's owner is dead: nobody writes its log before there is another one.
func (f *folder) dead(root, key string) bool {
	o, known := f.owners[key]
	if !known {
		o = readOwner(filepath.Join(f.path(root), key+".owner"))
		if f.owners == nil {
			f.owners = map[string]owner{}
		}
		f.owners[key] = o
	}
	return o.PID != 0 && !o.alive()
}

// trusted reports whether the session's entry is that of its log, without looking at it.
func (p *place) trusted() bool {
	return p.length == p.entry.Log && !p.folder.at.IsZero() && !p.folder.owned[p.key]
}
