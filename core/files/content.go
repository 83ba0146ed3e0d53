package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/ide"
)

const (
	// MaxText is the largest size, in bytes, of a file that can be changed as text.
	MaxText = 4 << 20
	// Sniffed is the number of bytes that decide whether a file is text, as in git.
	Sniffed = 8000
)

// Content is the text of a file, as it was seen.
type Content struct {
	Exists bool
	Text   string
	mode   fs.FileMode
	buffer bool         // the text comes from the editor
	count  uint64       // of the editor's, which changes with the text; 0: it counts none
	is     relation     // of the editor's text to the disk's; same without an editor
	sum    core.TextSum // of the disk's text
	// changed is when the file on the disk was changed last.
	changed time.Time
	note    string // for the model, about the source of the text
}

// Before returns the text; nil: the file does not exist.
func (c Content) Before() *string {
	if !c.Exists {
		return nil
	}
	return &c.Text
}

// same reports whether two looks at a file saw the same. An editor that has caught up with the disk
// in between may show it with other line ends.
func (c Content) same(d Content) bool {
	if c.buffer != d.buffer && c.settled() && d.settled() {
		return c.Exists == d.Exists && SameText(c.Text, d.Text)
	}
	return c.Exists == d.Exists && c.Text == d.Text && c.buffer == d.buffer
}

// settled reports whether nothing is unsaved.
func (c Content) settled() bool { return c.is == same || c.is == late }

// Current reads a file as text, from the editor where it offers that. A file that
// does not exist is no error; one that the editor refuses to read is.
func (w *Workspace) Current(ctx context.Context, p Place) (Content, error) {
	c, err := w.OnDisk(p)
	if err != nil {
		return Content{}, err
	}
	b, why, err := w.Buffer(ctx, p, 0, 0)
	switch {
	case err != nil:
		return Content{}, err
	case b == nil && c.Exists && why != "":
		c.note = why + ", so the text on the disk was taken"
		w.looked(p, c)
		return c, nil
	case b == nil || b.Text == "" && !c.Exists:
		w.looked(p, c)
		return c, context.Cause(ctx)
	case len(b.Text) > MaxText:
		return Content{}, p.Explain(ErrTooLarge)
	}
	c.is = w.relate(p, c, b.Text)
	w.looked(p, c)
	switch {
	case c.is == late:
		return c, nil
	case c.is == same && !w.editorWrites(p): // the disk will be written
		c.count = b.Version
		return c, nil
	case b.Text == "" && c.Text != "":
		c.note = fmt.Sprintf("it was empty in the editor and had %d bytes on the disk", len(c.Text))
	}
	c.Exists, c.Text, c.buffer, c.count = true, b.Text, true, b.Version
	return c, nil
}

// ErrTooLarge says that a file has more than MaxText bytes.
var ErrTooLarge = fmt.Errorf("it is larger than %d MiB", MaxText>>20)

var errNotText = errors.New("it is not UTF-8 text")

// OnDisk is the part of Current that looks at the disk.
func (w *Workspace) OnDisk(p Place) (Content, error) {
	h, err := p.Reach()
	if err != nil {
		if Missing(err) {
			return Content{}, nil
		}
		return Content{}, p.Explain(err)
	}
	defer h.Close()
	c, err := h.read()
	return c, p.Explain(err)
}

// read reads the file as text.
func (h Handle) read() (Content, error) {
	f, info, err := h.Regular()
	if errors.Is(err, fs.ErrNotExist) {
		return Content{}, nil
	}
	if err != nil {
		return Content{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxText+1))
	if err != nil {
		return Content{}, err
	}
	return ContentOf(data, info)
}

// ContentOf returns the text of a file on the disk that was read as far as one byte behind MaxText.
func ContentOf(data []byte, info fs.FileInfo) (Content, error) {
	switch {
	case len(data) > MaxText:
		return Content{}, ErrTooLarge
	case Binary(data) || !utf8.Valid(data):
		return Content{}, errNotText
	}
	text := string(data)
	return Content{Exists: true, Text: text, mode: info.Mode().Perm(), sum: sumOf(text), changed: Changed(info)}, nil
}

// Binary reports whether data begins like something else than text, as git sees it.
func Binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), Sniffed)], 0) >= 0
}

// errChanged reports that an approved change no longer fits the file.
var errChanged = errors.New(
	"it has changed since this call was previewed, so nothing was written: read it again",
)

// Replace makes text the content of a file, if the content is still that of seen. note
// is for the model: how it was done.
func (w *Workspace) Replace(ctx context.Context, p Place, seen Content, text string) (note string, err error) {
	if len(text) > MaxText {
		return "", p.Explain(ErrTooLarge)
	}
	look := w.Current
	if !seen.Exists { // the editor did not have it either, and would report an error each time
		look = func(_ context.Context, p Place) (Content, error) { return w.OnDisk(p) }
	}
	now, err := look(ctx, p)
	if err == nil && !now.same(seen) {
		err = p.Explain(errChanged)
	}
	if err == nil && now.is == parted {
		err = p.Explain(errParted)
	}
	if err != nil {
		return "", err
	}
	h, err := p.reach(true)
	if err != nil {
		return "", p.Explain(err)
	}
	defer h.Close()
	w.Saw(p, 0) // the editor counts the written text as a new version
	done, why, err := w.throughEditor(ctx, p, text)
	switch {
	case err != nil:
		return now.note, err
	case done:
		w.wrote(p, now, text, false)
		return now.note, nil
	case !now.settled():
		return "", p.Explain(errUnsaved)
	case why != "":
		now.note = why + ", so the file was written on the disk"
	}
	if err := h.write(seen, text); err != nil {
		return now.note, p.Explain(err)
	}
	w.wrote(p, now, text, true)
	return now.note, nil
}

// throughEditor lets the editor write. If done is false the disk has to be written: the
// editor does not offer to write, or does not have the file, which why explains. A
// refusal of the editor is an error.
func (w *Workspace) throughEditor(
	ctx context.Context,
	p Place,
	text string,
) (done bool, why string, err error) {
	if !w.editorWrites(p) {
		return false, "", nil
	}
	wait, stop := context.WithTimeout(ctx, ide.Wait)
	defer stop()
	_, err = ide.Of(w.host.Editor(p.Name)).Do(wait, ide.WriteFile{Session: w.host.Meta().ID, Path: p.Name, Text: text})
	if ctx.Err() == nil && wait.Err() != nil { // it may still do it: writing too would race with it
		return false, "", fmt.Errorf(
			"write %s: the editor did not answer; look at the file before trying again",
			display.Visible(p.Show),
		)
	}
	why, err = ide.Lacking(ctx, wait, err)
	return why == "" && err == nil, why, p.Explain(err)
}

// write replaces the file as a whole: a temporary file in the same folder takes its name.
// Just before that, the file is compared once more with seen.
func (h Handle) write(seen Content, text string) error {
	if seen.Exists {
		// A rename would get round a file's own write protection.
		f, err := h.dir.OpenFile(h.base, os.O_WRONLY|nonblock, 0)
		if err != nil && !Missing(err) {
			return err
		}
		if err == nil {
			f.Close()
		}
	}
	tmp, err := h.temporary(seen, text)
	if err != nil {
		return err
	}
	err = h.settle(tmp, seen)
	if err != nil {
		_ = h.dir.Remove(tmp)
	}
	return err
}

// temporary writes text to a new file of a random name. It has the mode of the existing
// file, or else 0644 within the process's mask.
func (h Handle) temporary(seen Content, text string) (name string, err error) {
	name = ".dragoman-" + rand.Text()
	perm := fs.FileMode(0o644)
	if seen.mode != 0 {
		perm = 0o600
	}
	f, err := h.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(f, text)
	if err == nil && seen.mode != 0 {
		err = f.Chmod(seen.mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = h.dir.Remove(name)
		return "", err
	}
	return name, nil
}

// settle gives the temporary file its name.
func (h Handle) settle(tmp string, seen Content) error {
	if seen.buffer { // the editor's text, which was the same as the disk's
		now, err := h.read()
		if err == nil && !(now.Exists && SameText(now.Text, seen.Text)) {
			err = errChanged
		}
		if err != nil {
			return err
		}
		return h.dir.Rename(tmp, h.base)
	}
	if !seen.Exists {
		// A link fails where a file has appeared meanwhile; renaming would not.
		err := h.dir.Link(tmp, h.base)
		if err == nil {
			return h.dir.Remove(tmp)
		}
		if errors.Is(err, fs.ErrExist) {
			return errChanged
		}
	}
	now, err := h.read()
	if err != nil {
		return err
	}
	if !now.same(seen) {
		return errChanged
	}
	return h.dir.Rename(tmp, h.base)
}
