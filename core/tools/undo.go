package tools

import (
	"context"
	"errors"
	"path/filepath"

	"dragoman/core"
)

// The reasons why a file is left as it is.
var (
	errSince   = errors.New("it has changed since, so it was left as it is")
	errBetween = errors.New("it was changed in between: only what came after that was undone")
)

// Undo implements core.Files. Files are reached through the session's roots, as
// by its tools, and through the editor where it has them; what lies outside of the
// roots is left alone. There is one outcome for each file, in the order in which
// the files were changed last.
func (f *Files) Undo(ctx context.Context, m core.Meta, e core.Editor, changes []core.Diff) []core.RevertedFile {
	s := desk(m, e)
	defer s.Close()
	var order []string
	byPath := map[string][]core.Diff{} // the last change first
	for i := len(changes) - 1; i >= 0; i-- {
		d := changes[i]
		if byPath[d.Path] == nil {
			order = append(order, d.Path)
		}
		byPath[d.Path] = append(byPath[d.Path], d)
	}
	var list []core.RevertedFile
	for _, path := range order {
		r := core.RevertedFile{Path: path}
		if err := s.undo(ctx, path, byPath[path]); err != nil {
			r.Why = err.Error()
		}
		list = append(list, r)
	}
	return list
}

// undo takes the changes of one file back.
func (s *toolset) undo(ctx context.Context, path string, changes []core.Diff) error {
	if !filepath.IsAbs(path) {
		return errors.New("its path is not absolute")
	}
	p, err := s.locate(path)
	switch {
	case err != nil:
		return err
	case p.root == nil:
		return errors.New("it is outside of the workspace, so it was left as it is")
	}
	now, err := s.current(ctx, p)
	if err != nil {
		return err
	}
	to, err := undone(now, changes)
	if to.exists == now.exists && to.text == now.text {
		return err
	}
	if !to.exists {
		return errors.Join(s.remove(ctx, p, now), err)
	}
	if werr := s.replace(ctx, p, now, to.text); werr != nil {
		return werr
	}
	return err
}

// undone works out what a file was before changes, of which the last comes first.
// An error says that not all of them could be taken back from what it is now.
func undone(now content, changes []core.Diff) (content, error) {
	to := content{exists: now.exists, text: now.text}
	var err error
	for _, d := range changes {
		was := content{exists: !d.Created, text: d.Old}
		switch {
		case to.exists && to.text == d.New:
			to, err = was, nil
		case to.exists == was.exists && to.text == was.text: // that is done already
			err = nil
		case to.exists == now.exists && to.text == now.text:
			err = errSince
		default:
			err = errBetween
		}
	}
	return to, err
}

// remove takes away a file that is what was seen.
func (s *toolset) remove(ctx context.Context, p place, seen content) error {
	h, err := s.reach(p, false)
	if err != nil {
		return explain(p, err)
	}
	defer h.close()
	// What the editor has and the disk has not yet is what would be lost.
	disk, err := h.read()
	if err != nil {
		return explain(p, err)
	}
	if now, err := s.current(ctx, p); err != nil || !now.same(seen) || disk.exists && disk.text != seen.text {
		return errors.Join(err, errSince)
	}
	if !disk.exists {
		return nil
	}
	return explain(p, h.dir.Remove(h.base))
}
