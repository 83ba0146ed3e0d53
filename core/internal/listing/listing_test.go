package listing

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
)

var errBroken = errors.New("broken")

// of yields numbers; a negative one stands for an error.
func of(list ...int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for _, n := range list {
			var err error
			if n < 0 {
				n, err = 0, errBroken
			}
			if !yield(n, err) {
				return
			}
		}
	}
}

// said writes at most a few items of a list down.
func said(list iter.Seq2[int, error], most int) string {
	var all []string
	for n, err := range list {
		if err != nil {
			all = append(all, err.Error())
		} else {
			all = append(all, fmt.Sprint(n))
		}
		if len(all) == most {
			break
		}
	}
	return strings.Join(all, " ")
}

func TestSorted(t *testing.T) {
	odd := func(n int) bool { return n%2 == 1 }
	if got := said(Sorted(of(5, 2, -1, 3, 9), odd, cmp.Compare[int]), 10); got != "3 5 9 broken" {
		t.Error(got)
	}
	if got := said(Sorted(of(5, 2, -1, 3, 9), odd, cmp.Compare[int]), 2); got != "3 5" {
		t.Error(got)
	}
}

// Items that have moved back are in their new places, also behind the end and between errors; those that
// are gone are missing, and a reader may stop at any of them.
func TestPlaced(t *testing.T) {
	now := func(n int) (int, bool) {
		switch n {
		case 1:
			return 45, true
		case 2:
			return 25, true
		case 3:
			return 0, false
		case 50:
			return 60, true
		}
		return n, true
	}
	want := strings.Fields("10 20 25 30 40 45 50 60")
	want[6] = "55"
	for most := 1; most <= len(want); most++ {
		got := said(Placed(of(1, 2, 3, 10, 20, 30, 40, 50, 55), now, cmp.Compare[int]), most)
		if got != strings.Join(want[:most], " ") {
			t.Errorf("the first %d: %s", most, got)
		}
	}
	if got := said(Placed(of(1, -1, 10), now, cmp.Compare[int]), 10); got != "45 broken 10" {
		t.Errorf("an error comes in its place: %s", got)
	}
}

func TestNow(t *testing.T) {
	double := func(n int) int { return 2 * n }
	if got := said(Now(of(1, -1, 3), double), 9); got != said(of(2, -1, 6), 9) {
		t.Errorf("Now = %s", got)
	}
	if got := said(Now(of(1, 2, 3), double), 2); got != said(of(2, 4), 2) {
		t.Errorf("Now, left early = %s", got)
	}
}
