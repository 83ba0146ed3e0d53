package tools

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/files"
)

// randomTree makes folders and files of all kinds at random, up to a depth.
func (b *bed) randomTree(r *rand.Rand, at string, depth int) {
	for range r.IntN(9) {
		name := []string{"a", "b", "b.txt", "B", "c-d", ".e", ".git", ".ssh", "secret", "x.log", "id_rsa", ".config", "gh", "é", "z"}[r.IntN(15)]
		path := filepath.Join(at, name)
		if _, err := os.Lstat(filepath.Join(b.dir, path)); err == nil {
			continue
		}
		switch {
		case r.IntN(12) == 0:
			b.link("b.txt", path)
		case depth > 0 && r.IntN(3) > 0:
			if err := os.MkdirAll(filepath.Join(b.dir, path), 0o755); err != nil {
				b.t.Fatal(err)
			}
			b.randomTree(r, path, depth-1)
		default:
			b.put(path, "needle "+name+"\n")
		}
	}
	if r.IntN(5) == 0 {
		b.put(filepath.Join(at, ".gitignore"), []string{"*.log\n", "b/\n", "!x.log\n/a\n", "c-d/**\n"}[r.IntN(4)])
	}
}

// plainWalk lists what a walk visits and counts what it leaves out, by the rules and os.ReadDir alone.
func (b *bed) plainWalk(w *walk, rel string, rules *ignores, pick func(*entry) (visit, into bool), list *[]string) {
	entries, err := os.ReadDir(filepath.Join(w.real, rel))
	if err != nil {
		b.t.Fatal(err)
	}
	if rel != "." {
		if text, err := os.ReadFile(filepath.Join(w.real, rel, ".gitignore")); err == nil {
			if own := parseIgnore(string(text)); len(own) > 0 {
				rules = &ignores{above: rules, base: filepath.Join(w.top, rel), rules: own}
			}
		}
	}
	for _, d := range entries {
		e := entry{rel: filepath.ToSlash(filepath.Join(rel, d.Name())), name: d.Name(), kind: d.Type(), depth: strings.Count(rel, "/") + 2}
		if rel == "." {
			e.depth = 1
		}
		real := filepath.Join(w.real, e.rel)
		switch {
		case vcs(e.name) || rules.match(filepath.Join(w.top, e.rel), d.IsDir()):
			continue
		case !w.among && files.KeepsKeys(real):
			*list = append(*list, "keys")
			continue
		case w.bar(real):
			*list = append(*list, "barred")
			continue
		}
		visit, into := pick(&e)
		if visit {
			*list = append(*list, fmt.Sprint(e.rel, " ", e.name, " ", e.kind, " ", e.depth))
		}
		if into && d.IsDir() {
			b.plainWalk(w, e.rel, rules, pick, list)
		}
	}
}

// A walk that reads ahead visits the same as one that does not, in the same order, and leaves out as much, also
// where it is stopped early. Both visit what a plain recursion over os.ReadDir does.
func TestReadingAheadChangesNothing(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBed(t, Options{Forbids: func(core.ToolHost) (func(core.Access) bool, error) {
			return func(a core.Access) bool { return strings.HasSuffix(a.Path, "/secret") }, nil
		}})
		b.randomTree(r, ".", 4)
		b.put("sub/deep/f", "needle\n")
		picks := []func(e *entry) (visit, into bool){
			func(*entry) (bool, bool) { return true, true },
			func(e *entry) (bool, bool) { return !e.kind.IsDir(), e.name != "b" },
			func(e *entry) (bool, bool) { return strings.Contains(e.rel, "a"), e.depth < 3 },
		}
		for i, pick := range picks {
			for _, start := range []string{".", "sub", "sub/deep"} {
				want := []string{}
				w, done := b.walk(start)
				b.plainWalk(w, ".", w.rules, pick, &want)
				done()
				for _, most := range []int{1 << 30, 5, 1} {
					serial, ahead := b.walked(start, pick, false, most), b.walked(start, pick, true, most)
					if !slices.Equal(serial, ahead) {
						t.Errorf("seed %d, pick %d, %s, %d:\nserial %q\nahead  %q", seed, i, start, most, serial, ahead)
					}
					if most == 1<<30 && !slices.Equal(order(serial), order(want)) {
						t.Errorf("seed %d, pick %d, %s:\ngot  %q\nwant %q", seed, i, start, serial, want)
					}
				}
			}
		}
	}
}

// order returns what is visited in its order, and then the counts of what is left out.
func order(list []string) []string {
	counts := map[string]int{}
	var out []string
	for _, e := range list {
		if e == "keys" || e == "barred" {
			counts[e]++
		} else {
			out = append(out, e)
		}
	}
	return append(out, fmt.Sprint(counts["barred"], " ", counts["keys"]))
}

func (b *bed) walk(start string) (*walk, func()) {
	b.t.Helper()
	p, err := b.set.files.Locate(start)
	if err != nil {
		b.t.Fatal(err)
	}
	w, done, err := b.set.walkFrom(p)
	if err != nil {
		b.t.Fatal(err)
	}
	return w, done
}

// walked lists the first entries that a walk visits, and what it left out until then.
func (b *bed) walked(start string, pick func(*entry) (visit, into bool), ahead bool, most int) (list []string) {
	b.t.Helper()
	w, done := b.walk(start)
	defer done()
	if w.pick = pick; ahead {
		w.readAhead(pick)
	}
	err := w.each(b.t.Context(), func(e entry) (into, on bool) {
		list = append(list, fmt.Sprint(e.rel, " ", e.name, " ", e.kind, " ", e.depth))
		if e.kind.IsRegular() {
			if _, err := e.in.Lstat(e.name); err != nil {
				b.t.Error(err)
			}
		}
		return true, len(list) < most
	})
	if err != nil {
		b.t.Error(err)
	}
	for range w.keys {
		list = append(list, "keys")
	}
	for range w.barred {
		list = append(list, "barred")
	}
	return list
}

// A walk that is cancelled, or whose visitor stops, leaves no folder open.
func TestWalksCloseTheirFolders(t *testing.T) {
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("open files are not listed here")
		}
		return len(list)
	}
	b := newBed(t)
	for i := range 100 {
		b.put(fmt.Sprintf("d%d/e%d/f", i%10, i), "needle\n")
	}
	b.ok("glob", m{"pattern": "**"}) // opens the root
	before := open()
	for _, most := range []int{1, 10, 50, 1000} {
		b.walked(".", func(*entry) (bool, bool) { return true, true }, true, most)
		b.ok("grep", m{"pattern": "needle", "limit": most})
	}
	ctx, cancel := context.WithCancel(t.Context())
	w, done := b.walk(".")
	w.readAhead(func(*entry) (bool, bool) { return true, true })
	err := w.each(ctx, func(e entry) (into, on bool) { cancel(); return true, true })
	if done(); err == nil {
		t.Error("it was not cancelled")
	}
	if after := open(); after != before {
		t.Errorf("%d files are open, %d were", after, before)
	}
}

// A folder that becomes unreadable is reported as before.
func TestReadingAheadMissesAFolder(t *testing.T) {
	b := newBed(t)
	b.put("a/f", "needle\n")
	b.put("b/f", "needle\n")
	b.set.opts.Forbids = func(core.ToolHost) (func(core.Access) bool, error) {
		return func(a core.Access) bool {
			if strings.HasSuffix(a.Path, "/a") {
				if err := os.RemoveAll(a.Path); err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
			}
			return false
		}, nil
	}
	if got := b.ok("glob", m{"pattern": "**"}); got != "b/f\n\n[some folders could not be read]" {
		t.Errorf("got %q", got)
	}
}
