package jsonl

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dragoman/core"
)

// settled is the age from which the modification time of a folder says that nothing has changed in it since: file
// systems count in steps of up to two seconds.
const settled = 3 * time.Second

// catalog is the content of the index in memory, as far as it was read, and which logs are known to agree with it.
// It belongs to whoever has Store.reading.
type catalog struct {
	file os.FileInfo // of the index; nil: nothing was read
	size int64       // bytes read: whole lines
	end  string      // the last of them, to recognize the index

	places  map[placeKey]*place
	order   []*place // the one used last at the end; nil: it has another place by now
	moved   int      // how many are nil
	folders map[string]*folder
	known   stamps // of an earlier process, while its part of the index is read
}

// usualEntry is the usual length of a line of the index.
const usualEntry = 250

type placeKey struct {
	principal core.Principal
	id        core.SessionID
}

// place is a session's place in the order of lists.
type place struct {
	at     int // in catalog.order
	folder *folder
	key    string      // of the session's files
	base   int64       // indexEntry.Log of the entry that has the place
	entry  *indexEntry // the newest; it never changes
	// sure: its log had the length of the entry when it was looked at, and its folder has not changed since.
	sure bool
}

// folder is a folder of sessions.
type folder struct {
	name   string
	places []*place
	at     time.Time       // its modification time when it was looked at; zero: what it says does not count
	owned  map[string]bool // keys of sessions with an owner then
	listed bool            // it was looked at for the current list
}

// update reads what was added to the index in root. errBad: it is damaged.
func (c *catalog) update(ctx context.Context, root string, index *os.File) error {
	fi, err := index.Stat()
	if err != nil {
		return err
	}
	if c.file != nil && c.follows(index, fi) {
		err := c.read(ctx, index, fi)
		if !errors.Is(err, errBad) {
			return err
		}
	}
	sessions := fi.Size() / usualEntry
	*c = catalog{places: make(map[placeKey]*place, sessions), order: make([]*place, 0, sessions), folders: map[string]*folder{}}
	c.known = readStamps(root, index)
	if err = c.read(ctx, index, fi); err != nil {
		*c = catalog{}
	}
	return err
}

// follows reports whether the index begins with what was read of it.
func (c *catalog) follows(index *os.File, now os.FileInfo) bool {
	if !os.SameFile(now, c.file) || now.Size() < c.size {
		return false
	}
	end := make([]byte, len(c.end))
	_, err := index.ReadAt(end, c.size-int64(len(end)))
	return err == nil && string(end) == c.end
}

func (c *catalog) read(ctx context.Context, index *os.File, fi os.FileInfo) error {
	l := newLines(io.NewSectionReader(index, 0, fi.Size()))
	if c.size == 0 {
		if _, ok := readIndexHeader(l); !ok {
			return errBad
		}
		if err := c.ends(l, index); err != nil {
			return err
		}
	}
	l.goTo(c.size)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line, err := l.read()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, errUnfinished): // a crash, or a write in progress
			c.file, c.known = fi, stamps{}
			return c.ends(l, index)
		case errors.Is(err, errTooLong):
			return errBad
		case err != nil:
			return err
		}
		object, ok := unseal(line)
		e, decoded := indexEntry{}, false
		if ok {
			e, decoded = decodeEntry(object)
		}
		if !decoded {
			return errBad
		}
		c.add(&e, l.next <= c.known.Size)
	}
}

// ends remembers that everything before the last line that l has begun was read.
func (c *catalog) ends(l *lines, index io.ReaderAt) error {
	c.size = l.next
	end := make([]byte, min(c.size, int64(sumLen)+1))
	_, err := index.ReadAt(end, c.size-int64(len(end)))
	c.end = string(end)
	return err
}

// add applies an entry. sure says that its log agreed with it, if its folder has not changed.
func (c *catalog) add(e *indexEntry, sure bool) {
	k := placeKey{e.Principal, e.Summary.ID}
	p := c.places[k]
	switch {
	case e.Keeps && (p == nil || e.Log < p.base): // the session was deleted, or has changed meanwhile
		return
	case e.Keeps:
		p.entry, p.sure = e, sure
		return
	case p == nil:
		p = &place{key: keyOf(e.Principal, e.Summary.ID)}
		c.places[k] = p
		p.folder = c.folder(p.key[:2])
		p.folder.places = append(p.folder.places, p)
	default:
		c.order[p.at] = nil
		c.moved++
	}
	p.at, p.base, p.entry, p.sure = len(c.order), e.Log, e, sure
	c.order = append(c.order, p)
	if c.moved > len(c.places)+1000 {
		c.pack()
	}
}

func (c *catalog) folder(name string) *folder {
	f := c.folders[name]
	if f == nil {
		f = c.known.folder(strings.Clone(name))
		c.folders[f.name] = f
	}
	return f
}

// pack removes what has moved from the order.
func (c *catalog) pack() {
	kept := c.order[:0]
	for _, p := range c.order {
		if p != nil {
			p.at = len(kept)
			kept = append(kept, p)
		}
	}
	clear(c.order[len(kept):])
	c.order, c.moved = kept, 0
}

// look looks at the folder, once for a list: what was known about its sessions counts as long as it has not changed.
// A process that claims a session makes a file in its folder before it writes.
func (f *folder) look(root string) {
	if f.listed {
		return
	}
	f.listed = true
	dir := filepath.Join(root, "sessions", f.name)
	fi, err := os.Lstat(dir)
	if err == nil && !f.at.IsZero() && fi.ModTime().Equal(f.at) {
		return
	}
	f.at, f.owned = time.Time{}, nil
	for _, p := range f.places {
		p.sure = false
	}
	if err != nil || time.Since(fi.ModTime()) < settled {
		return
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	f.at, f.owned = fi.ModTime(), map[string]bool{}
	for _, name := range names {
		if key, kind, _ := strings.Cut(name.Name(), "."); kind == "owner" {
			f.owned[key] = true
		}
	}
}

// trusted reports whether the session's entry is that of its log, without looking at it.
func (p *place) trusted() bool { return p.sure && !p.folder.at.IsZero() && !p.folder.owned[p.key] }
