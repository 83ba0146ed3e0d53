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
	spare   []place  // for the next sessions

	// While an index is read for the first time:
	known stamps // of an earlier process, for its part of the index
	was   former // of the index before this one
}

// former holds the places and folders of the index before this one.
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
	unread  int  // its number in pieces, from one; zero: it has none
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
	*c = catalog{
		places:  make(map[placeKey]*place, sessions),
		order:   make([]*place, 0, sessions),
		renewed: make([]*place, 0, sessions),
		folders: map[string]*folder{},
	}
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
	var unread pieces
	err := c.readLines(ctx, l, &unread)
	if !unread.decode() {
		return errBad
	}
	if err != nil {
		return err
	}
	c.file, c.known, c.was = fi, stamps{}, former{}
	c.rank()
	return c.ends(l, index)
}

// readLines reads the rest of the index. Entries that it has added to unread are not decoded yet.
func (c *catalog) readLines(ctx context.Context, l *lines, unread *pieces) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line, err := l.read()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, errUnfinished): // a crash, or a write in progress
			return nil
		case errors.Is(err, errTooLong):
			return errBad
		case err != nil:
			return err
		}
		object, ok := unseal(line)
		var head entryHead
		if ok {
			head, ok = headOf(object)
		}
		if !ok {
			return errBad
		}
		if p := c.add(head, l.next <= c.known.Size); p != nil {
			unread.add(p, object)
		}
		if len(unread.text) >= readAtOnce && !unread.decode() {
			return errBad
		}
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

// add applies an entry by its head, and returns the place that gets it; nil: none does. sure says that its log agreed
// with it, if its folder has not changed.
func (c *catalog) add(e entryHead, sure bool) *place {
	p := c.places[placeKey{core.Principal(e.principal), core.SessionID(e.id)}]
	switch {
	case e.keeps && (p == nil || e.log < p.base): // the session was deleted, or has changed meanwhile
		return nil
	case e.keeps:
	case p == nil:
		p = c.place(placeKey{core.Principal(e.principal), core.SessionID(e.id)})
		c.put(p, e)
	default:
		c.order[p.at] = nil
		c.moved++
		c.put(p, e)
	}
	p.folder.agrees = false
	if sure {
		p.length = e.log
	}
	if !p.renewed {
		p.renewed = true
		c.renewed = append(c.renewed, p)
	}
	return p
}

// put gives a place to the session that was used last.
func (c *catalog) put(p *place, e entryHead) {
	p.at, p.base = len(c.order), e.log
	c.order = append(c.order, p)
	if c.moved > len(c.places)+1000 {
		c.pack()
	}
}

// place makes a place.
func (c *catalog) place(k placeKey) *place {
	if len(c.spare) == 0 {
		c.spare = make([]place, min(1+len(c.places), 256))
	}
	p := &c.spare[0]
	p.length, c.spare = -1, c.spare[1:]
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

// readAtOnce limits the part of an index that is decoded together, in bytes.
const readAtOnce = 128 << 10

// pieces are entries that have a place and are not decoded yet: often newer ones follow. Those that are decoded
// together share their memory.
type pieces struct {
	text   []byte
	pieces []piece
}

type piece struct {
	place    *place
	from, to int // in pieces.text
}

// add adds the newest entry of a place.
func (u *pieces) add(p *place, object []byte) {
	if p.unread == 0 {
		u.pieces = append(u.pieces, piece{place: p})
		p.unread = len(u.pieces)
	}
	one := &u.pieces[p.unread-1]
	one.from = len(u.text)
	u.text = append(u.text, object...)
	one.to = len(u.text)
}

// decode decodes the entries and gives them to their places. It reports whether it could.
func (u *pieces) decode() bool {
	size := 0
	for _, one := range u.pieces {
		size += one.to - one.from
	}
	var text strings.Builder
	text.Grow(size)
	all, ok := make([]indexEntry, len(u.pieces)), true
	var roots []string
	for i, one := range u.pieces {
		from := text.Len()
		text.Write(u.text[one.from:one.to])
		ok = all[i].decode(text.String()[from:], roots) && ok
		roots = all[i].Summary.Roots
		one.place.entry, one.place.unread = &all[i], 0
	}
	u.text, u.pieces = u.text[:0], u.pieces[:0]
	return ok
}
