package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// followEvery is how often logs are looked at for new lines.
const followEvery = 250 * time.Millisecond

func (a *app) mcpServersLogs() *cobra.Command {
	var lines int
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs [SERVER]",
		Short: "Show what servers have said, and what became of them",
		Long: `Show the last lines of a server's log, or of all logs together: what it printed on standard
error and beside the protocol, what it logged over the protocol, when it started and why it
ended. What the configuration gives it as env or headers is shown as ***.

The logs stand in mcp-logs in the data folder, for your eyes only, at most 2 MiB for each server.`,
		Example: `  dragoman mcp-servers logs files
  dragoman mcp-servers logs -n 200 | grep warn
  dragoman mcp-servers logs files -f`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeOneServer,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			if lines < 0 {
				return errors.New("-n is how many lines are shown; 0 means all of them")
			}
			ctx, stop := untilSignal(ctx, true)
			defer stop()
			return a.showServerLogs(ctx, args, lines, follow)
		}),
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 50, "how many `LINES` are shown; 0: all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is said from now on, until Ctrl-C")
	return cmd
}

func (a *app) showServerLogs(ctx context.Context, args []string, lines int, follow bool) error {
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, serverLogDir)
	r := &logReader{dir: dir, of: map[string]*logPlace{}}
	if len(args) > 0 {
		r.only = serverLogPath(dir, args[0])
		_, statErr := os.Stat(r.only)
		if _, _, err := a.knownServer(args[0]); err != nil && errors.Is(statErr, fs.ErrNotExist) {
			return err
		}
	}
	last, err := r.next()
	if err != nil {
		return err
	}
	if len(last) == 0 && !follow {
		fmt.Fprintln(a.errs, "Nothing was said yet: a server's log begins when a session starts it.")
	}
	if lines > 0 {
		last = last[max(0, len(last)-lines):]
	}
	for {
		for _, line := range last {
			if _, err := fmt.Fprintln(a.out, printable(line)); err != nil {
				return err
			}
		}
		if !follow {
			return nil
		}
		t := time.NewTimer(followEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
		if last, err = r.next(); err != nil {
			return err
		}
	}
}

// logReader reads logs on from where it was.
type logReader struct {
	dir  string
	only string // the path of the one that is meant; "": all
	of   map[string]*logPlace
}

// logPlace is how far a log was read.
type logPlace struct {
	file os.FileInfo // nil: nothing was read yet
	at   int64
}

// next is the lines since it was called last, in the order of their times.
func (r *logReader) next() ([]string, error) {
	paths := []string{r.only}
	if r.only == "" {
		var err error
		if paths, err = filepath.Glob(filepath.Join(r.dir, "*.log")); err != nil {
			return nil, err
		}
		old, err := filepath.Glob(filepath.Join(r.dir, "*.log.1"))
		if err != nil {
			return nil, err
		}
		for _, path := range old {
			paths = append(paths, strings.TrimSuffix(path, ".1"))
		}
	}
	var all []string
	names := map[string]bool{}
	for _, path := range paths {
		names[path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(names)) {
		if r.of[path] == nil {
			r.of[path] = &logPlace{}
		}
		text, err := r.of[path].read(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".log")
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); r.only == "" && len(line) > len(serverLogTime) {
				line = line[:len(serverLogTime)] + " " + name + ":" + line[len(serverLogTime):]
			}
			all = append(all, line)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int {
		return strings.Compare(a[:min(len(a), len(serverLogTime))], b[:min(len(b), len(serverLogTime))])
	})
	return all, nil
}

// read is the whole lines behind the place, also those of a log that was put aside
// since.
func (p *logPlace) read(path string) (string, error) {
	now, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the log: %w", err)
	}
	if p.file != nil && now != nil && os.SameFile(now, p.file) {
		if now.Size() < p.at { // another one, of the same number
			p.at = 0
		}
		return p.readOn(path)
	}
	var text string
	aside, err := os.Stat(older(path))
	if err == nil {
		if p.file == nil || !os.SameFile(aside, p.file) {
			p.at = 0 // nothing of it was read
		}
		if text, err = p.readOn(older(path)); err != nil {
			return "", err
		}
	}
	if now == nil {
		return text, nil
	}
	p.at = 0
	more, err := p.readOn(path)
	return text + more, err
}

// readOn reads a file on from the place, which is in it from then on.
func (p *logPlace) readOn(path string) (string, error) {
	text, info, err := readFrom(path, p.at)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // it was put aside just now
	}
	if err != nil {
		return "", err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1 // a line may be being written
	p.file, p.at = info, p.at+int64(whole)
	return string(text[:whole]), nil
}

func readFrom(path string, at int64) ([]byte, os.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("read the log: %w", err)
	}
	b, err := io.ReadAll(io.NewSectionReader(f, at, 1<<40))
	if err != nil {
		return nil, nil, fmt.Errorf("read the log: %w", err)
	}
	return b, info, nil
}
