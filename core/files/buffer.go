package files

import (
	"context"
	"errors"
	"strings"

	"dragoman/core/ide"
)

// maxVersions limits the files whose versions are remembered.
const maxVersions = 10_000

// Request asks the editor about a file of which it may have a newer text than the disk.
// Without a reply the disk is used: no editor offers the request, or the editor does not
// have the file, which why explains. A refusal of the editor is an error.
func (w *Workspace) Request(ctx context.Context, p Place, able func(ide.Caps) bool, call ide.Call) (
	reply ide.Reply, why string, err error,
) {
	e := ide.Of(w.host.Editor(p.Name))
	if e == nil || p.Spilled || p.Mounted || !able(e.Caps()) {
		return nil, "", nil
	}
	wait, stop := context.WithTimeout(ctx, ide.Wait)
	defer stop()
	reply, err = e.Do(wait, call)
	why, err = ide.Lacking(ctx, wait, err)
	if err != nil {
		return nil, "", p.Explain(err)
	}
	if why != "" {
		return nil, why, nil
	}
	return reply, "", nil
}

// Buffer asks the editor for a file's text; nil: it does not have it.
func (w *Workspace) Buffer(ctx context.Context, p Place, line, limit int) (*ide.FileText, string, error) {
	reply, why, err := w.Request(ctx, p, func(c ide.Caps) bool { return c.ReadFile },
		ide.ReadFile{Session: w.host.Meta().ID, Path: p.Name, Line: line, Limit: limit})
	if t, ok := reply.(ide.FileText); ok {
		return &t, "", nil
	}
	return nil, why, err
}

// maxBuffer is the size up to which an editor is asked for the whole of a file.
const maxBuffer = 4 << 20

// Part asks the editor for lines of a file, and notes the version of their text; nil: what is on the
// disk counts. Of a large file, by its size on the disk, it asks for the lines alone, else for the
// whole text, because some editors ignore the range. part says that the text begins with the line
// first. disk is what is on the disk; nil: the texts are not compared. note is for the model, about
// the source of the text.
func (w *Workspace) Part(ctx context.Context, p Place, first, count int, disk *Content, size int64) (
	t *ide.FileText, part bool, note string, err error,
) {
	if size <= maxBuffer {
		first, count = 0, 0
	} else {
		count++ // one more shows that there are more
	}
	t, why, err := w.Buffer(ctx, p, first, count)
	is := same
	if t != nil && disk != nil && first == 0 && (t.Text != "" || disk.Exists) {
		is = w.relate(p, *disk, t.Text)
	}
	if err == nil && disk != nil {
		disk.is = is
		w.looked(p, *disk)
	}
	if t == nil || is == late {
		w.Saw(p, 0)
		if why != "" {
			why += ", so this is what is on the disk"
		}
		return nil, false, why, err
	}
	w.Saw(p, t.Version)
	if is == parted {
		note = "this is the editor's text, which is not saved; " + errParted.Error()
	}
	return t, first > 0 && strings.Count(t.Text, "\n") <= count, note, nil // else it sent the whole text
}

// Saw notes which version of a text the model has read; 0: none that counts.
func (w *Workspace) Saw(p Place, version uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if version == 0 {
		delete(w.versions, p.Real)
	} else if len(w.versions) < maxVersions || w.versions[p.Real] != 0 {
		w.versions[p.Real] = version
	}
}

var (
	errStale   = errors.New("it has changed since it was read, so it is not changed now: read it again")
	errUnsaved = errors.New("the editor has changes of it that are not saved, and does not write it for us, " +
		"so nothing was written: have it saved first")
)

// Fresh checks that a text may be changed: that the model has read this version, if the
// editor counts versions, and that nothing that the editor or the disk has is lost.
func (w *Workspace) Fresh(p Place, now Content) error {
	w.mu.Lock()
	read := w.versions[p.Real]
	w.mu.Unlock()
	if read != 0 && now.count != 0 && read != now.count {
		return p.Explain(errStale)
	}
	switch {
	case now.is == parted:
		return p.Explain(errParted)
	case now.is == unsaved && !w.editorWrites(p):
		return p.Explain(errUnsaved)
	}
	return nil
}

// editorWrites reports whether the editor offers to write a file.
func (w *Workspace) editorWrites(p Place) bool {
	e := ide.Of(w.host.Editor(p.Name))
	return e != nil && !p.Mounted && e.Caps().WriteFile
}
