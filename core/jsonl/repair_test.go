package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/core"
)

// damages are ways to damage a log of at least five lines.
var damages = map[string]func(lines []string) []string{
	"a bad line":            func(l []string) []string { l[3] = "x" + l[3]; return l },
	"a missing line":        func(l []string) []string { l[3] = ""; return l },
	"lines out of order":    func(l []string) []string { l[3], l[4] = l[4], l[3]; return l },
	"a line too much":       func(l []string) []string { l[3] += "x\n"; return l },
	"a last line":           func(l []string) []string { n := len(l) - 1; l[n] = "x" + l[n]; return l },
	"and an unfinished one": func(l []string) []string { n := len(l) - 1; l[3], l[n] = "x\n", l[n][:9]; return l },
}

// linesOf returns the lines of a file, with their ends.
func linesOf(t *testing.T, path string) []string {
	t.Helper()
	lines := strings.SplitAfter(string(content(t, path)), "\n")
	return lines[:len(lines)-1]
}

// damage damages the log of a session, and returns its new content.
func damage(t *testing.T, path string, how func([]string) []string) []byte {
	t.Helper()
	b := []byte(strings.Join(how(linesOf(t, path)), ""))
	put(t, path, b)
	return b
}

// checkSame fails unless two readings have the same records at the same places; the
// texts about missing ones may differ.
func checkSame(t *testing.T, got, want []core.Record) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if m, ok := g.Event.(core.Missing); ok {
			if was, ok := w.Event.(core.Missing); ok && was.Records == m.Records {
				g.Event, w.Event = nil, nil
			}
		}
		if a, b := fmt.Sprintf("%+v", g), fmt.Sprintf("%+v", w); a != b {
			t.Fatalf("record %d is read as\n%s, and was\n%s", i, a, b)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d records are read, %d were", len(got), len(want))
	}
}

// TestRepair: repairing a damaged log writes the result of reading it. The damaged log
// is kept unchanged, and the session continues.
func TestRepair(t *testing.T) {
	for name, how := range damages {
		t.Run(name, func(t *testing.T) {
			s := New(t.TempDir())
			j := logOf(t, s, "s1", notices(5)...)
			if done, err := s.Repair(t.Context(), core.Local, "s1"); err != nil || done != (Repaired{}) {
				t.Errorf("a sound log: %+v, %v", done, err)
			}
			for round, kept := range []string{j.files.log + ".damaged", j.files.log + ".damaged-2"} {
				was := damage(t, j.files.log, how)
				shown := readAll(t, j)
				found, size, err := s.Check(t.Context(), core.Local, "s1")
				if err != nil || !strings.Contains(found, " at byte ") || size > int64(len(was)) || !bytes.Equal(content(t, j.files.log), was) {
					t.Errorf("Check: %q, %v", found, err)
				}
				done, err := s.Repair(t.Context(), core.Local, "s1")
				if err != nil {
					t.Fatal(err)
				}
				if done.Kept != kept || done.Damage != strings.ReplaceAll(found, j.files.log, kept) {
					t.Errorf("round %d: %+v, want %q, %q", round, done, kept, found)
				}
				if !bytes.Equal(content(t, kept), was) {
					t.Error("the kept log is not the damaged one")
				}
				now := readAll(t, j)
				checkSame(t, now, shown)
				for _, r := range now {
					if m, ok := r.Event.(core.Missing); ok && !strings.Contains(m.Text, j.files.log+".damaged") {
						t.Errorf("record %d says %q", r.Seq, m.Text)
					}
				}
				if again, err := s.Repair(t.Context(), core.Local, "s1"); err != nil || again != (Repaired{}) {
					t.Errorf("once more: %+v, %v", again, err)
				}
				if err := own(t, j, notices(3)...); err != nil {
					t.Fatal(err)
				}
				if after := readAll(t, j); len(after) != len(now)+4 {
					t.Errorf("%d records after 4 more, were %d", len(after), len(now))
				}
				if _, err := s.Repair(t.Context(), core.Local, "s1"); !errors.As(err, new(*core.OwnedError)) {
					t.Errorf("the repair of what is owned: %v", err)
				}
				if err := j.Release(); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(indexPath(*s.root.Load())); err != nil {
				t.Fatal(err)
			}
			n := 0
			for sum, err := range s.List(t.Context(), core.Local) {
				if n++; err != nil || sum.ID != "s1" {
					t.Errorf("listed: %+v, %v", sum, err)
				}
			}
			if err := s.sweep(t.Context(), *s.root.Load()); err != nil || n != 1 || !exists(j.files.damaged(2)) {
				t.Errorf("%d are listed, and the damaged log is there: %v (%v)", n, exists(j.files.damaged(2)), err)
			}
			if err := s.Delete(t.Context(), core.Local, "s1"); err != nil {
				t.Fatal(err)
			}
			if left, err := filepath.Glob(filepath.Join(j.files.dir, "*")); err != nil || len(left) > 0 {
				t.Errorf("a deleted session leaves %v", left)
			}
		})
	}
}

// TestRepairOfTheBeginning: a session's Meta is restored from the index.
func TestRepairOfTheBeginning(t *testing.T) {
	for name, how := range map[string]func([]string) []string{
		"the first line":        func(l []string) []string { l[0] = "x" + l[0]; return l },
		"the second":            func(l []string) []string { l[1] = "x" + l[1]; return l },
		"the second is missing": func(l []string) []string { l[1] = ""; return l },
		"both":                  func(l []string) []string { l[0], l[1] = "x\n", "x\n"; return l },
		"three in one":          func(l []string) []string { l[0], l[1], l[2] = "x", "x", "x\n"; return l },
	} {
		t.Run(name, func(t *testing.T) {
			s := New(t.TempDir())
			turn := core.TurnStarted{Turn: "t2_1-1", Message: "m2_1-2", Prompt: []core.Block{core.Text{Text: "hello"}}}
			j := logOf(t, s, "s1", turn, core.TurnEnded{Turn: turn.Turn})
			meta := j.meta
			was := damage(t, j.files.log, how)
			if _, err := s.Open(t.Context(), core.Local, "s1"); err == nil || !strings.Contains(err.Error(), "sessions repair s1") {
				t.Fatalf("Open: %v", err)
			}
			done, err := s.Repair(t.Context(), core.Local, "s1")
			if err != nil || !strings.Contains(done.Damage, "at byte") && !strings.Contains(done.Damage, "beginning") || !bytes.Equal(content(t, done.Kept), was) {
				t.Fatalf("%+v, %v", done, err)
			}
			opened, err := s.Open(t.Context(), core.Local, "s1")
			if err != nil {
				t.Fatal(err)
			}
			if got := opened.Meta(); got.Cwd != meta.Cwd || !got.Created.Equal(meta.Created) || got.ID != "s1" || name != "the first line" && got.Forks != 3 {
				t.Errorf("it was made with %+v", got)
			}
			got := readAll(t, opened)
			if end, ok := got[len(got)-1].Event.(core.TurnEnded); !ok || end.Turn != turn.Turn || got[len(got)-1].Seq != 4 {
				t.Errorf("the last record is %+v", got[len(got)-1])
			}
			if err := own(t, opened.(*journal), notices(1)...); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDamagedBeginningIsListed: a new index has a session whose first line is damaged,
// so that users can find and repair it.
func TestDamagedBeginningIsListed(t *testing.T) {
	s := New(t.TempDir())
	j := logOf(t, s, "s1", notices(2)...)
	damage(t, j.files.log, func(l []string) []string { l[0] = "x" + l[0]; return l })
	if err := os.Remove(indexPath(*s.root.Load())); err != nil {
		t.Fatal(err)
	}
	var listed []core.Summary
	for sum, err := range s.List(t.Context(), core.Local) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, sum)
	}
	if len(listed) != 1 || listed[0].ID != "s1" || listed[0].Cwd != j.meta.Cwd {
		t.Errorf("listed: %+v", listed)
	}
	if _, err := s.Open(t.Context(), core.Local, "s1"); !errors.Is(err, errHead) {
		t.Errorf("Open: %v", err)
	}
	if done, err := s.Repair(t.Context(), core.Local, "s1"); err != nil || done.Kept == "" {
		t.Errorf("%+v, %v", done, err)
	}
	if now := readAll(t, j); len(now) != 4 {
		t.Errorf("%d records after the repair", len(now))
	}
}

func TestRepairIsRefused(t *testing.T) {
	tests := []struct {
		name   string
		meta   core.Meta
		damage func(t *testing.T, f files)
		want   string
	}{
		{"a sub-session's beginning", core.Meta{Parent: "s0"}, func(t *testing.T, f files) {
			damage(t, f.log, func(l []string) []string { l[1] = "x\n"; return l })
		}, "the permissions of this sub-session were in it"},
		{"the beginning without an index", core.Meta{}, func(t *testing.T, f files) {
			damage(t, f.log, func(l []string) []string { l[1] = "x\n"; return l })
			if err := os.Remove(filepath.Join(f.dir, "..", "..", "index.jsonl")); err != nil {
				t.Fatal(err)
			}
		}, "cannot be looked up without an index"},
		{"nothing good", core.Meta{}, func(t *testing.T, f files) { put(t, f.log, []byte("x\ny\n")) }, `"dragoman sessions rm s1"`},
		{"empty", core.Meta{}, func(t *testing.T, f files) { put(t, f.log, nil) }, `"dragoman sessions rm s1"`},
		{"a later version", core.Meta{}, func(t *testing.T, f files) {
			damage(t, f.log, func(l []string) []string {
				l[0], l[2] = string(seal([]byte(`{"format":"dragoman log","version":2}`), 0)), "x\n"
				return l
			})
		}, "update dragoman"},
		{"a later version's feature", core.Meta{}, func(t *testing.T, f files) {
			damage(t, f.log, func(l []string) []string {
				l[0], l[2] = string(seal([]byte(`{"format":"dragoman log","version":1,"features":["zip"]}`), 0)), "x\n"
				return l
			})
		}, "(zip): update it"},
		{"another session's", core.Meta{}, func(t *testing.T, f files) {
			lines := linesOf(t, f.log)
			damage(t, f.log, func([]string) []string {
				return append(strings.SplitAfter(strings.TrimSuffix(string(newLog(core.Meta{ID: "s2"})), "\n"), "\n"), "\n", "x\n", lines[2])
			})
		}, `another session, "s2"`},
		{"no session", core.Meta{}, func(t *testing.T, f files) {
			if err := os.Remove(f.log); err != nil {
				t.Fatal(err)
			}
		}, core.ErrNotFound.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t.TempDir())
			tt.meta.ID, tt.meta.Principal, tt.meta.Cwd, tt.meta.Created = "s1", core.Local, "/w", time.Unix(1, 0).UTC()
			made, err := s.Create(t.Context(), tt.meta)
			if err != nil {
				t.Fatal(err)
			}
			j := made.(*journal)
			if err := errors.Join(own(t, j, notices(2)...), j.Release()); err != nil {
				t.Fatal(err)
			}
			tt.damage(t, j.files)
			was, _ := os.ReadFile(j.files.log)
			if _, err := s.Repair(t.Context(), core.Local, "s1"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if now, _ := os.ReadFile(j.files.log); !bytes.Equal(now, was) || exists(j.files.damaged(1)) {
				t.Error("the log was touched")
			}
		})
	}
}

// TestRepairFails makes each call of the file system fail once while a log is
// repaired. The log is always the damaged one or the sound one, the damaged one is
// never lost, and the repair can be repeated.
func TestRepairFails(t *testing.T) {
	for _, how := range []fault{fails, failsLate, fallsShort, diesBefore, diesAfter, diesShort} {
		t.Run(string(how), func(t *testing.T) {
			for at, done := 1, false; !done; at++ {
				done = repairGoesWrong(t, newFaulty(at, how))
			}
		})
	}
}

func repairGoesWrong(t *testing.T, layer *faultyDisk) (done bool) {
	dir := inMemory(t)
	s := New(dir)
	j := logOf(t, s, "s1", notices(5)...)
	was := damage(t, j.files.log, damages["a bad line"])
	shown := readAll(t, j)

	wrong := New(dir)
	wrong.disk.layer = layer
	_, err := wrong.Repair(t.Context(), core.Local, "s1")
	if done = layer.calls < layer.at; done && (err != nil || layer.calls < 8) {
		t.Fatalf("a repair of %d calls: %v", layer.calls, err)
	}
	checkSame(t, readAll(t, j), shown)
	if now := content(t, j.files.log); !bytes.Equal(now, was) && !bytes.Equal(content(t, j.files.damaged(1)), was) {
		t.Fatalf("%s: the damaged log is lost", layer.hit)
	}
	if _, err := s.Repair(t.Context(), core.Local, "s1"); err != nil {
		t.Fatalf("%s, and done again: %v", layer.hit, err)
	}
	checkSame(t, readAll(t, j), shown)
	if !bytes.Equal(content(t, j.files.damaged(1)), was) {
		t.Fatalf("%s: the damaged log is not kept", layer.hit)
	}
	if err := errors.Join(own(t, j, notices(1)...), j.Release(), s.Close()); err != nil {
		t.Fatalf("%s: %v", layer.hit, err)
	}
	return done
}
