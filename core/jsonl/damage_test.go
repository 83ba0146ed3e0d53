package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/codec"
	"dragoman/core/coretest"
)

// logOf makes a session with an owner's records in it and releases the claim.
func logOf(t *testing.T, s *Store, id core.SessionID, events ...core.Event) *journal {
	t.Helper()
	t.Cleanup(func() { _ = s.Close() })
	made, err := s.Create(t.Context(), core.Meta{ID: id, Principal: core.Local, Cwd: "/home/ada/app", Created: time.Unix(1, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	j := made.(*journal)
	if len(events) > 0 {
		if err := own(t, j, events...); err != nil {
			t.Fatal(err)
		}
		if err := j.Release(); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// own claims a session and writes events to it.
func own(t *testing.T, j *journal, events ...core.Event) error {
	t.Helper()
	epoch, err := j.Claim(t.Context())
	if err != nil {
		return err
	}
	c := j.claimed()
	records := coretest.Records(epoch, append([]core.Event{core.Claimed{Epoch: epoch}}, events...)...)
	for i := range records {
		if records[i].Seq > 0 {
			records[i].Seq += c.end.Seq - 1
			if c.end.Off > 0 {
				records[i].Seq++
			}
		}
	}
	return j.Write(t.Context(), records)
}

func readAll(t *testing.T, j core.Journal) (records []core.Record) {
	t.Helper()
	for r, err := range j.Read(t.Context(), core.Pos{}) {
		if err != nil {
			t.Fatalf("Read: %v", err)
		}
		records = append(records, r)
	}
	return records
}

func notices(n int) (events []core.Event) {
	for i := range n {
		events = append(events, core.Notice{Severity: core.Info, Text: fmt.Sprint("notice ", i)})
	}
	return events
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLog checks the file itself: one line of JSON per record, with its checksum last,
// and the id only in the first record.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	j := logOf(t, New(dir), "s1", coretest.Samples()[2:]...)
	key := strings.TrimSuffix(filepath.Base(j.files.log), ".jsonl")
	if want := filepath.Join(dir, "sessions", key[:2], key+".jsonl"); j.files.log != want || len(key) != 32 {
		t.Errorf("the log is %s, want %s", j.files.log, want)
	}
	lines := strings.SplitAfter(string(content(t, j.files.log)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		t.Errorf("the log ends with %q", last)
	}
	for i, line := range lines[:len(lines)-1] {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Errorf("line %d is not JSON: %v\n%s", i, err, line)
		}
		if !strings.HasSuffix(line, `,"c":`+string(m["c"])+"}\n") {
			t.Errorf("the sum is not the last member of line %d: %s", i, line)
		}
		if i > 0 && m["e"] == nil {
			t.Errorf("line %d has no epoch: %s", i, line)
		}
		if strings.Contains(line, `"s1"`) != (i == 1) {
			t.Errorf("line %d: %s", i, line)
		}
	}
	if want := `{"format":"dragoman log","version":1,"features":["same","values"],"c":"`; !strings.HasPrefix(lines[0], want) {
		t.Errorf("the first line is %s want %s…", lines[0], want)
	}
}

// TestTornTail cuts a log at every byte of its last line.
func TestTornTail(t *testing.T) {
	s := New(t.TempDir())
	j := logOf(t, s, "s1", notices(3)...)
	whole, want := content(t, j.files.log), readAll(t, j)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := last; cut < len(whole); cut++ {
		put(t, j.files.log, whole[:cut])
		if got := readAll(t, j); !reflect.DeepEqual(got, want[:len(want)-1]) {
			t.Fatalf("cut at %d: read %d records, want %d", cut, len(got), len(want)-1)
		}
		if err := own(t, j, core.Notice{Text: "after"}); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		got := readAll(t, j)
		if n := len(got); n != len(want)+1 || got[n-1].Seq != uint64(n) || !reflect.DeepEqual(got[:n-2], want[:n-2]) {
			t.Fatalf("cut at %d: the next owner left %d records", cut, n)
		}
		if err := j.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// seen describes a log of notices: their numbers, and the missing ones.
func seen(records []core.Record) string {
	var b strings.Builder
	for i, r := range records {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, r.Seq)
		if m, ok := r.Event.(core.Missing); ok {
			fmt.Fprintf(&b, "-%d:missing", r.Seq+m.Records-1)
		}
	}
	return b.String()
}

// TestDamage: good records before and after damage are read, and missing ones are
// reported: in their place, if the numbers show that, and otherwise after all others.
func TestDamage(t *testing.T) {
	noise := strings.Repeat("x", maxLine+10)
	tests := []struct {
		name    string
		damage  func(lines []string) []string // of the log: the format, Opened, Claimed, five notices
		seen    string
		claimed bool // the log can be continued
	}{
		{"none", func(l []string) []string { return l }, "1 2 3 4 5 6 7", true},
		{"last line", func(l []string) []string { l[7] = strings.Replace(l[7], "notice", "Notice", 1); return l }, "1 2 3 4 5 6 7-7:missing", false},
		{"last line is not a record", func(l []string) []string { l[7] = string(seal([]byte(`{"x":1}`), 0)); return l }, "1 2 3 4 5 6 7-7:missing", false},
		{"last line without a sum", func(l []string) []string { l[7] = "{}\n"; return l }, "1 2 3 4 5 6 7-7:missing", false},
		{"last line is empty", func(l []string) []string { l[7] = "\n"; return l }, "1 2 3 4 5 6 7-7:missing", false},
		{"last line is too long", func(l []string) []string { l[7] = noise + "\n"; return l }, "1 2 3 4 5 6 7-7:missing", false},
		{"the last line's end", func(l []string) []string { l[7] = strings.Replace(l[7], "\n", "\x0b", 1); return l }, "1 2 3 4 5 6 7-7:missing", false},
		{"unfinished line", func(l []string) []string { l[7] = l[7][:len(l[7])-1]; return l }, "1 2 3 4 5 6", true},
		{"unfinished line is too long", func(l []string) []string { l[7] = noise; return l }, "1 2 3 4 5 6", true},
		{"zeros at the end", func(l []string) []string { return append(l, strings.Repeat("\x00", 4096)) }, "1 2 3 4 5 6 7", true},
		{"the line before the last", func(l []string) []string { l[6] = strings.Replace(l[6], "notice", "Notice", 1); return l }, "1 2 3 4 5 6-6:missing 7", false},
		{"a line in the middle", func(l []string) []string { l[4] = l[4][1:]; return l }, "1 2 3 4-4:missing 5 6 7", false},
		{"a line in the middle is cut", func(l []string) []string { l[4] = l[4][:20]; return l }, "1 2 3 4-5:missing 6 7", false},
		{"an empty line in the middle", func(l []string) []string { l[4] = "\n"; return l }, "1 2 3 4-4:missing 5 6 7", false},
		{"a long line in the middle", func(l []string) []string { l[4] = noise + "\n"; return l }, "1 2 3 4-4:missing 5 6 7", false},
		{"rubbish in the middle", func(l []string) []string { l[4], l[5] = "\x00\xff\n\n\x01", "\r\n"; return l }, "1 2 3 4-5:missing 6 7", false},
		{"two places", func(l []string) []string { l[3], l[5] = "\n", "\n"; return l }, "1 2 3-3:missing 4 5-5:missing 6 7", false},
		{"the first notice and the claim", func(l []string) []string { l[2], l[3] = "", "x\n"; return l }, "1 2-3:missing 4 5 6 7", false},
		{"a line too much", func(l []string) []string { l[4] = "x\n" + l[4]; return l }, "1 2 3 4 5 6 7 8-8:missing", false},
		{"a missing line", func(l []string) []string { l[4] = ""; return l }, "1 2 3 4-4:missing 5 6 7", false},
		{"a line twice", func(l []string) []string { l[4] += l[4]; return l }, "1 2 3 4 5 6 7 8-8:missing", false},
		{"lines out of order", func(l []string) []string { l[4], l[5] = l[5], l[4]; return l }, "1 2 3 4-4:missing 5 6 7 8-8:missing", false},
		{"a number that cannot be", func(l []string) []string {
			l[4] = string(seal([]byte(`{"e":1,"s":18446744073709551615,"k":"notice","v":{}}`), 0))
			return l
		}, "1 2 3 4-4:missing 5 6 7", false},
		{"a bad line and an unfinished one", func(l []string) []string { l[6], l[7] = l[6][1:], l[7][:9]; return l }, "1 2 3 4 5 6-6:missing", false},
		{"a feature of a later version", func(l []string) []string {
			l[0] = string(seal([]byte(`{"format":"dragoman log","version":1,"features":["same","zip"]}`), 0))
			return l
		}, "1 2 3 4 5 6 7", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t.TempDir())
			j := logOf(t, s, "s1", notices(5)...)
			lines := strings.SplitAfter(string(content(t, j.files.log)), "\n")
			damaged := []byte(strings.Join(tt.damage(lines[:8]), ""))
			put(t, j.files.log, damaged)

			opened, err := s.Open(t.Context(), core.Local, "s1")
			if err != nil {
				t.Fatal(err)
			}
			got := readAll(t, opened)
			if seen(got) != tt.seen {
				t.Errorf("read %s, want %s", seen(got), tt.seen)
			}
			for _, r := range got {
				if m, ok := r.Event.(core.Missing); ok && !strings.Contains(m.Text, j.files.log+`. "dragoman sessions repair s1"`) {
					t.Errorf("record %d says %q", r.Seq, m.Text)
				}
			}
			for i := range got { // the result is the same from every position
				var rest []core.Record
				for r, err := range opened.Read(t.Context(), got[i].End()) {
					if err != nil {
						t.Fatal(err)
					}
					rest = append(rest, r)
				}
				if seen(rest) != seen(got[i+1:]) {
					t.Errorf("behind %v: read %s", got[i].End(), seen(rest))
				}
			}
			err = own(t, opened.(*journal), core.Notice{Text: "after"})
			if !tt.claimed {
				if !errors.Is(err, core.ErrReadOnly) {
					t.Errorf("Claim: %v, want ErrReadOnly", err)
				}
				if !bytes.Equal(content(t, j.files.log), damaged) {
					t.Error("the log was changed")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if after := readAll(t, opened); len(after) != len(got)+2 || !reflect.DeepEqual(after[:len(got)], got) {
				t.Errorf("%d records after a claim, want %d", len(after), len(got)+2)
			}
		})
	}
}

// TestDamagedRun: missing text of a run is replaced in its place, by as many bytes if
// their number is known, so that positions after it stay valid.
func TestDamagedRun(t *testing.T) {
	text := func(i int) core.Event {
		return core.TextDelta{Message: "m", Text: strings.Repeat(string(rune('a'+i)), 50)}
	}
	tests := []struct {
		name   string
		damage func(lines []string) []string // of the log: the format, Opened, Claimed, four pieces, a notice
		text   string
		last   int // number of the last record
	}{
		{"none", func(l []string) []string { return l }, "a50 b50 c50 d50", 4},
		{"inside", func(l []string) []string { l[4] = "x\n"; return l }, "a50" + filler(50) + "c50 d50", 5},
		{"inside, gone", func(l []string) []string { l[4] = ""; return l }, "a50" + filler(50) + "c50 d50", 5},
		{"its beginning", func(l []string) []string { l[3] = "x\n"; return l }, filler(50) + "b50 c50 d50", 5},
		{"its end", func(l []string) []string { l[6] = "x\n"; return l }, "a50 b50 c50[2 bytes are damaged here]", 5},
		{"its beginning and a record", func(l []string) []string { l[2], l[3] = "x\n", "x\n"; return l }, filler(50) + "b50 c50 d50", 4},
		{"all of it", func(l []string) []string { l[3], l[4], l[5], l[6] = "x\n", "x\n", "x\n", "x\n"; return l }, "", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t.TempDir())
			j := logOf(t, s, "s1", text(0), text(1), text(2), text(3), core.Notice{Text: "end"})
			lines := strings.SplitAfter(string(content(t, j.files.log)), "\n")
			put(t, j.files.log, []byte(strings.Join(tt.damage(lines[:8]), "")))
			got := readAll(t, j)
			var b strings.Builder
			for _, r := range got {
				if e, ok := r.Event.(core.TextDelta); ok {
					b.WriteString(e.Text)
				}
			}
			want := tt.text
			for i := range 4 {
				letter := string(rune('a' + i))
				want = strings.ReplaceAll(want, " "+letter+"50", strings.Repeat(letter, 50))
				want = strings.ReplaceAll(want, letter+"50", strings.Repeat(letter, 50))
			}
			if b.String() != want {
				t.Errorf("the text is %q", b.String())
			}
			if last := got[len(got)-1]; last.Seq != uint64(tt.last) {
				t.Errorf("the last record is %d, %+v", last.Seq, last.Event)
			}
			whole := coretest.Joined(got)
			for off := range uint64(len(want)) { // the result is the same from every position
				at := core.Pos{Epoch: 1, Seq: 3, Off: off}
				var read []core.Record
				if off > 0 {
					read = []core.Record{{Epoch: whole[2].Epoch, Seq: 3, Time: whole[2].Time, Event: core.TextDelta{Message: "m", Text: want[:off]}}}
				}
				for r, err := range j.Read(t.Context(), at) {
					if err != nil {
						t.Fatal(err)
					}
					read = append(read, r)
				}
				if read = coretest.Joined(read); !reflect.DeepEqual(read, whole[2:]) && tt.text != "" {
					t.Fatalf("from %v: %+v", at, read)
				}
			}
			if _, err := j.Claim(t.Context()); (err == nil) != (tt.name == "none") {
				t.Errorf("Claim: %v", err)
			}
		})
	}
}

// TestUnreadable: a log without a readable beginning is neither opened nor deleted.
func TestUnreadable(t *testing.T) {
	for name, b := range map[string]string{
		"empty": "", "garbage": "garbage\n", "another format": string(seal([]byte(`{"format":"dragoman log","version":2,"features":[]}`), 0)),
		"no record": string(seal([]byte(`{"format":"dragoman log","version":1,"features":[]}`), 0)),
	} {
		t.Run(name, func(t *testing.T) {
			s := New(t.TempDir())
			j := logOf(t, s, "s1")
			put(t, j.files.log, []byte(b))
			if _, err := s.Open(t.Context(), core.Local, "s1"); err == nil || errors.Is(err, core.ErrNotFound) {
				t.Errorf("Open: %v", err)
			}
			if _, err := j.Claim(t.Context()); !errors.Is(err, core.ErrReadOnly) {
				t.Errorf("Claim: %v, want ErrReadOnly", err)
			}
			if got := content(t, j.files.log); string(got) != b {
				t.Errorf("the log is now %q", got)
			}
		})
	}
}

// TestFence removes the lock of an owner, like a careless person could. The log
// decides: the first owner stops, and its later records do not count.
func TestFence(t *testing.T) {
	dir := t.TempDir()
	j := logOf(t, New(dir), "s1")
	if err := own(t, j, core.Notice{Text: "first"}); err != nil {
		t.Fatal(err)
	}
	stale := j.claimed()
	if err := os.Remove(j.files.lock); err != nil {
		t.Fatal(err)
	}
	s := New(dir)
	t.Cleanup(func() { _ = s.Close() })
	second, err := s.Open(t.Context(), core.Local, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := own(t, second.(*journal), core.Notice{Text: "second"}); err != nil {
		t.Fatal(err)
	}
	want := readAll(t, second)

	at := stale.end
	late := core.Record{Epoch: stale.epoch, Seq: at.Seq, Event: core.Notice{Text: "late"}}
	for range 2 {
		if err := j.Write(t.Context(), []core.Record{late}); !errors.Is(err, core.ErrFenced) {
			t.Fatalf("Write by the first owner: %v, want ErrFenced", err)
		}
	}
	if err := j.Sync(t.Context()); !errors.Is(err, core.ErrFenced) {
		t.Errorf("Sync by the first owner: %v, want ErrFenced", err)
	}
	// As if it had checked the length just before the second wrote.
	line := seal(new(codec.Encoder).Append(nil, late), 0)
	if _, err := stale.log.Write(line); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, second); !reflect.DeepEqual(got, want) {
		t.Errorf("a stale line counts: %+v", got[len(got)-1])
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := s.Open(t.Context(), core.Local, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := own(t, third.(*journal), core.Notice{Text: "third"}); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, third); len(got) != len(want)+2 || !reflect.DeepEqual(got[:len(want)], want) {
		t.Errorf("%d records behind a stale line, want %d", len(got), len(want)+2)
	}
}

// TestLogRemoved: an owner notices that its log is missing.
func TestLogRemoved(t *testing.T) {
	j := logOf(t, New(t.TempDir()), "s1")
	if err := own(t, j); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(j.files.log); err != nil {
		t.Skip(err) // an open file cannot be removed here
	}
	r := core.Record{Epoch: 1, Seq: j.claimed().end.Seq, Event: core.Notice{}}
	if err := j.Write(t.Context(), []core.Record{r}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("Write: %v, want ErrNotFound", err)
	}
	for _, err := range j.Read(t.Context(), core.Pos{}) {
		if !errors.Is(err, core.ErrNotFound) {
			t.Errorf("Read: %v, want ErrNotFound", err)
		}
	}
}

// TestBigValues: a body that is too long for a line is in a file, once, and is read
// back; if it is lost, a core.Missing reports that in its record's place.
func TestBigValues(t *testing.T) {
	s := New(t.TempDir())
	image := bytes.Repeat([]byte{0, 1, 2, 255}, 100_000)
	call := core.Call{ID: "c1", Turn: "t1", Tool: "x", State: core.Running, Content: []core.Block{core.Text{Text: strings.Repeat("é\n", 200_000)}}}
	ended := call
	ended.State = core.Succeeded
	events := []core.Event{
		core.TurnStarted{Turn: "t1", Message: "m1", Prompt: []core.Block{core.Image{MIME: "image/png", Data: image}}},
		core.Notice{Text: "small"},
		core.CallChanged{Call: call},
		core.CallChanged{Call: ended},
		core.TurnStarted{Turn: "t1", Message: "m1", Prompt: []core.Block{core.Image{MIME: "image/png", Data: image}}},
		core.Unknown{Kind: "later", Raw: json.RawMessage("[\n" + strings.Repeat("1,", 200_000) + "1]")},
	}
	j := logOf(t, s, "s1", events...)
	got := readAll(t, j)
	for i, ev := range events {
		if !reflect.DeepEqual(got[i+2].Event, ev) {
			t.Errorf("record %d is not what was written", i+3)
		}
	}
	if fi, err := os.Stat(j.files.log); err != nil || fi.Size() > 4096 {
		t.Errorf("the log has %d bytes, %v", fi.Size(), err)
	}
	files, err := filepath.Glob(filepath.Join(j.files.values(), "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files for three values that differ", len(files))
	}
	// From after the call's first record: the second refers to it.
	for r, err := range j.Read(t.Context(), got[4].End()) {
		if err != nil || !reflect.DeepEqual(r.Event, events[3]) {
			t.Errorf("%v: the call's record was not restored", err)
		}
		break
	}
	for _, f := range files[:2] {
		b := content(t, f)
		b[len(b)/2] ^= 1
		put(t, f, b)
	}
	if err := os.Remove(files[2]); err != nil {
		t.Fatal(err)
	}
	lost := 0
	damaged := readAll(t, j)
	for i, r := range damaged {
		if m, ok := r.Event.(core.Missing); ok && strings.Contains(m.Text, j.files.values()) {
			lost++
		}
		if r.Seq != uint64(i)+1 {
			t.Errorf("record %d has the number %d", i+1, r.Seq)
		}
	}
	if len(damaged) != len(got) || lost != 4 {
		t.Errorf("%d of %d records, %d lost, want 4", len(damaged), len(got), lost)
	}
	if err := own(t, j); err != nil {
		t.Errorf("Claim: %v", err)
	}
	if err := errors.Join(j.Release(), s.Delete(t.Context(), core.Local, "s1")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(j.files.values()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Delete left the values: %v", err)
	}
}
