package files

import (
	"fmt"
	"testing"
)

// The versions of so many texts are remembered; what is known goes on being followed.
func TestVersionsAreBounded(t *testing.T) {
	w := newDesk(t).Workspace
	for i := range 15_000 {
		w.Saw(Place{Real: fmt.Sprint("/w/", i)}, 1)
	}
	w.Saw(Place{Real: "/w/0"}, 2)
	w.Saw(Place{Real: "/w/1"}, 0)
	w.Saw(Place{Real: "/w/new"}, 3)
	if n := len(w.versions); n != 10_000 || w.versions["/w/0"] != 2 || w.versions["/w/new"] != 3 {
		t.Errorf("%d versions, %d, %d", n, w.versions["/w/0"], w.versions["/w/new"])
	}
}
