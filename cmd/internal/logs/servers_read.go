package logs

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

	"dragoman/core/display"
)

// followEvery is the interval of checks for new lines.
const followEvery = 250 * time.Millisecond

// Reader reads logs, each from its last position.
type Reader struct {
	dir  string
	only []string // the paths of the selected ones; none: all
	of   map[string]*place
}

// NewReader returns a reader of the logs of servers in a data folder; without a name, of all.
func NewReader(data string, servers ...string) *Reader {
	r := &Reader{dir: filepath.Join(data, serverDir), of: map[string]*place{}}
	for _, s := range servers {
		r.only = append(r.only, serverPath(r.dir, s))
	}
	return r
}

// Exists reports whether one of the selected servers has a log.
func (r *Reader) Exists() bool {
	return slices.ContainsFunc(r.only, func(path string) bool {
		_, err := os.Stat(path)
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// Show writes the last lines (0: all), and, if follow is set, new ones until ctx ends. If there
// is no line it reports that on errs.
func (r *Reader) Show(ctx context.Context, out, errs io.Writer, lines int, follow bool) error {
	last, err := r.next()
	if err != nil {
		return err
	}
	if len(last) == 0 && !follow {
		fmt.Fprintln(errs, "No log yet: a server's log begins when the server is first started.")
	}
	if lines > 0 {
		last = last[max(0, len(last)-lines):]
	}
	for {
		for _, line := range last {
			if _, err := fmt.Fprintln(out, display.Printable(line)); err != nil {
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

// place is a position in a log: the end of the part that was read.
type place struct {
	file os.FileInfo // nil: nothing was read yet
	at   int64
}

// next returns the new lines since its last call, sorted by time.
func (r *Reader) next() ([]string, error) {
	paths := r.only
	if len(paths) == 0 {
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
			r.of[path] = &place{}
		}
		text, err := r.of[path].read(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".log")
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); len(r.only) != 1 && len(line) > len(lineTime) {
				line = line[:len(lineTime)] + " " + name + ":" + line[len(lineTime):]
			}
			all = append(all, line)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int {
		return strings.Compare(a[:min(len(a), len(lineTime))], b[:min(len(b), len(lineTime))])
	})
	return all, nil
}

// read returns the whole lines after the place, including those of a log that was rotated since.
func (p *place) read(path string) (string, error) {
	now, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the log: %w", err)
	}
	if p.file != nil && now != nil && os.SameFile(now, p.file) {
		if now.Size() < p.at { // another file with the same number
			p.at = 0
		}
		return p.readOn(path)
	}
	var text string
	aside, err := os.Stat(older(path))
	if err == nil {
		if p.file == nil || !os.SameFile(aside, p.file) {
			p.at = 0 // it was not read yet
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

// readOn reads the rest of a file after the place, which refers to the file from then on.
func (p *place) readOn(path string) (string, error) {
	text, info, err := readFrom(path, p.at)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // it was rotated just now
	}
	if err != nil {
		return "", err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1 // the last line may be incomplete
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
