package files

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

// Sum tells what is in a file from anything else; "" for one that is too large.
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
		if disk, err := h.read(); err == nil && disk.Exists && !sameText(b.Text, disk.Text) {
			return nil, p.Explain(errors.New("the editor has changes of it that are not saved: save them first"))
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
	if _, err = h.Stat(); err == nil {
		err = errTaken
	} else if Missing(err) {
		err = nil
	}
	return p.Explain(err)
}

// MoveTo gives a file of a root its new name in the same root, and creates the folders above it. Linking it fails where something has appeared
// meanwhile; renaming, for file systems that know no links, would replace it.
func (p Place) MoveTo(q Place) error {
	h, err := q.reach(true) // with the folders above it
	if err != nil {
		return q.Explain(err)
	}
	h.Close()
	if err := q.Free(); err != nil {
		return err
	}
	top, err := p.Root.Open()
	if err != nil {
		return err
	}
	from, _ := Within(p.Root.Real, p.Real)
	to, _ := Within(p.Root.Real, q.Real)
	err = top.Link(from, to)
	switch {
	case err == nil:
		return p.Explain(top.Remove(from))
	case errors.Is(err, fs.ErrExist):
		return q.Explain(errTaken)
	}
	return p.Explain(top.Rename(from, to))
}
