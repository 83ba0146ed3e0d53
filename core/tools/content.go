package tools

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
)

const (
	// maxText is how large a file may be that is changed as text.
	maxText = 4 << 20
	// sniffed is how much of a file decides whether it is text, as in git.
	sniffed = 8000
	// editorWait is how long an editor may take for a file.
	editorWait = 10 * time.Second
)

// content is the text of a file, as it was seen.
type content struct {
	exists bool
	text   string
	mode   fs.FileMode
	buffer bool   // the text comes from the editor
	count  uint64 // of the editor's, which changes with the text; 0: it counts none
	// unsaved says that it is the editor's and that the disk has another text.
	unsaved bool
	note    string // what the model should know of where the text comes from
}

// same reports whether two looks at a file saw the same.
func (c content) same(d content) bool {
	return c.exists == d.exists && c.text == d.text && c.buffer == d.buffer
}

// current reads a file as text, from the editor where it offers that. A file that
// does not exist is no error; one that the editor refuses to read is.
func (w *workspace) current(ctx context.Context, p place) (content, error) {
	c, err := w.onDisk(p)
	if err != nil {
		return content{}, err
	}
	b, why, err := w.buffer(ctx, p, 0, 0)
	switch {
	case err != nil:
		return content{}, err
	case b == nil && c.exists && why != "":
		c.note = why + ", so the text on the disk was taken"
		return c, nil
	case b == nil || b.Text == "" && !c.exists:
		return c, context.Cause(ctx)
	case len(b.Text) > maxText:
		return content{}, p.explain(errTooLarge)
	case c.exists && sameText(b.Text, c.text) && !w.editorWrites(): // the disk is what will be written
		c.count = b.Version
		return c, nil
	case b.Text == "" && c.text != "":
		c.note = fmt.Sprintf("it was empty in the editor and had %d bytes on the disk", len(c.text))
	}
	return content{
		exists: true, text: b.Text, mode: c.mode, buffer: true, count: b.Version, unsaved: !c.exists || !sameText(b.Text, c.text), note: c.note,
	}, nil
}

var errTooLarge = fmt.Errorf("it is larger than %d MiB: use shell_command", maxText>>20)

// onDisk is the part of current that looks at the disk.
func (w *workspace) onDisk(p place) (content, error) {
	h, err := p.reach(false)
	if err != nil {
		if missing(err) {
			return content{}, nil
		}
		return content{}, p.explain(err)
	}
	defer h.close()
	c, err := h.read()
	return c, p.explain(err)
}

// read reads the shelf's file as text.
func (h shelf) read() (content, error) {
	f, info, err := h.regular()
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, nil
	}
	if err != nil {
		return content{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	switch {
	case err != nil:
		return content{}, err
	case len(data) > maxText:
		return content{}, errTooLarge
	case isBinary(data) || !utf8.Valid(data):
		return content{}, errors.New("it is not UTF-8 text")
	}
	return content{exists: true, text: string(data), mode: info.Mode().Perm()}, nil
}

func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0
}

// errChanged says that what was approved no longer fits.
var errChanged = errors.New("it has changed since this call was previewed, so nothing was written: read it again")

// replace makes text the content of a file, if the content is still that of seen. note
// is for the model: how it was done.
func (w *workspace) replace(ctx context.Context, p place, seen content, text string) (note string, err error) {
	now, err := w.current(ctx, p)
	if err == nil && !now.same(seen) {
		err = p.explain(errChanged)
	}
	if err != nil {
		return "", err
	}
	h, err := p.reach(true)
	if err != nil {
		return "", p.explain(err)
	}
	defer h.close()
	w.saw(p, 0) // what comes of it in the editor is another version
	done, why, err := w.throughEditor(ctx, p, text)
	switch {
	case done || err != nil:
		return now.note, err
	case now.unsaved:
		return "", p.explain(errUnsaved)
	case why != "":
		now.note = why + ", so the file was written on the disk"
	}
	return now.note, p.explain(h.write(seen, text))
}

// throughEditor lets the editor write. If done is false the disk has to be written: the
// editor does not offer to write, or does not have the file, and then why says so. A
// refusal of the editor is an error.
func (w *workspace) throughEditor(ctx context.Context, p place, text string) (done bool, why string, err error) {
	if !w.editorWrites() {
		return false, "", nil
	}
	wait, stop := context.WithTimeout(ctx, editorWait)
	defer stop()
	_, err = w.host.Editor().Do(wait, core.WriteFile{Session: w.host.Meta().ID, Path: p.name, Text: text})
	if ctx.Err() == nil && wait.Err() != nil { // it may still do it: writing too would race with it
		return false, "", fmt.Errorf("write %s: the editor did not answer; look at the file before trying again", visible(p.show))
	}
	why, err = lacking(ctx, wait, err)
	return why == "" && err == nil, why, p.explain(err)
}

// write replaces the shelf's file as a whole: a temporary file beside it takes
// its name. Just before that the file is compared once more with what was seen.
func (h shelf) write(seen content, text string) error {
	if seen.exists {
		// A rename would get round a file's own write protection.
		f, err := h.dir.OpenFile(h.base, os.O_WRONLY|nonblock, 0)
		if err != nil && !missing(err) {
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

// temporary writes text to a new file of a random name. An existing file's mode
// is kept; a new one gets what the process's mask leaves of 0644.
func (h shelf) temporary(seen content, text string) (name string, err error) {
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
func (h shelf) settle(tmp string, seen content) error {
	if seen.buffer { // the editor's text, which was the same as the disk's
		now, err := h.read()
		if err == nil && !(now.exists && sameText(now.text, seen.text)) {
			err = errChanged
		}
		if err != nil {
			return err
		}
		return h.dir.Rename(tmp, h.base)
	}
	if !seen.exists {
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
