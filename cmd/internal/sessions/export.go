package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/bundle"
	"dragoman/core/datadir"
	"dragoman/core/display"
	"dragoman/core/jsonl"
)

// standard is the name of standard output and input in place of a file.
const standard = "-"

// Export writes a session with all that belongs to it into a file; output "" names it after the
// session, and "-" is standard output. A file that exists is replaced only with force.
func Export(ctx context.Context, env *program.Environment, typed, output string, force bool) error {
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	return with(env, func(store *jsonl.Store, g *core.Gateway) error {
		id, err := listedID(ctx, g, typed)
		if err != nil {
			return err
		}
		if output == "" {
			output = fileName(id)
		}
		var info bundle.Info
		write := func(to io.Writer) (err error) {
			info, err = bundle.Write(ctx, to, store, core.Local, id, "dragoman "+env.Version, time.Now())
			return err
		}
		if output == standard {
			if f, ok := env.Out.(*os.File); ok && terminal.Is(f) {
				return program.UsageError{Err: errors.New("a terminal cannot show this file; name one with --output, or redirect the output")}
			}
			err = write(env.Out)
		} else {
			err = exportFile(ctx, output, force, write)
		}
		if errors.Is(err, core.ErrNotFound) {
			return noSession(typed)
		}
		if err != nil {
			return err
		}
		tellExported(env.Err, info, output)
		return nil
	})
}

// exportFile writes the file and reads it again before it gets its name.
func exportFile(ctx context.Context, path string, force bool, write func(io.Writer) error) error {
	if info, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	} else if !info.IsDir() {
		return fmt.Errorf("write %s: %s is not a folder", path, filepath.Dir(path))
	}
	put := datadir.CreateBy
	if force {
		put = datadir.ReplaceBy
	}
	err := put(path, func(f *os.File) error {
		err := write(f)
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err == nil {
			err = bundle.Check(ctx, f)
		}
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s already exists; --force replaces it", path)
	}
	return err
}

// fileName returns the name of the file for a session.
func fileName(id core.SessionID) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, string(id))
	return name[:min(len(name), 64)] + ".dragoman"
}

func tellExported(to io.Writer, info bundle.Info, output string) {
	place := output
	if output == standard {
		place = "standard output"
	}
	fmt.Fprintf(to, "Session %s is in %s: %s.\n", display.Line(string(info.ID), 64), display.Printable(place), contents(info))
	if info.Missing > 0 {
		fmt.Fprintf(to, "Its log is damaged: %s of it are missing. The file has a note instead.\n", counted(info.Missing, "record"))
	}
}

// contents describes what a file has.
func contents(info bundle.Info) string {
	text := counted(info.Records, "record")
	if tasks := len(info.Sessions) - 1; tasks > 0 {
		text += ", " + counted(uint64(tasks), "task")
	}
	return text
}

// counted returns a number of things.
func counted(n uint64, what string) string {
	if n != 1 {
		what += "s"
	}
	return display.Number(int(n)) + " " + what
}
