package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"dragoman/core"
	"dragoman/core/files"
)

var moveSpec = core.Spec{
	Server: core.Native,
	Name:   "move_file",
	Title:  "Move a file",
	Description: "Moves or renames a file within a workspace folder, and creates the folders above its new place. It replaces nothing: the new " +
		"place must be free. For folders use shell_command.",
	Schema: []byte(`{
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

func (s *toolset) prepareMove(ctx context.Context, a *args) (*step, error) {
	from, to := a.text("from"), a.text("to")
	if err := a.done(); err != nil {
		return nil, err
	}
	p, err := s.files.Locate(from)
	if err != nil {
		return nil, err
	}
	q, err := s.files.Locate(to)
	if err != nil {
		return nil, err
	}
	if p.Root == nil || p.Root != q.Root {
		return nil, errors.New("both paths must lie in the same workspace folder: use shell_command for others")
	}
	was, err := s.files.Movable(ctx, p)
	if errors.Is(err, files.ErrFolder) {
		err = p.Explain(errors.New("it is a folder: use shell_command"))
	}
	if err != nil {
		return nil, err
	}
	if err := q.Free(); err != nil {
		return nil, err
	}
	sum, err := p.Sum(ctx)
	if err != nil {
		return nil, err
	}
	return &step{
		bound: true,
		Preview: core.Preview{
			Title:     "Move " + label(p.Show) + " to " + label(q.Show),
			Locations: []core.Location{{Path: p.Name}, {Path: q.Name}},
			Content:   []core.Block{moveOf(p, q, sum)},
			// The moved file can be read under its new name.
			Access: []core.Access{p.Access(core.OpRead), p.Access(core.OpWrite), q.Access(core.OpWrite)},
		},
		run: func(ctx context.Context, _ core.Invocation) (core.Result, error) {
			now, err := s.files.Movable(ctx, p)
			if err == nil && (!os.SameFile(now, was) || !now.ModTime().Equal(was.ModTime()) ||
				now.Size() != was.Size()) {
				err = p.Explain(errors.New("it has changed since this call was previewed, so it was not moved"))
			}
			if err == nil {
				err = s.files.Move(p, q)
			}
			if err != nil {
				return core.Result{}, err
			}
			res := text(fmt.Sprintf("moved %s to %s", visible(p.Show), visible(q.Show)))
			res.Locations = []core.Location{{Path: q.Name}}
			return res, nil
		},
	}, nil
}

// moveOf describes a move, with the header that git writes for one.
func moveOf(p, q files.Place, sum string) core.Diff {
	from, to := strings.TrimPrefix(visible(p.Show), "/"), strings.TrimPrefix(visible(q.Show), "/")
	return core.Diff{
		Path: q.Name, From: p.Name, Sum: sum,
		Patch: fmt.Sprintf(
			"diff --git a/%s b/%s\nsimilarity index 100%%\nrename from %s\nrename to %s\n",
			from,
			to,
			from,
			to,
		),
	}
}
