package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
)

var errTaken = errors.New("there is something already: nothing was moved")

// maxSummed is how large a file may be that is known again after a move, in bytes.
const maxSummed = 64 << 20

// sum tells what is in a file from anything else; "" for one that is too large.
func (w *workspace) sum(ctx context.Context, p place) (string, error) {
	h, err := p.reach(false)
	if err != nil {
		return "", p.explain(err)
	}
	defer h.close()
	f, info, err := h.regular()
	if err != nil {
		return "", p.explain(err)
	}
	defer f.Close()
	if info.Size() > maxSummed {
		return "", nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(f, maxSummed+1)); err != nil {
		return "", p.explain(err)
	}
	return hex.EncodeToString(hash.Sum(nil)), context.Cause(ctx)
}

// movable looks at a file that is to be moved. One with text that only the editor
// has stays: the editor would save it at its old place.
func (w *workspace) movable(ctx context.Context, p place) (fs.FileInfo, error) {
	h, err := p.reach(false)
	if err != nil {
		return nil, p.explain(err)
	}
	defer h.close()
	info, err := h.stat()
	switch {
	case err != nil:
		return nil, p.explain(err)
	case info.IsDir():
		return nil, p.explain(errors.New("it is a folder: use shell_command"))
	}
	if err := wantRegular(info); err != nil {
		return nil, p.explain(err)
	}
	b, _, err := w.buffer(ctx, p, 0, 0)
	if err != nil {
		return nil, err
	}
	if b != nil {
		if disk, err := h.read(); err == nil && disk.exists && !sameText(b.Text, disk.text) {
			return nil, p.explain(errors.New("the editor has changes of it that are not saved: save them first"))
		}
	}
	return info, context.Cause(ctx)
}

// free makes sure that nothing is at a place.
func (w *workspace) free(q place) error {
	h, err := q.reach(false)
	if err != nil && missing(err) {
		return nil
	}
	if err != nil {
		return q.explain(err)
	}
	defer h.close()
	if _, err = h.stat(); err == nil {
		err = errTaken
	} else if missing(err) {
		err = nil
	}
	return q.explain(err)
}

// move gives a file its new name. Linking it fails where something has appeared
// meanwhile; renaming, for file systems that know no links, would replace it.
func (w *workspace) move(p, q place) error {
	h, err := q.reach(true) // with the folders above it
	if err != nil {
		return q.explain(err)
	}
	h.close()
	if err := w.free(q); err != nil {
		return err
	}
	top, err := p.root.open()
	if err != nil {
		return err
	}
	from, _ := within(p.root.real, p.real)
	to, _ := within(p.root.real, q.real)
	err = top.Link(from, to)
	switch {
	case err == nil:
		return p.explain(top.Remove(from))
	case errors.Is(err, fs.ErrExist):
		return q.explain(errTaken)
	}
	return p.explain(top.Rename(from, to))
}
