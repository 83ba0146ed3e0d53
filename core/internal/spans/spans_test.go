package spans

import (
	"slices"
	"testing"
)

func TestSpans(t *testing.T) {
	var s Set
	s.Hide(5, 5) // hides nothing
	s.Hide(2, 4)
	s.Hide(6, 9)
	if !slices.Equal(s, Set{{2, 4}, {6, 9}}) {
		t.Fatalf("%v", s)
	}
	for seq := range uint64(11) {
		if want := seq == 2 || seq == 3 || 6 <= seq && seq < 9; s.Covers(seq) != want {
			t.Errorf("record %d is covered: %t", seq, !want)
		}
	}
	for at, want := range map[[2]uint64][2]uint64{
		{1, 7}: {1, 7}, {2, 0}: {5, 0}, {2, 3}: {4, 0}, {3, 0}: {4, 0}, {4, 0}: {4, 0}, {5, 1}: {5, 1}, {6, 0}: {10, 0}, {8, 2}: {9, 0},
	} {
		if seq, off := s.Skip(at[0], at[1]); [2]uint64{seq, off} != want {
			t.Errorf("%v became %d, %d; want %v", at, seq, off, want)
		}
	}
	if s.Hide(3, 10); !slices.Equal(s, Set{{2, 10}}) {
		t.Errorf("merged: %v", s)
	}
}
