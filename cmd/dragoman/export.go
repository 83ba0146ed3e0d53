package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/codec"
)

// exportable are the endings of files that a session is written into: none that a
// program would run or read as settings.
var exportable = []string{".md", ".txt", ".jsonl"}

// export writes the session into a new file of the workspace. It is the user who
// asks for it and not the agent, so the user's rules that forbid count, and the
// approval is the command itself; where a program prompts, only a rule can allow it.
func (p *profiles) export(ctx context.Context, s *core.Session, t *core.Turn, name string) (string, error) {
	m, st := t.Meta(), t.State()
	if name == "" {
		name = exportName(st)
	}
	root, rel, err := exportPlace(m, name)
	if err != nil {
		return "The session was not written: " + err.Error() + ".\n", nil
	}
	path := filepath.Join(root, rel)
	resolved := path // as rules see it
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		resolved = filepath.Join(dir, filepath.Base(path))
	}
	if why := p.forbidden(ctx, t, resolved); why != "" {
		return "The session was not written: " + why + ".\n", nil
	}
	write := writeMarkdown
	if filepath.Ext(path) == ".jsonl" {
		write = writeRecords
	}
	if err := exportTo(root, rel, func(w io.Writer) error { return write(ctx, w, s, t) }); err != nil {
		return "The session was not written: " + err.Error() + ".\n", nil
	}
	return "The session is written in `" + printable(path) + "`.\n", nil
}

// exportName makes a file's name of a session's title.
func exportName(st core.State) string {
	var b strings.Builder
	for _, r := range strings.ToLower(st.Title) {
		switch {
		case unicode.IsLetter(r) && r < unicode.MaxASCII, unicode.IsDigit(r) && r < unicode.MaxASCII:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 40 {
			break
		}
	}
	name := strings.Trim(b.String(), "-")
	if name == "" {
		name = "session"
	}
	return name + "-" + time.Now().Format("20060102-150405") + ".md"
}

// exportPlace finds the workspace folder and the path below it that a name means.
func exportPlace(m core.Meta, name string) (root, rel string, err error) {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "", "", errors.New("the name holds characters that cannot be seen")
	}
	if !slices.Contains(exportable, strings.ToLower(filepath.Ext(name))) {
		return "", "", fmt.Errorf("the name must end in %s", strings.Join(exportable, ", "))
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.Cwd, path)
	}
	for _, root := range m.Roots {
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		for _, part := range strings.Split(filepath.ToSlash(rel), "/") {
			if strings.HasPrefix(part, ".") {
				return "", "", errors.New("hidden folders and files hold settings")
			}
		}
		if told := []string{"agents.md", "claude.md", "skill.md"}; slices.Contains(told, strings.ToLower(filepath.Base(rel))) {
			return "", "", fmt.Errorf("%s is what agents are told", filepath.Base(rel))
		}
		return root, rel, nil
	}
	return "", "", fmt.Errorf("%s is outside of the workspace", printable(path))
}

// forbidden says why the policy lets nobody write the file here; "": it may be
// written.
func (p *profiles) forbidden(ctx context.Context, t *core.Turn, path string) string {
	made, err := p.in(ctx, t.Meta().Roots)
	if err != nil {
		return err.Error()
	}
	v := made.rights.Rules.Decide(core.Check{
		Call: core.Call{Server: core.Native, Tool: "write_file", Kind: core.KindEdit, Args: json.RawMessage("{}")},
		Spec: core.Spec{Server: core.Native, Name: "write_file", Kind: core.KindEdit},
		// The file is opened through its root, which follows no link that leads out of it.
		Access: []core.Access{{Op: core.OpWrite, Path: path}}, Meta: t.Meta(), Origin: t.Origin(),
	})
	switch v.Effect {
	case core.Allow:
		return ""
	case core.MustAsk:
		if p.people {
			return ""
		}
		return v.Why + ", and a program cannot give it"
	case core.Deny:
	}
	return v.Why
}

// exportTo makes a file that was not there and lets write fill it. What could not be
// written whole is removed.
func exportTo(root, rel string, write func(io.Writer) error) (err error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	f, err := dir.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already", printable(rel))
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s", printable(filepath.Dir(rel)))
	case err != nil:
		return err
	}
	w := bufio.NewWriter(f)
	if err = errors.Join(write(w), w.Flush(), f.Close()); err != nil {
		err = errors.Join(err, dir.Remove(rel))
	}
	return err
}

// writeMarkdown writes the session for people, without the turn that asks for it.
func writeMarkdown(ctx context.Context, out io.Writer, s *core.Session, t *core.Turn) error {
	tr := terminal.NewTranscript(out)
	tr.Title(s.State())
	for rec, err := range before(ctx, t) {
		if err != nil {
			return err
		}
		tr.Record(rec)
	}
	return tr.End()
}

// writeRecords writes the session for programs: one record a line, as it is stored.
func writeRecords(ctx context.Context, out io.Writer, _ *core.Session, t *core.Turn) error {
	var enc codec.Encoder
	var line []byte
	for rec, err := range before(ctx, t) {
		if err != nil {
			return err
		}
		line = append(enc.Append(line[:0], rec), '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// before yields what is in front of a turn.
func before(ctx context.Context, t *core.Turn) iter.Seq2[core.Record, error] {
	return func(yield func(core.Record, error) bool) {
		for rec, err := range t.Records(ctx, core.Pos{}) {
			if begun, ok := rec.Event.(core.TurnStarted); ok && begun.Turn == t.ID() || !yield(rec, err) {
				return
			}
		}
	}
}
