package sessions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/bundle"
	"dragoman/core/display"
	"dragoman/core/jsonl"
)

// client is the name under which these commands change sessions.
const client = "dragoman sessions"

// ImportOptions configure an import.
type ImportOptions struct {
	File   string         // "-": standard input
	ID     core.SessionID // of the session; empty: that in the file
	AsCopy bool           // under a new id
	Folder string         // in which the session works; empty: those in the file
	Dry    bool           // nothing is imported
	MaxMiB int            // of the file when it is unpacked
}

// Import makes a session of a file of Export, with those of its tasks: all of them, or none.
func Import(ctx context.Context, env *program.Environment, o ImportOptions) error {
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	in, err := open(env, o.File)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return with(env, func(store *jsonl.Store, g *core.Gateway) error {
		read := bundle.Options{
			Max: int64(o.MaxMiB) << 20,
			IDs: func(inFile []core.SessionID) ([]core.SessionID, error) { return o.ids(ctx, g, inFile) },
			Folders: func(roots []string) ([]string, error) {
				return o.folders(env.Home(), roots)
			},
			By: client, Now: time.Now(), Principal: core.Local,
		}
		info, err := importFrom(ctx, in, store, read, o)
		if err != nil {
			return err
		}
		if o.Dry {
			tellImported(env.Out, info, "Session %s can be imported: %s.\n")
			return nil
		}
		tellImported(env.Out, info, "Session %s was imported: %s.\n")
		return closeTurns(ctx, g, info)
	})
}

// open opens the file, of which a check reads the whole before it is imported.
func open(env *program.Environment, path string) (*os.File, error) {
	if path == standard {
		if terminal.Is(env.In) {
			return nil, program.UsageError{Err: errors.New("name a file, or redirect the input")}
		}
		return env.In, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a regular file", path)
	}
	return os.Open(path)
}

// importFrom reads the file twice, if that is possible: nothing is written for a bad one.
func importFrom(ctx context.Context, in *os.File, store *jsonl.Store, read bundle.Options, o ImportOptions) (bundle.Info, error) {
	if _, err := in.Seek(0, io.SeekCurrent); err == nil && o.File != standard || o.Dry {
		info, err := bundle.Read(ctx, in, read, nil)
		if err != nil || o.Dry {
			return info, err
		}
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return info, err
		}
		chosen := info.Chosen // it may be a new one, which was made up
		read.IDs = func([]core.SessionID) ([]core.SessionID, error) { return chosen, nil }
	}
	arrival := store.Receive()
	info, err := bundle.Read(ctx, in, read, arrival)
	if err == nil {
		err = arrival.Commit(context.WithoutCancel(ctx))
	} else {
		err = errors.Join(err, arrival.Abort())
	}
	if errors.Is(err, core.ErrExists) {
		err = there(info.ID)
	}
	return info, err
}

// ids returns the ids of the sessions of a file here.
func (o ImportOptions) ids(ctx context.Context, g *core.Gateway, inFile []core.SessionID) ([]core.SessionID, error) {
	ids := slices.Clone(inFile)
	if o.AsCopy || o.ID != "" {
		for i := range ids {
			ids[i] = core.SessionID(strings.ToLower(rand.Text()))
		}
	}
	if o.ID != "" {
		ids[0] = o.ID
	}
	for _, id := range ids {
		if _, err := g.Has(ctx, core.Local, id); err == nil {
			return nil, there(id)
		} else if !errors.Is(err, core.ErrNotFound) {
			return nil, err
		}
	}
	return ids, nil
}

func there(id core.SessionID) error {
	return fmt.Errorf("there is a session %.100q already; --as-copy imports it under a new id, --id NEW under this one", id)
}

// folders returns the folders in which the session works. Those in a file are as wide as whoever wrote
// it likes, and what the agent may change without asking is in them.
func (o ImportOptions) folders(home string, roots []string) ([]string, error) {
	if o.Folder != "" {
		dir, err := filepath.Abs(o.Folder)
		return []string{dir}, err
	}
	roots, err := bundle.Folders(roots)
	if err != nil {
		return nil, err
	}
	for _, dir := range roots {
		below, err := filepath.Rel(dir, home)
		if home != "" && err == nil && filepath.IsLocal(below) || filepath.Dir(dir) == dir {
			return nil, fmt.Errorf("the session in the file works in %s, which is more than one project; name its folder here with --folder", display.Printable(dir))
		}
	}
	return roots, nil
}

func tellImported(to io.Writer, info bundle.Info, text string) {
	fmt.Fprintf(to, text, display.Line(string(info.ID), 64), contents(info))
	if info.Title != "" {
		fmt.Fprintf(to, "Title: %s\n", display.Line(info.Title, 100))
	}
	for i, dir := range info.Roots {
		note := ""
		if s, err := os.Stat(dir); err != nil || !s.IsDir() {
			note = " (not here; --folder names another one)"
		}
		fmt.Fprintf(to, "%s: %s%s\n", [...]string{"Folder", "And"}[min(i, 1)], display.Printable(dir), note)
	}
}

// closeTurns closes turns that were running when the file was written, as after a crash.
func closeTurns(ctx context.Context, g *core.Gateway, info bundle.Info) error {
	var errs []error
	for _, id := range info.Chosen {
		_, err := g.Open(ctx, core.Local, id)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
