package attached

import (
	"slices"
	"testing"
)

func TestSet(t *testing.T) {
	s := Set[int]{1: {}, 2: {}, 3: {}}
	odd := func(n int) bool { return n%2 == 1 }
	list := s.Some(odd)
	slices.Sort(list)
	if !slices.Equal(list, []int{1, 3}) || !s.Any(odd) {
		t.Errorf("the odd ones: %v, any: %v", list, s.Any(odd))
	}
	large := func(n int) bool { return n > 3 }
	if list := s.Some(large); list != nil || s.Any(large) {
		t.Errorf("the large ones: %v, any: %v", list, s.Any(large))
	}
}
