package recent

import (
	"fmt"
	"testing"
)

// TestMapForgetsTheOldest sets more keys than the map keeps, and one of them twice.
func TestMapForgetsTheOldest(t *testing.T) {
	m := Map[int]{Max: 3}
	for i, key := range []string{"a", "b", "a", "c", "d"} {
		m.Set(key, i)
	}
	got := ""
	for _, key := range []string{"a", "b", "c", "d", ""} {
		v, ok := m.Get(key)
		got += fmt.Sprintf("%s %d %t, ", key, v, ok)
	}
	if want := "a 0 false, b 1 true, c 3 true, d 4 true,  0 false, "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
