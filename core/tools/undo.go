package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"dragoman/core"
)

// The reasons why a file is left as it is.
var (
	errSince   = errors.New("it has changed since, so it was left as it is")
	errBetween = errors.New("it was changed in between: only what came after that was undone")
)

// undo takes changes back, the last one first: a file that is what a change left becomes
// what it was before, or is moved back. Files are reached through the roots, and through
// the editor where it has them; what lies outside of the roots is left alone. There is
// one outcome for each file, in the order in which the files were changed last; a file
// that was moved is where it was before.
func (w *workspace) undo(ctx context.Context, changes []core.Diff) []core.RevertedFile {
	var done outcomes
	// A move parts what is behind it from what is in front of it: names mean other
	// files there.
	for end := len(changes); end > 0; {
		begin := end
		for begin > 0 && changes[begin-1].From == "" {
			begin--
		}
		w.undoEdits(ctx, changes[begin:end], &done)
		if begin > 0 {
			begin--
			done.add(changes[begin].From, w.undoMove(ctx, changes[begin]))
		}
		end = begin
	}
	return done.list
}

// outcomes is what became of each file. Of several the first failure counts.
type outcomes struct{ list []core.RevertedFile }

func (o *outcomes) add(path string, err error) {
	i := slices.IndexFunc(o.list, func(r core.RevertedFile) bool { return r.Path == path })
	if i < 0 {
		i = len(o.list)
		o.list = append(o.list, core.RevertedFile{Path: path})
	}
	if err != nil && o.list[i].Why == "" {
		o.list[i].Why = err.Error()
	}
}

// undoEdits takes changes back among which there is no move.
func (w *workspace) undoEdits(ctx context.Context, changes []core.Diff, done *outcomes) {
	var order []string
	byPath := map[string][]core.Diff{} // the last change first
	for _, d := range slices.Backward(changes) {
		if byPath[d.Path] == nil {
			order = append(order, d.Path)
		}
		byPath[d.Path] = append(byPath[d.Path], d)
	}
	for _, path := range order {
		done.add(path, w.undoFile(ctx, path, byPath[path]))
	}
}

// undoMove moves a file back, if it is the one that was moved, as it was then.
func (w *workspace) undoMove(ctx context.Context, d core.Diff) error {
	p, err := w.workspaceFile(d.Path)
	if err != nil {
		return err
	}
	q, err := w.workspaceFile(d.From)
	if err != nil {
		return err
	}
	if p.root != q.root {
		return errOutside
	}
	if d.Sum == "" {
		return fmt.Errorf("it is too large to tell whether it has changed since, so it was left at %s", visible(p.show))
	}
	if _, err := w.movable(ctx, p); err != nil {
		return err
	}
	switch sum, err := w.sum(ctx, p); {
	case err != nil:
		return err
	case sum != d.Sum:
		return fmt.Errorf("%s has changed since, so it was left there", visible(p.show))
	}
	if err := w.free(q); err != nil {
		return err
	}
	return w.move(p, q)
}

var errOutside = errors.New("it is outside of the workspace, so it was left as it is")

// workspaceFile locates a file that must lie in the workspace.
func (w *workspace) workspaceFile(path string) (place, error) {
	if !filepath.IsAbs(path) {
		return place{}, errors.New("its path is not absolute")
	}
	p, err := w.locate(path)
	if err == nil && p.root == nil {
		err = errOutside
	}
	return p, err
}

// undoFile takes the changes of one file back.
func (w *workspace) undoFile(ctx context.Context, path string, changes []core.Diff) error {
	p, err := w.workspaceFile(path)
	if err != nil {
		return err
	}
	now, err := w.current(ctx, p)
	if err != nil {
		return err
	}
	to, err := undone(now, changes)
	if to.exists == now.exists && to.text == now.text {
		return err
	}
	if !to.exists {
		return errors.Join(w.remove(ctx, p, now), err)
	}
	if _, werr := w.replace(ctx, p, now, to.text); werr != nil {
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
func (w *workspace) remove(ctx context.Context, p place, seen content) error {
	h, err := p.reach(false)
	if err != nil {
		return p.explain(err)
	}
	defer h.close()
	// What the editor has and the disk has not yet is what would be lost.
	disk, err := h.read()
	if err != nil {
		return p.explain(err)
	}
	if now, err := w.current(ctx, p); err != nil || !now.same(seen) || disk.exists && disk.text != seen.text {
		return errors.Join(err, errSince)
	}
	if !disk.exists {
		return nil
	}
	return p.explain(h.dir.Remove(h.base))
}
