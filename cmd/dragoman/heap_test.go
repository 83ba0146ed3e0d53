package main

import "testing"

// A heap grows to 8 MiB before it is collected, and a large one to twice its size, as ever.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 200}, {2 << 20, 200}, {3 << 20, 150}, {4 << 20, 100}, {8 << 20, 100}, {1 << 40, 100}} {
		if got := growth(c.live); got != c.want {
			t.Errorf("growth(%d) is %d, not %d", c.live, got, c.want)
		}
	}
}
