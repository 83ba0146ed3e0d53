package runes

import "testing"

func TestCut(t *testing.T) {
	for n, want := range []string{"", "a", "a", "aö", "aö", "aö", "aö", "aö😀", "aö😀"} {
		if got := Cut("aö😀", n); got != want {
			t.Errorf("at %d: %q, want %q", n, got, want)
		}
	}
}
