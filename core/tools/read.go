package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/ide"
)

const (
	maxLines = 2000     // of text in the result of one call
	maxBytes = 50 << 10 // the same in bytes
	maxImage = 5 << 20  // of a picture
	maxCount = 64 << 20 // how far lines are counted, for the note
)

var readSpec = core.Spec{
	Server: core.Native,
	Name:   "read_file",
	Title:  "Read a file",
	Description: "Reads a text file, as it is, or a picture (PNG, JPEG, GIF, WebP). Returns at most 2000 lines or 50 KB; a note in the text or " +
		"behind it says how to go on. Text that the user has not saved yet is included where the editor offers it.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file: absolute, relative to the session's folder, or a file:// URI."},
    "offset": {"type": "integer", "minimum": 1, "description": "The first line to return, counted from 1. Default 1."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to return. Default and maximum 2000."}
  },
  "required": ["path"],
  "additionalProperties": false
}`),
	Kind:       core.KindRead,
	ReadOnly:   true,
	Idempotent: true,
	Offset:     "offset",
	Limit:      "limit",
}

// span is the range of lines that read_file was asked for.
type span struct {
	first int // 1-based
	count int
}

func (s *toolset) prepareRead(_ context.Context, a *args) (*step, error) {
	path := a.text("path")
	lines := span{a.integer("offset", 1, 1, 0), a.integer("limit", maxLines, 1, maxLines)}
	if err := a.done(); err != nil {
		return nil, err
	}
	p, err := s.files.Source(path)
	if err != nil {
		return nil, err
	}
	access := p.Access(core.OpRead)
	if !access.Outside {
		if err := s.files.Readable(p); err != nil {
			return nil, err
		}
		access.Linked = p.Linked()
	}
	title, at := "Read "+label(p.Show), 0
	switch {
	case a.given("limit"):
		title += fmt.Sprintf(" lines %d–%d", lines.first, lines.first+lines.count-1)
		at = lines.first
	case a.given("offset"):
		title += fmt.Sprintf(" from line %d", lines.first)
		at = lines.first
	}
	return &step{
		Preview: core.Preview{
			Title:     title,
			Locations: p.Locations(at),
			Access:    []core.Access{access},
		},
		run: func(ctx context.Context, _ core.Invocation) (core.Result, error) { return s.read(ctx, p, lines) },
	}, nil
}

func (s *toolset) read(ctx context.Context, p files.Place, lines span) (core.Result, error) {
	st, err := s.stat(ctx, p)
	if err != nil {
		return core.Result{}, err
	}
	if st != nil && st.Exists && st.Dir {
		return core.Result{}, p.Explain(files.ErrFolder)
	}
	var (
		f    fs.File
		info fs.FileInfo
	)
	h, err := p.Reach()
	if err == nil {
		defer h.Close()
		f, info, err = h.Source()
	}
	if err != nil {
		if files.Missing(err) {
			return s.readUnsaved(ctx, p, lines, st)
		}
		return core.Result{}, p.Explain(err)
	}
	defer f.Close()

	head := make([]byte, files.Sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return core.Result{}, p.Explain(err)
	}
	head = head[:n]
	if mime := imageType(head); mime != "" {
		if data, err := s.picture(ctx, p); data != nil || err != nil {
			return core.Result{Blocks: []core.Block{data}}, err
		}
		return readImage(p, f, head, mime)
	}
	if files.Binary(head) {
		return core.Result{}, fmt.Errorf(
			"%s is binary (%d bytes): it is not shown; use shell_command to look into it",
			visible(p.Show),
			info.Size(),
		)
	}
	in := io.MultiReader(bytes.NewReader(head), f)
	var disk *files.Content
	if !p.Spilled && info.Size() <= files.MaxText {
		data, err := io.ReadAll(io.LimitReader(in, files.MaxText+1))
		if err != nil {
			return core.Result{}, p.Explain(err)
		}
		if c, err := files.ContentOf(data, info); err == nil {
			disk = &c
		}
		in = io.MultiReader(bytes.NewReader(data), f)
	}
	e, note, err := s.readBuffer(ctx, p, lines, disk, info.Size())
	if err != nil {
		return core.Result{}, err
	}
	if e == nil {
		e = &excerptor{r: in, want: lines}
	}
	if note != "" {
		e.notes = append(e.notes, note)
	}
	return e.excerpt(ctx, p)
}

// readUnsaved reads a file that exists only in the editor. st is the editor's answer
// to a stat; nil: there was no stat, and an empty text counts as no file.
func (s *toolset) readUnsaved(
	ctx context.Context, p files.Place, lines span, st *ide.FileStat,
) (core.Result, error) {
	if st != nil && !st.Exists {
		return core.Result{}, p.Explain(fs.ErrNotExist)
	}
	if namedPicture(p.Name) {
		if data, err := s.picture(ctx, p); data != nil || err != nil {
			return core.Result{Blocks: []core.Block{data}}, err
		}
	}
	e, note, err := s.readBuffer(ctx, p, lines, &files.Content{}, 0)
	if err != nil {
		return core.Result{}, err
	}
	if e == nil || e.empty && st == nil {
		return core.Result{}, p.Explain(fs.ErrNotExist)
	}
	if note != "" {
		e.notes = append(e.notes, note)
	}
	return e.excerpt(ctx, p)
}

// readBuffer reads the editor's text; nil: the disk's counts. The note is about the source of the
// text. size is the file's size on the disk in bytes.
func (s *toolset) readBuffer(
	ctx context.Context, p files.Place, lines span, disk *files.Content, size int64,
) (*excerptor, string, error) {
	b, part, note, err := s.files.Part(ctx, p, lines.first, lines.count, disk, size)
	if b == nil {
		return nil, note, err
	}
	return &excerptor{r: strings.NewReader(b.Text), want: lines, part: part, empty: b.Text == "", disk: size}, note, nil
}

// imageType recognises the picture types that models accept.
func imageType(head []byte) string {
	switch s := string(head[:min(len(head), 12)]); {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(s, "GIF87a"), strings.HasPrefix(s, "GIF89a"):
		return "image/gif"
	case len(s) == 12 && s[:4] == "RIFF" && s[8:] == "WEBP":
		return "image/webp"
	}
	return ""
}

func readImage(p files.Place, f io.Reader, head []byte, mime string) (core.Result, error) {
	data, err := io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(head), f), maxImage+1))
	switch {
	case err != nil:
		return core.Result{}, p.Explain(err)
	case len(data) > maxImage:
		return core.Result{}, fmt.Errorf(
			"%s is a picture of more than %d MB: it is not shown",
			visible(p.Show),
			maxImage>>20,
		)
	}
	return core.Result{Blocks: []core.Block{core.Image{MIME: mime, Data: data}}}, nil
}

// excerptor cuts lines out of a text for the model.
type excerptor struct {
	r    io.Reader
	want span

	files.Lines
	part  bool  // the stream begins with the first wanted line, and the file's length is unknown
	empty bool  // the editor's text is empty
	disk  int64 // size on the disk in bytes, if the text is the editor's
	notes []string
}

// excerpt returns the requested lines, within the limits, and a note if there are
// more.
func (e *excerptor) excerpt(ctx context.Context, p files.Place) (core.Result, error) {
	cut := files.Span{First: e.want.first, Count: e.want.count, Most: maxBytes, Counted: maxCount}
	if e.part {
		cut.Before = e.want.first - 1
	}
	var err error
	if e.Lines, err = cut.From(ctx, e.r); err != nil {
		return core.Result{}, p.Explain(err)
	}
	e.note()
	switch {
	case e.Total == 0 && e.disk > 0:
		return text(fmt.Sprintf("[%s is empty in the editor and has %d bytes on the disk]", visible(p.Show), e.disk)), nil
	case e.Total == 0:
		return text("[" + strings.Join(append([]string{visible(p.Show) + " is empty"}, e.notes...), "; ") + "]"), nil
	case e.Shown == 0 && e.Far:
		return core.Result{}, fmt.Errorf(
			"%s: line %d is more than %d MB into the file; use shell_command",
			visible(p.Show),
			e.want.first,
			files.MaxScan>>20,
		)
	case e.Shown == 0 && e.part:
		return core.Result{}, fmt.Errorf("%s: line %d is past its end", visible(p.Show), e.want.first)
	case e.Shown == 0:
		return core.Result{}, fmt.Errorf("%s has %d lines; line %d is past its end",
			visible(p.Show), e.Total, e.want.first)
	}
	body := string(e.Text)
	if !utf8.ValidString(body) {
		body = strings.ToValidUTF8(body, "\ufffd")
		e.notes = append(e.notes, "it is not UTF-8: invalid bytes are shown as \ufffd")
	}
	if len(e.notes) > 0 {
		return text(body, "["+visible(p.Show)+": "+strings.Join(e.notes, "; ")+"]"), nil
	}
	return text(body), nil
}

func (e *excerptor) note() {
	last := e.want.first + e.Shown - 1
	of := fmt.Sprintf(" of %d", e.Total)
	if e.Far || e.part {
		of = ""
	}
	if e.Cut {
		e.notes = append(e.notes, fmt.Sprintf("line %d is cut after %d KB", last, maxBytes>>10))
	}
	if e.Shown > 0 && (last < e.Total || e.Far) {
		e.notes = append(e.notes, fmt.Sprintf("lines %d–%d%s; go on with offset %d",
			e.want.first, last, of, last+1))
	}
}

// picture asks the editor for a picture; nil: it has none.
func (s *toolset) picture(ctx context.Context, p files.Place) (core.Block, error) {
	reply, _, err := s.files.Request(ctx, p, func(c ide.Caps) bool { return c.ReadBytes },
		ide.ReadBytes{Session: s.host.Meta().ID, Path: p.Name, Limit: maxImage + 1})
	if b, ok := reply.(ide.FileBytes); ok && imageType(b.Data) != "" && len(b.Data) <= maxImage {
		return core.Image{MIME: imageType(b.Data), Data: b.Data}, nil
	}
	return nil, err
}

// namedPicture reports whether a name has the ending of a picture.
func namedPicture(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(name)))
}

// stat asks the editor for the type of a path; nil: it has no answer.
func (s *toolset) stat(ctx context.Context, p files.Place) (*ide.FileStat, error) {
	reply, _, err := s.files.Request(
		ctx,
		p,
		func(c ide.Caps) bool { return c.Stat },
		ide.StatFile{Session: s.host.Meta().ID, Path: p.Name},
	)
	if st, ok := reply.(ide.FileStat); ok {
		return &st, nil
	}
	return nil, err
}
