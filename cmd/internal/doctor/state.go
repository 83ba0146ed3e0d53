package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/retention"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonl"
)

func (d *Doctor) examineState(ctx context.Context, config *configs.Config) section {
	s := section{title: "Sessions"}
	dir, err := d.env.DataDir()
	if err != nil {
		s.add(wrong, "%v", err)
		return s
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := tryStore(ctx, existing(dir)); err != nil {
			s.add(wrong, "sessions cannot be kept in %s, which is not there yet: %v", dir, err).hint = program.OtherData
		} else {
			s.add(plain, "%s will be made with the first session", dir)
		}
		return s
	case err != nil:
		s.add(wrong, "%v", err).hint = program.OtherData
		return s
	case !info.IsDir():
		s.add(wrong, "%s is not a folder", dir).hint = program.OtherData
		return s
	}
	s.add(fine, "%s", dir)
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&0o077 != 0 {
		s.add(look, "others can look into it (%04o)", perm).hint = "chmod 700 " + dir
	}
	if free, ok := freeSpace(dir); ok {
		const little, none = 1 << 30, 64 << 20
		m := fine
		if free < none {
			m = wrong
		} else if free < little {
			m = look
		}
		s.add(m, "%s free", bytesText(free))
	}
	began := time.Now()
	if err := tryStore(ctx, dir); err != nil {
		s.add(wrong, "a session cannot be kept there: %v", err).hint = program.OtherData
	} else {
		s.add(
			fine,
			"a session could be made, locked, written, synced and removed in %v",
			time.Since(began).Round(time.Millisecond),
		)
	}
	examineLogs(ctx, &s, dir)
	examineAge(ctx, &s, dir, config.Sessions)
	if path := filepath.Join(dir, logs.AuditFile); fileThere(path) {
		s.add(plain, "what MCP clients have called through dragoman is recorded in %s", path)
	}
	return s
}

// checkedBytes limits the part of the sessions' logs that the doctor reads, the last used first.
// Reading that much takes about a second.
const checkedBytes = 128 << 20

// examineLogs counts the sessions and finds damaged ones.
func examineLogs(ctx context.Context, s *section, dir string) {
	store := jsonl.New(dir)
	count, checked, left := 0, 0, int64(checkedBytes)
	for sum, err := range store.List(ctx, core.Local) {
		if err != nil {
			s.add(look, "%v", err)
			continue
		}
		if count++; left <= 0 {
			continue
		}
		checked++
		damage, size, err := store.Check(ctx, core.Local, sum.ID)
		left -= size
		switch {
		case errors.Is(err, core.ErrNotFound): // removed in the meantime
		case err != nil:
			s.add(wrong, "%v", err)
		case damage != "":
			id := display.Line(string(sum.ID), 64)
			s.add(wrong, "session %s is damaged: %s", id, damage).hint = "dragoman sessions repair " + id
		}
	}
	if err := store.Close(); err != nil {
		s.add(look, "%v", err)
	}
	s.add(plain, "sessions kept: %d", count)
	if checked < count {
		s.add(plain, "only the %d used last were checked for damage", checked)
	}
}

// examineAge says what happens to old sessions, and to which next.
func examineAge(ctx context.Context, s *section, dir string, rules configs.Sessions) {
	if retention.None(rules) {
		return // the usual case
	}
	store := jsonl.New(dir)
	now := time.Now()
	due, err := retention.Due(ctx, store, rules, now)
	next, at, ok, nextErr := retention.Next(ctx, store, rules, now)
	if err := errors.Join(err, nextErr, store.Close()); err != nil {
		s.add(look, "old sessions cannot be looked at: %v", err)
		return
	}
	does := func(old retention.Old) string {
		if old.Delete {
			return "deleted"
		}
		return "archived"
	}
	number := map[string]int{}
	for _, old := range due {
		if old.Spared == "" {
			number[does(old)]++
		}
	}
	for _, what := range []string{"archived", "deleted"} {
		after := rules.ArchiveAfter
		if what == "deleted" {
			after = rules.DeleteAfter
		}
		if after > 0 {
			said := s.add(plain, "sessions are %s after %d d without use; as old by now: %d", what, int(after.Hours()/24), number[what])
			if number[what] > 0 {
				said.hint = "dragoman sessions prune --dry-run"
			}
		}
	}
	if ok {
		s.add(plain, "next is %s, which will be %s on %s", display.Line(string(next.ID), 64), does(next), at.Local().Format(time.DateOnly))
	}
}

// existing returns path, or the nearest folder above it that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// tryStore creates a session below dir and removes it, to check that the file system supports the
// store.
func tryStore(ctx context.Context, dir string) (err error) {
	trial, err := os.MkdirTemp(dir, "doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(trial)) }()
	store := jsonl.New(trial)
	defer func() { err = errors.Join(err, store.Close()) }()
	j, err := store.Create(ctx, core.Meta{ID: "trial", Principal: core.Local, Cwd: trial, Created: time.Now()})
	if err != nil {
		return err
	}
	_, err = j.Claim(ctx)
	if err == nil {
		err = j.Sync(ctx)
	}
	return errors.Join(err, j.Release(), j.Close())
}

func fileThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func bytesText(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
