package tools

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/core"
)

// again makes the next query look at the folders, as it does a second later.
func (k *finder) again() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = time.Time{}
}

// A finder that keeps names finds what one does that has just begun, whatever changes in between.
func TestFinderKeepsUp(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := newBed(t)
		b.randomTree(r, ".", 4)
		f := NewFiles(FilesOptions{Policy: suffixPolicy{suffix: "secret"}})
		k := f.keep([]string{b.dir, b.away})
		for step := range 6 {
			for _, q := range []string{"", "b", "a/", ".e", "xlog", "needle", "é"} {
				k.again()
				got, want := k.Find(t.Context(), q, 20), f.keep(k.roots).Find(t.Context(), q, 20)
				if !slices.Equal(got, want) {
					t.Errorf("seed %d, step %d, %q:\ngot  %v\nwant %v", seed, step, q, got, want)
				}
			}
			b.shake(r)
		}
	}
}

// shake changes something in a workspace, and makes some of it look old: only then names are kept.
func (b *bed) shake(r *rand.Rand) {
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch n := r.IntN(30); {
		case path == b.dir:
		case n == 0:
			if err := os.RemoveAll(path); err != nil || d.IsDir() {
				return cmpSkip(err)
			}
			return nil
		case n == 1 && d.IsDir():
			b.randomTree(r, strings.TrimPrefix(path, b.dir+string(filepath.Separator)), 1)
			return nil
		case n == 2 && d.Name() == ".gitignore":
			return os.WriteFile(path, []byte("a\n"), 0o600)
		}
		if r.IntN(2) == 0 && d.Type()&os.ModeSymlink == 0 {
			return os.Chtimes(path, old, old.Add(time.Duration(r.IntN(1e9))))
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// cmpSkip leaves a removed folder out of a walk.
func cmpSkip(err error) error {
	if err == nil {
		err = filepath.SkipDir
	}
	return err
}

// Names that are kept are looked at again a second later at the latest, and rules are asked at each query.
func TestFinderAsksRulesAnew(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "")
	b.put("sub/b.txt", "")
	var denied atomic.Value
	denied.Store("-")
	f := NewFiles(FilesOptions{Policy: policyFunc(func(c core.Check) core.Verdict {
		if strings.Contains(c.Access[0].Path, denied.Load().(string)) {
			return core.Verdict{Effect: core.Deny}
		}
		return core.Verdict{Effect: core.Allow}
	})})
	k := f.Keep([]string{b.dir})
	find := func(want ...string) {
		t.Helper()
		var got []string
		for _, n := range k.Find(t.Context(), "txt", 9) {
			got = append(got, filepath.Base(n.Path))
		}
		if !slices.Equal(got, want) {
			t.Errorf("found %v, want %v", got, want)
		}
	}
	find("a.txt", "b.txt")
	denied.Store("sub")
	find("a.txt")
	denied.Store("-")
	b.put("sub/new.txt", "")
	k.(*finder).again()
	find("a.txt", "b.txt", "new.txt")
	if err := os.RemoveAll(filepath.Join(b.dir, "sub")); err != nil {
		t.Fatal(err)
	}
	b.put(filepath.Join(b.away, "sub/b.txt"), "")
	b.link("../app-evil/sub", "sub") // what was a folder leads outside now
	k.(*finder).again()
	find("a.txt")
}

// Neither the number of entries nor their names make a finder grow without bounds, and a query that is no longer
// wanted is not answered to its end.
func TestFinderIsBounded(t *testing.T) {
	b := newBed(t)
	for i := range 60 {
		b.put(fmt.Sprintf("%02d/%s/f", i, strings.Repeat("x", 200)), "")
	}
	k := NewFiles(FilesOptions{}).keep([]string{b.dir, b.away})
	k.limit = 100
	if n := k.Find(t.Context(), "x", 1000); len(n) != 0 || k.tops[0].entries.now != 50 {
		t.Errorf("%d found, looked at %d", len(n), k.tops[0].entries.now)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k = NewFiles(FilesOptions{}).keep([]string{b.dir})
	if n := k.Find(ctx, "x", 1000); len(n) != 0 || k.tops != nil {
		t.Errorf("%d found, %d looked at", len(n), len(k.tops))
	}
	n := &names{given: b.dir, real: b.dir, rels: map[string]*listed{}, begun: time.Now()}
	n.entries.most, n.bytes.most = maxLooked, 1000
	s := k.f.deskOf([]string{b.dir})
	defer s.Close()
	if n.read(t.Context(), s, s.outermost()[0], &names{}); n.bytes.now < 1000 || n.bytes.now > 60*(64+4) {
		t.Errorf("%d bytes", n.bytes.now)
	}
}

// BenchmarkFind completes in 50,000 files, as somebody types.
func BenchmarkFind(b *testing.B) {
	bed := newBed(b)
	for i := range 500 {
		dir := filepath.Join(bed.dir, fmt.Sprintf("dir_%02d/sub_%03d", i/20, i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 100 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file_%d_%d.go", i, j)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	f := NewFiles(FilesOptions{Policy: suffixPolicy{suffix: "secret"}})
	for _, query := range []string{"", "f", "file_499", "zzzz"} {
		b.Run("first/"+query, func(b *testing.B) {
			for b.Loop() {
				f.Keep([]string{bed.dir}).Find(b.Context(), query, 100)
			}
		})
		k := f.keep([]string{bed.dir})
		k.Find(b.Context(), query, 100)
		b.Run("next/"+query, func(b *testing.B) {
			for b.Loop() {
				k.Find(b.Context(), query, 100)
			}
		})
		b.Run("look/"+query, func(b *testing.B) {
			for b.Loop() {
				k.again()
				k.Find(b.Context(), query, 100)
			}
		})
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	k := f.Keep([]string{bed.dir})
	k.Find(b.Context(), "f", 100)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Logf("%d KiB are kept", (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>10)
	runtime.KeepAlive(k)
}
