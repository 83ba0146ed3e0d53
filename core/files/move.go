package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
)

var errTaken = errors.New("there is something already: nothing was moved")

// maxSummed is the largest size, in bytes, of a file that is recognised after a move.
const maxSummed = 64 << 20

// Sum returns a checksum of a file's content; "" for a file that is too large.
func (p Place) Sum(ctx context.Context) (string, error) {
	h, err := p.Reach()
	if err != nil {
		return "", p.Explain(err)
	}
	defer h.Close()
	f, info, err := h.Regular()
	if err != nil {
		return "", p.Explain(err)
	}
	defer f.Close()
	if info.Size() > maxSummed {
		return "", nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(f, maxSummed+1)); err != nil {
		return "", p.Explain(err)
	}
	return hex.EncodeToString(hash.Sum(nil)), context.Cause(ctx)
}

// Movable looks at a file that is to be moved. One with text that only the editor
// has stays: the editor would save it at its old place.
func (w *Workspace) Movable(ctx context.Context, p Place) (fs.FileInfo, error) {
	h, err := p.Reach()
	if err != nil {
		return nil, p.Explain(err)
	}
	defer h.Close()
	info, err := h.Stat()
	if err == nil {
		err = CheckRegular(info)
	}
	if err != nil {
		return nil, p.Explain(err)
	}
	b, _, err := w.Buffer(ctx, p, 0, 0)
	if err != nil {
		return nil, err
	}
	if b != nil {
		if disk, err := h.read(); err == nil && disk.Exists {
			if disk.is = w.relate(p, disk, b.Text); !disk.settled() {
				return nil, p.Explain(errors.New("the editor has changes of it that are not saved: save them first"))
			}
			w.looked(p, disk)
		}
	}
	return info, context.Cause(ctx)
}

// Free makes sure that nothing is at a place.
func (p Place) Free() error {
	h, err := p.Reach()
	if err != nil && Missing(err) {
		return nil
	}
	if err != nil {
		return p.Explain(err)
	}
	defer h.Close()
	return p.Explain(h.free())
}

// free is Free for a place that was reached.
func (h Handle) free() error {
	switch _, err := h.Stat(); {
	case err == nil:
		return errTaken
	case Missing(err):
		return nil
	default:
		return err
	}
}

// Move is MoveTo, and notes that the texts of the one are those of the other.
func (w *Workspace) Move(p, q Place) error {
	err := p.MoveTo(q)
	if err == nil {
		w.host.Texts().Copy(p.Real, q.Real)
	}
	return err
}

// MoveTo gives a file of a root its new name in the same root, and creates the folders
// above it. Both are reached as for reading and writing, so a link that appears on the
// way takes the file nowhere.
func (p Place) MoveTo(q Place) error {
	to, err := q.reach(true)
	if err == nil {
		defer to.Close()
		err = to.free()
	}
	if err != nil {
		return q.Explain(err)
	}
	from, err := p.Reach()
	if err != nil {
		return p.Explain(err)
	}
	defer from.Close()
	file, err := from.Stat()
	if err != nil {
		return p.Explain(err)
	}
	m := move{from: from, to: to, p: p, q: q}
	// Linking fails where something has appeared meanwhile; renaming, for file systems
	// that know no links, would replace it.
	switch err := m.link(); {
	case errors.Is(err, fs.ErrExist):
		return q.Explain(errTaken)
	case err != nil:
		return p.Explain(m.rename())
	}
	if now, err := to.Stat(); err != nil || !os.SameFile(now, file) {
		return p.Explain(errors.Join(errSwapped, to.dir.Remove(to.base)))
	}
	return p.Explain(from.dir.Remove(from.base))
}

// move is a file's way from one place to another, both of them reached.
type move struct {
	from, to Handle
	p, q     Place
}
