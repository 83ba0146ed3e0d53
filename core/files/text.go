package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"unicode/utf8"
)

// Read returns the text of a file exactly as it is: the editor's, where it has one, else the
// disk's. line is the first line to return, counted from 1 (0 is 1), and limit their number; 0: all.
// Lines that do not exist are no text. An error for a file that does not exist, also not in the
// editor, is fs.ErrNotExist. What is not UTF-8 or larger than MaxText is an error; of a larger
// file a part can be read.
func (w *Workspace) Read(ctx context.Context, p Place, line, limit int) (string, error) {
	s := Span{First: max(line, 1), Count: limit, Most: MaxText}
	if limit <= 0 {
		s.Count = math.MaxInt32 - 1
	}
	c, err := w.Current(ctx, p)
	switch {
	case errors.Is(err, ErrTooLarge) && (line > 1 || limit > 0):
		return w.readPart(ctx, p, s)
	case err != nil:
		return "", err
	case !c.Exists:
		return "", p.Explain(fs.ErrNotExist)
	}
	w.Saw(p, c.count)
	lines, err := s.From(ctx, strings.NewReader(c.Text))
	return string(lines.Text), err
}

// readPart is Read for a text that is too large to be read whole.
func (w *Workspace) readPart(ctx context.Context, p Place, s Span) (string, error) {
	var in io.Reader
	var size int64
	h, err := p.Reach()
	if err == nil {
		defer h.Close()
		var f *os.File
		var info fs.FileInfo
		if f, info, err = h.Regular(); err == nil {
			defer f.Close()
			in, size = f, info.Size()
		}
	}
	if err != nil && !Missing(err) {
		return "", p.Explain(err)
	}
	b, part, _, err := w.Part(ctx, p, s.First, s.Count, nil, size)
	switch {
	case err != nil:
		return "", err
	case b != nil:
		in = strings.NewReader(b.Text)
	case in == nil:
		return "", p.Explain(fs.ErrNotExist)
	}
	if part {
		s.Before = s.First - 1
	}
	lines, err := s.From(ctx, in)
	switch {
	case err != nil:
	case lines.Full, lines.Far && lines.Shown == 0:
		err = ErrTooLarge
	case Binary(lines.Text) || !utf8.Valid(lines.Text):
		err = errNotText
	}
	if err != nil {
		return "", p.Explain(err)
	}
	return string(lines.Text), nil
}

// Writable reads a file that is about to be written: Current and Fresh. Replace then writes it if
// it is still the same.
func (w *Workspace) Writable(ctx context.Context, p Place) (Content, error) {
	seen, err := w.Current(ctx, p)
	if err == nil {
		err = w.Fresh(p, seen)
	}
	return seen, err
}

// Write makes text the content of a file, through the editor where it writes files, and returns
// the text before; nil: there was no such file. Missing folders are made. Who asks a person about
// the change calls Writable, shows the difference, and calls Replace.
func (w *Workspace) Write(ctx context.Context, p Place, text string) (before *string, err error) {
	seen, err := w.Writable(ctx, p)
	if err != nil {
		return nil, err
	}
	if _, err := w.Replace(ctx, p, seen, text); err != nil {
		return nil, err
	}
	return seen.Before(), nil
}
