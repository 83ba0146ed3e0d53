package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/codec"
	"dragoman/core/display"
	"dragoman/core/files"
)

// exportable lists the extensions of files that a session can be written into: no program runs
// them or reads them as settings.
var exportable = []string{".md", ".txt", ".jsonl"}

// Session writes a session into a new file of its workspace, for a turn that asks for it, and
// returns a text about the result. The user asks for it and not the agent, so the command itself
// is the approval. forbidden returns the reason why the user's configuration forbids writing a
// file, or requires a person to be asked when nobody can be; "": it may be written.
func Session(
	ctx context.Context, s *core.Session, t *core.Turn, name string, forbidden func(core.Access) string,
) (string, error) {
	m, st := t.Meta(), t.State()
	if name == "" {
		name = exportName(st)
	}
	w := files.New(workplace{m})
	defer w.Close() //nolint:errcheck // the data is on the disk already
	folder, base, err := exportPlace(w, m, name)
	if err != nil {
		return "The session was not written: " + err.Error() + ".\n", nil
	}
	access := folder.Access(core.OpWrite)
	access.Path = filepath.Join(folder.Real, base)
	if why := forbidden(access); why != "" {
		return "The session was not written: " + why + ".\n", nil
	}
	write := writeMarkdown
	if filepath.Ext(base) == ".jsonl" {
		write = writeRecords
	}
	err = folder.Create(base, func(w io.Writer) error { return write(ctx, w, s, t) })
	switch {
	case errors.Is(err, fs.ErrExist):
		err = fmt.Errorf("%s already exists", display.Printable(name))
	case files.Missing(err):
		err = fmt.Errorf("there is no folder %s", display.Printable(folder.Show))
	}
	if err != nil {
		return "The session was not written: " + files.Cause(err).Error() + ".\n", nil
	}
	return "The session is written in `" + display.Printable(filepath.Join(folder.Name, base)) + "`.\n", nil
}

// exportName derives a file's name from a session's title.
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
	name := cmp.Or(strings.Trim(b.String(), "-"), "session")
	return name + "-" + time.Now().Format("20060102-150405") + ".md"
}

// workplace is a session's workspace on the disk.
type workplace struct{ meta core.Meta }

func (w workplace) Meta() core.Meta           { return w.meta }
func (w workplace) Editor(string) core.Editor { return nil }
func (w workplace) Spills() core.Spills       { return nil }
func (w workplace) Texts() *core.Texts        { return nil }

// exportPlace finds the folder of the workspace and the file's name in it. The place must not be
// one for settings, also after resolving links.
func exportPlace(w *files.Workspace, m core.Meta, name string) (folder files.Place, base string, err error) {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return folder, "", errors.New("the name contains invisible characters")
	}
	if !slices.Contains(exportable, strings.ToLower(filepath.Ext(name))) {
		return folder, "", fmt.Errorf("the name must end in %s", strings.Join(exportable, ", "))
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.Cwd, path)
	}
	dir, base := filepath.Split(filepath.Clean(path))
	if folder, err = w.At(dir); err != nil {
		return folder, "", err
	}
	within := slices.IndexFunc(m.Roots, func(root string) bool { _, in := files.Within(root, path); return in })
	if within < 0 || folder.Root == nil {
		return folder, "", fmt.Errorf("%s is outside of the workspace", display.Printable(path))
	}
	named, _ := files.Within(m.Roots[within], path)
	real, _ := files.Within(folder.Root.Real, filepath.Join(folder.Real, base))
	for _, part := range strings.Split(filepath.ToSlash(named+"/"+real), "/") {
		if strings.HasPrefix(part, ".") {
			return folder, "", errors.New("hidden folders and files may be settings")
		}
	}
	if told := []string{"agents.md", "claude.md", "skill.md"}; slices.Contains(told, strings.ToLower(base)) {
		return folder, "", fmt.Errorf("%s is read by agents as instructions", base)
	}
	return folder, base, nil
}

// writeMarkdown writes the session for people, without the turn that asks for the export.
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

// writeRecords writes the session for programs: one record a line, in its stored form.
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

// before yields the records before a turn.
func before(ctx context.Context, t *core.Turn) iter.Seq2[core.Record, error] {
	return func(yield func(core.Record, error) bool) {
		for rec, err := range t.Records(ctx, core.Pos{}) {
			if begun, ok := rec.Event.(core.TurnStarted); ok && begun.Turn == t.ID() || !yield(rec, err) {
				return
			}
		}
	}
}
