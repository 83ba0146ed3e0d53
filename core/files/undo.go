package files

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"dragoman/core"
	"dragoman/core/display"
)

// The reasons why a file is left as it is.
var (
	errSince   = errors.New("it has changed since, so it was not touched")
	errBetween = errors.New("it was changed in between: only what came after that was undone")
)

// Undo reverts changes, the last one first: a file that is as a change left it gets its old
// content or its old name back. Files are reached through the roots, and through the editor
// where it has them; files outside of the roots are not touched. There is one outcome for
// each file, in the order of the last changes; a moved file is listed under its old name.
func (w *Workspace) Undo(ctx context.Context, changes []core.Diff) []core.RevertedFile {
	var done outcomes
	// A move separates the changes after it from those before it: the same name means
	// different files.
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

// outcomes lists the result for each file. Of several results the first failure counts.
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
func (w *Workspace) undoEdits(ctx context.Context, changes []core.Diff, done *outcomes) {
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
func (w *Workspace) undoMove(ctx context.Context, d core.Diff) error {
	p, err := w.workspaceFile(d.Path)
	if err != nil {
		return err
	}
	q, err := w.workspaceFile(d.From)
	if err != nil {
		return err
	}
	if p.Root != q.Root {
		return errOutside
	}
	if d.Sum == "" {
		return fmt.Errorf(
			"it is too large to tell whether it has changed since, so it was left at %s",
			display.Visible(p.Show),
		)
	}
	if _, err := w.Movable(ctx, p); err != nil {
		return err
	}
	switch sum, err := p.Sum(ctx); {
	case err != nil:
		return err
	case sum != d.Sum:
		return fmt.Errorf("%s has changed since, so it was left there", display.Visible(p.Show))
	}
	if err := q.Free(); err != nil {
		return err
	}
	return w.Move(p, q)
}

var errOutside = errors.New("it is outside the workspace, so it was not touched")

// workspaceFile locates a file that must lie in the workspace.
func (w *Workspace) workspaceFile(path string) (Place, error) {
	if !filepath.IsAbs(path) {
		return Place{}, errors.New("its path is not absolute")
	}
	p, err := w.Locate(path)
	if err == nil && p.Root == nil {
		err = errOutside
	}
	return p, err
}

// undoFile takes the changes of one file back.
func (w *Workspace) undoFile(ctx context.Context, path string, changes []core.Diff) error {
	p, err := w.workspaceFile(path)
	if err != nil {
		return err
	}
	for _, d := range changes { // an editor may still have one of these texts
		if !d.Created {
			w.host.Texts().Add(p.Real, sumOf(d.Old))
		}
		w.host.Texts().Add(p.Real, sumOf(d.New))
	}
	now, err := w.Current(ctx, p)
	if err != nil {
		return err
	}
	to, err := undone(now, changes)
	follows := now.is == late && now.Exists && err == nil && w.editorWrites(p) // the buffer does, then
	if to.Exists == now.Exists && to.Text == now.Text && !follows {
		return err
	}
	if !to.Exists {
		return errors.Join(w.remove(ctx, p, now), err)
	}
	if _, werr := w.Replace(ctx, p, now, to.Text); werr != nil {
		return werr
	}
	return err
}

// undone returns the content of a file before changes, of which the last comes first. An
// error means that not all of them can be reverted from the current content.
func undone(now Content, changes []core.Diff) (Content, error) {
	to := Content{Exists: now.Exists, Text: now.Text}
	var err error
	for _, d := range changes {
		was := Content{Exists: !d.Created, Text: d.Old}
		switch {
		case to.Exists && to.Text == d.New:
			to, err = was, nil
		case to.Exists == was.Exists && to.Text == was.Text: // that is done already
			err = nil
		case to.Exists == now.Exists && to.Text == now.Text:
			err = errSince
		default:
			err = errBetween
		}
	}
	return to, err
}

// remove removes a file if its content is still seen.
func (w *Workspace) remove(ctx context.Context, p Place, seen Content) error {
	h, err := p.Reach()
	if err != nil {
		return p.Explain(err)
	}
	defer h.Close()
	// Unsaved text of the editor would be lost.
	disk, err := h.read()
	if err != nil {
		return p.Explain(err)
	}
	if now, err := w.Current(ctx, p); err != nil || !now.same(seen) || disk.Exists && disk.Text != seen.Text {
		return errors.Join(err, errSince)
	}
	if !disk.Exists {
		return nil
	}
	return p.Explain(h.dir.Remove(h.base))
}
