package jsonl

import (
	"testing"
	"time"

	"dragoman/core"
)

// A new log is known without being read, once: it is overwritten here.
func TestNewLogIsNotRead(t *testing.T) {
	s := New(t.TempDir())
	defer s.Close() //nolint:errcheck // nothing is left to write
	made, err := s.Create(t.Context(), core.Meta{ID: "new", Principal: core.Local, Cwd: "/x", Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	j, ok := made.(*journal)
	if !ok {
		t.Fatalf("the store made a %T", made)
	}
	defer j.Close()                                                 //nolint:errcheck // it is not claimed
	put(t, j.files.log, make([]byte, len(content(t, j.files.log)))) // of the same size
	read := func() (n int, failed bool) {
		for r, err := range j.Read(t.Context(), core.Pos{Seq: 1}) { // where an empty log begins
			if err != nil {
				return n, true
			}
			if _, ok := r.Event.(core.Opened); !ok {
				t.Errorf("record %d is a %T", r.Seq, r.Event)
			}
			n++
		}
		return n, false
	}
	if n, failed := read(); n != 1 || failed {
		t.Errorf("%d records, failed: %t", n, failed)
	}
	if _, failed := read(); !failed {
		t.Error("the second time it was not read")
	}
}

// A new log to which something was appended is read.
func TestNewLogThatHasGrown(t *testing.T) {
	s := New(t.TempDir())
	defer s.Close() //nolint:errcheck // nothing is left to write
	j := logOf(t, s, "new", core.Notice{Text: "more"})
	if got := readAll(t, j); len(got) != 3 {
		t.Errorf("%d records: %+v", len(got), got)
	}
}
