package jsonl_test

import (
	"reflect"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

// A long log is read ahead of its reader, in order, from any position and up to where the reader stops.
func TestReadAhead(t *testing.T) {
	s := newStore(t)
	j := filled(t, s, 5000)
	var whole []core.Record
	for r, err := range j.Read(t.Context(), core.Pos{}) {
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, r)
	}
	if want := turns(whole[1].Epoch, 5000); !reflect.DeepEqual(whole[1:], want) {
		t.Fatalf("read %d records, which are not the %d that were written", len(whole)-1, len(want))
	}
	for _, stop := range []int{1, 127, 128, 129, 300, 5001} {
		again := opened(t, s, "s1") // not read before
		for range 2 {               // the second time behind a tail
			synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
				n := 0
				for r := range again.Read(t.Context(), core.Pos{Seq: 1}) {
					if !reflect.DeepEqual(r, whole[n]) {
						t.Fatalf("record %d is %v, want %v", n, r, whole[n])
					}
					if n++; n == stop {
						break
					}
				}
				if n != stop {
					t.Errorf("read %d records, want %d", n, stop)
				}
			})
		}
	}
}

// Reading a record takes the memory of its event and of its texts.
func TestBudgetRead(t *testing.T) {
	if coretest.Race {
		t.Skip("the race detector allocates")
	}
	const records, each = 10_000, 5.2
	s := newStore(t)
	filled(t, s, records)
	n := testing.AllocsPerRun(2, func() {
		for _, err := range opened(t, s, "s1").Read(t.Context(), core.Pos{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if n /= records; n > each {
		t.Errorf("reading a record takes %.2f allocations, want at most %v", n, each)
	}
}

// opened opens a session anew.
func opened(tb testing.TB, s *jsonl.Store, id core.SessionID) core.Journal {
	tb.Helper()
	j, err := s.Open(tb.Context(), core.Local, id)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = j.Close() })
	return j
}
