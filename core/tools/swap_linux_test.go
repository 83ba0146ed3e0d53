package tools

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"dragoman/core"
)

// swapper puts links that lead outside in the place of names of a workspace, and takes them away
// again. There is no moment at which a name is missing.
type swapper struct {
	names []swapped
	swaps atomic.Int64
	end   atomic.Bool
	done  sync.WaitGroup
}

// swapped is a name in an open folder, whose path may lead outside just then. The link is beside it,
// with .out at its end, and a second name of a file with .in: tools replace the file, or take it away.
type swapped struct {
	dir  *os.File
	name string
	file bool
	out  bool
}

// add makes a link to target beside a name.
func (s *swapper) add(b *bed, target, path string) {
	b.t.Helper()
	b.link(target, path+".out")
	at := filepath.Join(b.dir, path)
	dir, err := os.Open(filepath.Dir(at))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { dir.Close() })
	info, err := os.Lstat(at)
	if err == nil && info.Mode().IsRegular() {
		err = os.Link(at, at+".in")
	}
	if err != nil {
		b.t.Fatal(err)
	}
	s.names = append(s.names, swapped{dir: dir, name: filepath.Base(path), file: info.Mode().IsRegular()})
}

// run swaps until end is set, at odd times: a call meets none, one, or many swaps.
func (s *swapper) run(t *testing.T) {
	for !s.end.Load() {
		if err := s.names[rand.IntN(len(s.names))].swap(); err != nil {
			t.Error(err)
			return
		}
		s.swaps.Add(1)
		for range rand.IntN(300) {
			runtime.Gosched()
		}
	}
}

func (s *swapped) swap() error {
	fd := int(s.dir.Fd())
	if !s.file {
		return unix.Renameat2(fd, s.name, fd, s.name+".out", unix.RENAME_EXCHANGE)
	}
	s.out = !s.out
	from, through := s.name+map[bool]string{true: ".out", false: ".in"}[s.out], s.name+".next"
	if err := unix.Linkat(fd, from, fd, through, 0); err != nil {
		return err
	}
	return unix.Renameat(fd, through, fd, s.name)
}

// Whenever a file, a folder, a folder above one or a link becomes a link that leads outside, no call
// that was judged as inside shows or changes anything there. Reads and writes each meet 10,000 swaps.
func TestSwapsInEveryCall(t *testing.T) {
	b := newBed(t)
	paths := []string{"f.txt", "d/f.txt", "d/e/f.txt", "l/f.txt"}
	for _, path := range []string{"f.txt", "d/f.txt", "d/e/f.txt", "n/f.txt"} {
		b.put(path, "mine\n")
		b.put(filepath.Join(b.away, path), "CANARY mine\n")
	}
	b.put(filepath.Join(b.away, "d/e/CANARY"), "CANARY\n")
	b.link("n", "l")
	s := &swapper{}
	for path, target := range map[string]string{"f.txt": "f.txt", "d": "d", "d/e": "d/e", "d/f.txt": "d/f.txt", "l": "n"} {
		s.add(b, filepath.Join(b.away, target), path)
	}
	before := standing(t, b.away)
	s.done.Go(func() { s.run(t) })
	reads := b.meet(s, func(i int) (string, m) {
		path := paths[i/4%4]
		return []string{"read_file", "grep", "glob", "directory_tree"}[i%4], []m{
			{"path": path}, {"path": filepath.Dir(path), "pattern": "."}, {"path": filepath.Dir(path), "pattern": "**"}, {"path": filepath.Dir(path)},
		}[i%4]
	})
	writes := b.meet(s, func(i int) (string, m) {
		path := paths[i/4%4]
		return []string{"write_file", "edit_file", "move_file", "write_file"}[i%4], []m{
			{"path": path, "content": "mine\n"},
			{"path": path, "old": "mine", "new": "ours"},
			{"from": path, "to": fmt.Sprint(filepath.Dir(path), "/sub", i%8, "/", i)},
			{"path": fmt.Sprint(filepath.Dir(path), "/new", i%8, "/", i), "content": "mine\n"},
		}[i%4]
	})
	s.end.Store(true)
	s.done.Wait()
	if after := standing(t, b.away); after != before {
		t.Errorf("outside was\n%sand is\n%s", before, after)
	}
	t.Logf("%d swaps; reads %+v; writes %+v", s.swaps.Load(), reads, writes)
}

// tally counts the calls of a tool: those that succeeded, whose preview saw that they lead outside, and
// that were refused.
type tally struct{ done, seen, refused int }

// meet makes 500 calls, and more until they have met 10,000 swaps. Those that their previews judge to be
// inside are made as if they were allowed. Each tool must have succeeded, and must have been stopped.
func (b *bed) meet(s *swapper, call func(i int) (string, m)) map[string]tally {
	b.t.Helper()
	counts, met := map[string]tally{}, int64(0)
	for i := 0; (met < 10_000 || i < 500) && !b.t.Failed(); i++ {
		tool, args := call(i)
		began, n := s.swaps.Load(), counts[tool]
		switch inside, err := b.meets(tool, args); {
		case err != nil:
			n.refused++
		case inside:
			n.done++
		default:
			n.seen++
		}
		counts[tool] = n
		met += s.swaps.Load() - began
	}
	for tool, n := range counts {
		if n.done == 0 || n.seen+n.refused == 0 {
			b.t.Errorf("%s: %+v: it proves nothing", tool, n)
		}
	}
	return counts
}

// meets makes one call if it is inside.
func (b *bed) meets(tool string, args m) (inside bool, err error) {
	b.t.Helper()
	inv, pv, err := b.preview(tool, args)
	shown := fmt.Sprint(pv.Title, err)
	for _, a := range pv.Access {
		if a.Outside {
			return false, nil // a person would be asked
		}
	}
	for _, block := range pv.Content {
		if d, ok := block.(core.Diff); ok {
			shown += d.Old + d.Patch
		}
	}
	var out string
	if err == nil {
		out, err = b.finish(tool, inv)
	}
	if strings.Contains(shown+out, "CANARY") {
		b.t.Errorf("%s %v has shown what is outside: %s%s", tool, args, shown, out)
	}
	return true, err
}

// standing describes all that is in a folder.
func standing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&all, path, info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&all, "%s", text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
