package jsonl

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"dragoman/core"
)

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
	talks   []talk   // in their order; lists keep it, so it is replaced and never changed
	renewed []*place // the places with entries that talks lacks

	// While an index is read for the first time:
	known stamps // of an earlier process, for its part of the index
	was   former // of the index before this one
}

// former is what was known of another index.
type former struct {
	places  map[placeKey]*place
	folders map[string]*folder
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
	ranked *indexEntry // the one in catalog.talks; nil: none
	// length is that of its log when it was looked at, if the folder has not changed since; -1: unknown.
	length  int64
	renewed bool // it is in catalog.renewed
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
	was, sessions := former{c.places, c.folders}, fi.Size()/usualEntry
	*c = catalog{places: make(map[placeKey]*place, sessions), order: make([]*place, 0, sessions), folders: map[string]*folder{}}
	if c.was = was; was.folders == nil {
		c.known = readStamps(root, index)
	}
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
			c.file, c.known, c.was = fi, stamps{}, former{}
			c.rank()
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
		c.renew(p, e, sure)
		return
	case p == nil:
		p = c.place(k)
	default:
		c.order[p.at] = nil
		c.moved++
	}
	p.at, p.base = len(c.order), e.Log
	c.order = append(c.order, p)
	c.renew(p, e, sure)
	if c.moved > len(c.places)+1000 {
		c.pack()
	}
}

// place makes a place.
func (c *catalog) place(k placeKey) *place {
	p := &place{length: -1}
	if was := c.was.places[k]; was != nil {
		p.key, p.length = was.key, was.length
	} else {
		p.key = keyOf(k.principal, k.id)
	}
	c.places[k] = p
	p.folder = c.folder(p.key[:2])
	p.folder.places = append(p.folder.places, p)
	return p
}

// renew sets the entry of a place.
func (c *catalog) renew(p *place, e *indexEntry, sure bool) {
	p.entry, p.folder.agrees = e, false
	if sure {
		p.length = e.Log
	}
	if !p.renewed {
		p.renewed = true
		c.renewed = append(c.renewed, p)
	}
}

func (c *catalog) folder(name string) *folder {
	f := c.folders[name]
	if f == nil {
		if was := c.was.folders[name]; was != nil {
			f = &folder{name: was.name, at: was.at, owned: was.owned}
		} else {
			f = c.known.folder(strings.Clone(name))
		}
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
