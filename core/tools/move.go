package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"dragoman/core"
)

var moveSpec = core.Spec{
	Server: core.Native,
	Name:   "move_file",
	Title:  "Move a file",
	Description: "Moves or renames a file within a workspace folder, and creates the folders above its new place. It replaces nothing: the new " +
		"place must be free. For folders use shell_command.",
	Schema: schema(`{
  "type": "object",
  "properties": {
    "from": {"type": "string", "description": "The file: absolute, relative to the session's folder, or a file:// URI."},
    "to": {"type": "string", "description": "Its new path, with its new name."}
  },
  "required": ["from", "to"],
  "additionalProperties": false
}`),
	Kind: core.KindMove,
}

var errTaken = errors.New("there is something already: nothing was moved")

func (s *toolset) prepareMove(ctx context.Context, a *args) (*step, error) {
	from, to := a.text("from"), a.text("to")
	if err := a.done(); err != nil {
		return nil, err
	}
	p, err := s.locate(from)
	if err != nil {
		return nil, err
	}
	q, err := s.locate(to)
	if err != nil {
		return nil, err
	}
	if p.root == nil || p.root != q.root {
		return nil, errors.New("both paths must lie in the same workspace folder: use shell_command for others")
	}
	was, err := s.movable(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := s.free(q); err != nil {
		return nil, err
	}
	sum, err := s.sum(ctx, p)
	if err != nil {
		return nil, err
	}
	return &step{
		bound: true,
		Preview: core.Preview{
			Title:     "Move " + label(p.show) + " to " + label(q.show),
			Locations: []core.Location{{Path: p.name}, {Path: q.name}},
			Content:   []core.Block{moveOf(p, q, sum)},
			// What is moved can be read under its new name.
			Access: []core.Access{p.access(core.OpRead), p.access(core.OpWrite), q.access(core.OpWrite)},
		},
		run: func(ctx context.Context, _ core.Invocation) (core.Result, error) {
			now, err := s.movable(ctx, p)
			if err == nil && (!os.SameFile(now, was) || !now.ModTime().Equal(was.ModTime()) || now.Size() != was.Size()) {
				err = explain(p, errors.New("it has changed since this call was previewed, so it was not moved"))
			}
			if err == nil {
				err = s.move(p, q)
			}
			if err != nil {
				return core.Result{}, err
			}
			res := text(fmt.Sprintf("moved %s to %s", visible(p.show), visible(q.show)))
			res.Locations = []core.Location{{Path: q.name}}
			return res, nil
		},
	}, nil
}

// moveOf describes a move, with the header that git writes for one.
func moveOf(p, q place, sum string) core.Diff {
	from, to := strings.TrimPrefix(visible(p.show), "/"), strings.TrimPrefix(visible(q.show), "/")
	return core.Diff{
		Path: q.name, From: p.name, Sum: sum,
		Patch: fmt.Sprintf("diff --git a/%s b/%s\nsimilarity index 100%%\nrename from %s\nrename to %s\n", from, to, from, to),
	}
}

// maxSummed is how large a file may be that is known again after a move, in bytes.
const maxSummed = 64 << 20

// sum tells what is in a file from anything else; "" for one that is too large.
func (s *toolset) sum(ctx context.Context, p place) (string, error) {
	h, err := s.reach(p, false)
	if err != nil {
		return "", explain(p, err)
	}
	defer h.close()
	f, info, err := h.regular()
	if err != nil {
		return "", explain(p, err)
	}
	defer f.Close()
	if info.Size() > maxSummed {
		return "", nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(f, maxSummed+1)); err != nil {
		return "", explain(p, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), context.Cause(ctx)
}

// movable looks at a file that is to be moved. One with text that only the editor
// has stays: the editor would save it at its old place.
func (s *toolset) movable(ctx context.Context, p place) (fs.FileInfo, error) {
	h, err := s.reach(p, false)
	if err != nil {
		return nil, explain(p, err)
	}
	defer h.close()
	info, err := h.stat()
	switch {
	case err != nil:
		return nil, explain(p, err)
	case info.IsDir():
		return nil, explain(p, errors.New("it is a folder: use shell_command"))
	}
	if err := wantRegular(info); err != nil {
		return nil, explain(p, err)
	}
	b, _, err := s.buffer(ctx, p, 0, 0)
	if err != nil {
		return nil, err
	}
	if b != nil {
		if disk, err := h.read(); err == nil && disk.exists && !sameText(b.Text, disk.text) {
			return nil, explain(p, errors.New("the editor has changes of it that are not saved: save them first"))
		}
	}
	return info, context.Cause(ctx)
}

// free makes sure that nothing is at a place.
func (s *toolset) free(q place) error {
	h, err := s.reach(q, false)
	if err != nil && missing(err) {
		return nil
	}
	if err != nil {
		return explain(q, err)
	}
	defer h.close()
	if _, err = h.stat(); err == nil {
		err = errTaken
	} else if missing(err) {
		err = nil
	}
	return explain(q, err)
}

// move gives a file its new name. Linking it fails where something has appeared
// meanwhile; renaming, for file systems that know no links, would replace it.
func (s *toolset) move(p, q place) error {
	h, err := s.reach(q, true) // with the folders above it
	if err != nil {
		return explain(q, err)
	}
	h.close()
	if err := s.free(q); err != nil {
		return err
	}
	top, err := s.open(p.root)
	if err != nil {
		return err
	}
	from, _ := within(p.root.real, p.real)
	to, _ := within(p.root.real, q.real)
	err = top.Link(from, to)
	switch {
	case err == nil:
		return explain(p, top.Remove(from))
	case errors.Is(err, fs.ErrExist):
		return explain(q, errTaken)
	}
	return explain(p, top.Rename(from, to))
}
