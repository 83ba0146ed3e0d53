package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"

	"dragoman/core"
)

const (
	indexName = "dragoman index"
	// indexSlack is the number of bytes that an index may grow beyond twice the size that
	// it had when it was written.
	indexSlack = 256 << 10
)

// indexHeader is the first line of the index. Size is the number of bytes that were
// written with it.
type indexHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Size    int64  `json:"size"`
}

// indexEntry is any other line: a summary, and the length of the log at that time.
type indexEntry struct {
	Principal core.Principal `json:"p"`
	Log       int64          `json:"n"`
	Summary   core.Summary   `json:"s"`
	Keeps     bool           `json:"k,omitempty"` // derived from the log, so the session keeps its place in lists
}

// Note implements core.Store.
func (s *Store) Note(ctx context.Context, p core.Principal, sum core.Summary) error {
	err := checkID(p, sum.ID)
	var f files
	if err == nil {
		f, err = s.session(p, sum.ID, false)
	}
	var fi fs.FileInfo
	if err == nil {
		fi, err = os.Lstat(f.log)
		if errors.Is(err, fs.ErrNotExist) {
			err = core.ErrNotFound
		}
	}
	if err == nil {
		err = s.note(ctx, p, sum, fi.Size(), nil)
	}
	if err != nil {
		return fmt.Errorf("note session %q: %w", sum.ID, err)
	}
	return nil
}

// note appends an entry to the index, for a log of size bytes. With create the log is created after that, before
// anyone else may change the index: a session that is there is listed.
func (s *Store) note(
	ctx context.Context,
	p core.Principal,
	sum core.Summary,
	size int64,
	create func() error,
) error {
	return s.changeIndex(ctx, func(root string) error {
		large, err := s.appendEntries(ctx, root, false, indexEntry{Principal: p, Log: size, Summary: sum})
		if err == nil && create != nil {
			err = create()
		}
		if err == nil && large { // the entry is written; if this fails the next note tries again
			_ = s.compactIndex(ctx, root)
			_ = s.sweep(ctx, root)
		}
		return err
	})
}

func readIndexHeader(l *lines) (h indexHeader, ok bool) {
	line, err := l.read()
	object, good := unseal(line)
	return h, err == nil && good && h.parse(object)
}

func isIndexHeader(object []byte) bool { return new(indexHeader).parse(object) }

func (h *indexHeader) parse(object []byte) bool {
	return json.Unmarshal(object, h) == nil && h.Format == indexName && h.Version == 1
}

func (e indexEntry) line() ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	if b = seal(b, 0); len(b) > maxLine {
		return nil, errTooLong
	}
	return b, nil
}

// tailLine is a line of a file that is read backwards.
type tailLine struct {
	text  []byte
	at    int64
	whole bool // it has a line end
}

// backwards yields the lines of the first size bytes of a file, the last first, each
// valid until the next.
func backwards(file io.ReaderAt, size int64) iter.Seq2[tailLine, error] {
	return func(yield func(tailLine, error) bool) {
		var buf []byte // from at on
		at, whole, piece := size, false, int64(firstPiece)
		for {
			i := bytes.LastIndexByte(buf, '\n')
			if i < 0 && at > 0 {
				if len(buf) > maxLine {
					yield(tailLine{}, errTooLong)
					return
				}
				n := min(at, piece)
				piece = min(2*piece, largePiece)
				more := make([]byte, n, int(n)+len(buf))
				if _, err := file.ReadAt(more, at-n); err != nil {
					yield(tailLine{}, err)
					return
				}
				buf, at = append(more, buf...), at-n
				continue
			}
			if text := buf[i+1:]; whole || len(text) > 0 {
				if !yield(tailLine{text, at + int64(i) + 1, whole}, nil) {
					return
				}
			}
			if i < 0 {
				return
			}
			buf, whole = buf[:i], true
		}
	}
}

// entries yields an index's newest entry of each session, the last used first. errBad
// means that the index is damaged.
func entries(index *os.File) iter.Seq2[indexEntry, error] {
	type key struct {
		p  core.Principal
		id core.SessionID
	}
	return func(yield func(indexEntry, error) bool) {
		fi, err := index.Stat()
		if err != nil {
			yield(indexEntry{}, err)
			return
		}
		seen, lookedUp := map[key]bool{}, map[key]indexEntry{}
		for line, err := range backwards(index, fi.Size()) {
			if err == nil && !line.whole { // a crash, or a write in progress
				continue
			}
			var e indexEntry
			object, ok := unseal(line.text)
			switch {
			case err != nil && !errors.Is(err, errTooLong):
				yield(indexEntry{}, err)
				return
			case err == nil && ok && line.at == 0 && isIndexHeader(object):
				return
			case err == nil && ok:
				e, ok = decodeEntry(object)
			}
			if err != nil || !ok {
				yield(indexEntry{}, errBad)
				return
			}
			k := key{e.Principal, e.Summary.ID}
			newer, ok := lookedUp[k]
			switch {
			case seen[k]:
				continue
			case e.Keeps: // it has the place of the entry that it replaces
				if !ok {
					e.Keeps = false
					lookedUp[k] = e
				}
				continue
			case ok && newer.Log >= e.Log: // else the session has changed meanwhile
				e = newer
			}
			delete(lookedUp, k)
			seen[k] = true
			if !yield(e, nil) {
				return
			}
		}
		yield(indexEntry{}, errBad) // it has no header
	}
}

// compact rewrites the index without obsolete entries.
func (s *Store) compact(ctx context.Context) error {
	return s.changeIndex(ctx, func(root string) error { return s.compactIndex(ctx, root) })
}

func (s *Store) compactIndex(ctx context.Context, root string) error {
	all, err := s.liveEntries(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, errBad):
		return s.rebuildIndex(ctx, root)
	case err != nil:
		return err
	}
	slices.Reverse(all)
	return s.writeIndex(root, all)
}

// liveEntries reads the index, without sessions that were deleted.
func (s *Store) liveEntries(root string) (all []indexEntry, err error) {
	index, err := openFile(indexPath(root), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = index.Close() }()
	for e, err := range entries(index) {
		if err != nil {
			return nil, err
		}
		if exists(s.files(root, e.Principal, e.Summary.ID).log) {
			all = append(all, e)
		}
	}
	return all, nil
}
