package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/core"
	"dragoman/core/diff"
	"dragoman/core/files"
	"dragoman/core/ide"
)

var writeSpec = core.Spec{
	Server: core.Native,
	Name:   "write_file",
	Title:  "Write a file",
	Description: "Creates a text file, with the folders above it, or replaces the whole content of one. For a change within a file use " +
		"edit_file.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file: absolute, relative to the session's folder, or a file:// URI."},
    "content": {"type": "string", "description": "The whole content, exactly as it is to be written."}
  },
  "required": ["path", "content"],
  "additionalProperties": false
}`),
	Kind:       core.KindEdit,
	Idempotent: true,
}

func (s *toolset) prepareWrite(ctx context.Context, a *args) (*step, error) {
	path, content := a.text("path"), a.text("content")
	if err := a.done(); err != nil {
		return nil, err
	}
	if len(content) > files.MaxText {
		return nil, fmt.Errorf("argument %q is larger than %d MiB", "content", files.MaxText>>20)
	}
	p, err := s.files.Locate(path)
	if err != nil {
		return nil, err
	}
	was, err := s.files.Writable(ctx, p)
	if err != nil && !p.Outside(core.OpWrite) {
		return nil, err
	}
	if err != nil {
		return blind(p, "Write "+plainLabel(p.Show), err), nil
	}
	d := diff.Of(p.Name, p.Show, was.Before(), content)
	title := "Write " + plainLabel(p.Show) + " " + diff.Size(d)
	if d.Created {
		title = "Create " + plainLabel(p.Show) + " " + diff.Size(d)
	}
	return s.change(p, was, d, title, p.Access(core.OpWrite)), nil
}

// blind returns the step for a place outside that cannot be changed as requested. The
// reason is returned only after the call was approved: before that the model must not
// learn about the content of that place.
func blind(p files.Place, title string, err error) *step {
	return &step{
		bound: true,
		Preview: core.Preview{
			Title: title, Locations: []core.Location{{Path: p.Name}},
			Access: []core.Access{p.Access(core.OpRead), p.Access(core.OpWrite)},
		},
		run: func(context.Context, core.Invocation) (core.Result, error) { return core.Result{}, err },
	}
}

// change returns the step that applies a diff.
func (s *toolset) change(
	p files.Place, was files.Content, d core.Diff, title string, access ...core.Access,
) *step {
	at := diff.FirstLine(d)
	return &step{
		bound: true,
		Preview: core.Preview{
			Title:     title,
			Locations: []core.Location{{Path: p.Name, Line: at}},
			Content:   diff.Shown(d),
			Access:    access,
		},
		run: func(ctx context.Context, _ core.Invocation) (core.Result, error) {
			note, err := s.files.Replace(ctx, p, was, d.New)
			if err != nil {
				return core.Result{}, err
			}
			s.host.Changed(ctx, p.Name, func(e core.Editor) bool { return s.unsaved(ctx, e, p, d.New) })
			verb := "wrote"
			if d.Created {
				verb = "created"
			}
			return text(fmt.Sprintf("%s %s %s", verb, visible(p.Show), diff.Size(d)), bracketed(note)), nil
		},
	}
}

// maxLook is the time for the answer of another client's editor.
const maxLook = 300 * time.Millisecond

// unsaved reports whether another client's editor has a text of a file that is neither the new one nor
// one from before.
func (s *toolset) unsaved(ctx context.Context, of core.Editor, p files.Place, text string) bool {
	s.files.Shared(p)
	e := ide.Of(of)
	if e == nil || !e.Caps().ReadFile {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, maxLook)
	defer stop()
	reply, err := e.Do(ctx, ide.ReadFile{Session: s.host.Meta().ID, Path: p.Name})
	has, ok := reply.(ide.FileText)
	return err == nil && ok && !s.files.Known(p, has.Text) && !files.SameText(has.Text, text)
}

var editSpec = core.Spec{
	Server: core.Native,
	Name:   "edit_file",
	Title:  "Edit a file",
	Description: "Replaces text in a file. old must be in the file exactly, blanks included, and once, unless all is true: give enough lines " +
		"around the change. The file's line ends (LF or CRLF) are kept, whichever old and new have.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file: absolute, relative to the session's folder, or a file:// URI."},
    "old": {"type": "string", "description": "The text to replace."},
    "new": {"type": "string", "description": "The text to put in its place; empty: old is removed."},
    "all": {"type": "boolean", "description": "Whether every occurrence is replaced. Default false."}
  },
  "required": ["path", "old", "new"],
  "additionalProperties": false
}`),
	Kind: core.KindEdit,
}

func (s *toolset) prepareEdit(ctx context.Context, a *args) (*step, error) {
	path := a.text("path")
	e := edit{old: a.text("old"), new: a.text("new"), all: a.boolean("all", false)}
	if err := a.done(); err != nil {
		return nil, err
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	p, err := s.files.Locate(path)
	if err != nil {
		return nil, err
	}
	was, now, err := s.edited(ctx, p, e)
	if err != nil && !p.Outside(core.OpWrite) {
		return nil, err
	}
	if err != nil {
		return blind(p, "Edit "+plainLabel(p.Show), err), nil
	}
	d := diff.Of(p.Name, p.Show, was.Before(), now)
	return s.change(p, was, d, "Edit "+plainLabel(p.Show)+" "+diff.Size(d),
		p.Access(core.OpRead), p.Access(core.OpWrite)), nil
}

// edited reads a file and applies an edit to its content.
func (s *toolset) edited(
	ctx context.Context, p files.Place, e edit,
) (was files.Content, now string, err error) {
	was, err = s.files.Current(ctx, p)
	if err != nil {
		return was, "", err
	}
	if !was.Exists {
		return was, "", fmt.Errorf("there is no %s: use write_file to create it", visible(p.Show))
	}
	if err := s.files.Fresh(p, was); err != nil {
		return was, "", err
	}
	now, err = e.apply(was.Text)
	if err == nil && len(now) > files.MaxText {
		err = errors.New("the result would be too large")
	}
	return was, now, p.Explain(err)
}
