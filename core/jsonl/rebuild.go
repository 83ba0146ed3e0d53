package jsonl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dragoman/core"
)

// An index of more logs, or longer ones, is rebuilt in the background for a list that does not wait.
const (
	fewLogs   = 200
	fewLogged = 8 << 20 // bytes
)

// errRebuilding means that the index is being rebuilt by this process, from the logs: it will have what was to be
// added to it.
var errRebuilding = errors.New("the index is being rebuilt")

// rebuilding is an index that is rebuilt in the background.
type rebuilding struct {
	done chan struct{} // closed at its end

	found []indexEntry // what was read so far; guarded by Store.mu
}

// rebuilds returns the index that is being rebuilt; nil: none is.
func (s *Store) rebuilds() *rebuilding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rebuilt
}

// startRebuild begins to rebuild the index in the background, unless that is under way, and returns what is known of
// it so far. The goroutine ends with the Store at the latest.
func (s *Store) startRebuild(root string) (found []indexEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rebuilt; r != nil {
		return r.found
	}
	r := &rebuilding{done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	s.rebuilt, s.stopRebuild = r, cancel
	s.rebuildWG.Go(func() {
		defer cancel()
		err := s.rebuildAside(ctx, root, r)
		s.mu.Lock()
		s.rebuilt, s.cannotRebuild = nil, err != nil // the next list tries again, and waits
		s.mu.Unlock()
		close(r.done)
	})
	return nil
}

// mayRebuild reports whether it is worth rebuilding the index in the background.
func (s *Store) mayRebuild() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && !s.cannotRebuild
}

// endRebuild ends the goroutine of startRebuild, and waits for that.
func (s *Store) endRebuild() {
	s.mu.Lock()
	s.closed = true
	if s.rebuilt != nil {
		s.stopRebuild()
	}
	s.mu.Unlock()
	s.rebuildWG.Wait()
}

// rebuildAside makes the index from the logs, and locks it only at the end: then it looks again at the logs that have
// changed meanwhile.
func (s *Store) rebuildAside(ctx context.Context, root string, r *rebuilding) error {
	logs, err := s.logs(root)
	if err != nil {
		return err
	}
	byLog := map[string]indexEntry{}
	for _, f := range newestFirst(logs) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if e, err := deriveAny(ctx, f); err == nil {
			byLog[f.log] = e
			s.mu.Lock()
			r.found = append(r.found, e)
			s.mu.Unlock()
		}
	}
	return s.changeIndex(ctx, func(root string) error {
		if s.indexSound(root) { // another process has made it
			return nil
		}
		_ = s.sweep(ctx, root) // the next sweep removes what is left
		logs, err := s.logs(root)
		if err != nil {
			return err
		}
		var all []indexEntry
		for _, f := range logs {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			e, known := byLog[f.log]
			if fi, err := os.Lstat(f.log); err != nil {
				continue
			} else if !known || fi.Size() != e.Log {
				if e, err = deriveAny(ctx, f); err != nil {
					continue
				}
			}
			all = append(all, e)
		}
		byUse(all)
		return s.writeIndex(root, all)
	})
}

// indexSound reports whether there is an index without damage.
func (s *Store) indexSound(root string) bool {
	index, err := openFile(indexPath(root), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = index.Close() }()
	for _, err := range entries(index) {
		if err != nil {
			return false
		}
	}
	return true
}

// newestFirst orders logs by the time of their last change.
func newestFirst(logs []files) []files {
	type dated struct {
		files
		at time.Time
	}
	all := make([]dated, 0, len(logs))
	for _, f := range logs {
		if fi, err := os.Lstat(f.log); err == nil {
			all = append(all, dated{f, fi.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b dated) int { return b.at.Compare(a.at) })
	logs = logs[:0]
	for _, d := range all {
		logs = append(logs, d.files)
	}
	return logs
}

// hasMany reports whether reading all logs takes so long that a list should not wait.
func (s *Store) hasMany(root string) bool {
	dirs, err := os.ReadDir(filepath.Join(root, "sessions"))
	if err != nil {
		return false
	}
	n, size := 0, int64(0)
	for _, d := range dirs {
		names, err := os.ReadDir(filepath.Join(root, "sessions", d.Name()))
		if err != nil {
			continue
		}
		for _, name := range names {
			if filepath.Ext(name.Name()) != ".jsonl" {
				continue
			}
			if fi, err := name.Info(); err == nil {
				n, size = n+1, size+fi.Size()
			}
		}
		if n > fewLogs || size > fewLogged {
			return true
		}
	}
	return false
}

// logs lists the sessions that have a log.
func (s *Store) logs(root string) (all []files, err error) {
	logs, err := fs.Glob(os.DirFS(root), "sessions/??/*.jsonl")
	for _, log := range logs {
		dir, base := filepath.Split(filepath.Join(root, filepath.FromSlash(log)))
		all = append(all, s.filesOf(filepath.Clean(dir), base[:len(base)-len(".jsonl")]))
	}
	return all, err
}

// rebuildIndex makes the index from the logs.
func (s *Store) rebuildIndex(ctx context.Context, root string) error {
	all, err := s.deriveAll(ctx, root)
	if err != nil {
		return err
	}
	_ = s.sweep(ctx, root) // the next sweep removes what is left
	return s.writeIndex(root, all)
}

// deriveAll derives the summaries of all sessions from their logs, the one used last
// at the end. Unreadable logs are left out.
func (s *Store) deriveAll(ctx context.Context, root string) (all []indexEntry, err error) {
	logs, err := s.logs(root)
	if err != nil {
		return nil, err
	}
	for _, f := range logs {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if e, err := deriveAny(ctx, f); err == nil {
			all = append(all, e)
		}
	}
	byUse(all)
	return all, nil
}

// byUse sorts entries, the one used last at the end.
func byUse(all []indexEntry) {
	slices.SortFunc(all, func(a, b indexEntry) int {
		return cmp.Or(a.Summary.Updated.Compare(b.Summary.Updated), cmp.Compare(a.Summary.ID, b.Summary.ID))
	})
}

// writeIndex replaces the index. Entries come in the order of their use.
func (s *Store) writeIndex(root string, all []indexEntry) error {
	var lines []byte
	for _, e := range all {
		if line, err := e.line(); err == nil {
			lines = append(lines, line...)
		}
	}
	b, err := json.Marshal(indexHeader{indexName, 1, int64(len(lines))})
	if err != nil {
		return err
	}
	if err := s.disk.replace(indexPath(root), append(seal(b, 0), lines...), true); err != nil {
		return err
	}
	return s.disk.syncDir(root)
}

// deriveAny is derive, also of a log whose first line is damaged.
func deriveAny(ctx context.Context, f files) (indexEntry, error) {
	e, err := derive(ctx, f)
	if errors.Is(err, errHead) {
		e, err = headless(f)
	}
	return e, err
}

// headless returns the entry for a log whose first line is damaged: it is listed, so
// that users can find and repair it.
func headless(f files) (indexEntry, error) {
	m, err := readMeta(f)
	if m.ID == "" {
		return indexEntry{}, err
	}
	fi, err := os.Lstat(f.log)
	if err != nil {
		return indexEntry{}, err
	}
	return indexEntry{Principal: m.Principal, Log: fi.Size(), Summary: newSummary(m)}, nil
}

// newSummary returns the summary of a new session.
func newSummary(m core.Meta) core.Summary {
	return core.Summary{
		ID: m.ID, Cwd: m.Cwd, Roots: m.Roots, Parent: m.Parent, Created: m.Created, Updated: m.Created,
	}
}

// derive derives a session's summary from its log; fs.ErrNotExist if there is none, or one without content.
func derive(ctx context.Context, f files) (indexEntry, error) {
	fi, err := os.Lstat(f.log)
	if err != nil {
		return indexEntry{}, err
	}
	e := indexEntry{Log: fi.Size()}
	e.Summary, err = core.Summarize(func() iter.Seq2[core.Record, error] {
		return func(yield func(core.Record, error) bool) {
			_, err := readLog(ctx, f, "", core.Pos{}, nil, func(r core.Record) bool {
				if opened, ok := r.Event.(core.Opened); ok && r.Seq == 1 {
					e.Principal = opened.Meta.Principal
				}
				return yield(r, nil)
			})
			if err != nil {
				yield(core.Record{}, err)
			}
		}
	})
	if err == nil && e.Principal == "" {
		err = errHead
	}
	if errors.Is(err, errHead) && f.unborn() {
		err = fs.ErrNotExist
	}
	return e, err
}
