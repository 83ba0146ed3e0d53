package given

import (
	"slices"
	"strings"
	"testing"
)

func slot(s string) string { name, _, _ := strings.Cut(s, "="); return name }

func TestContext(t *testing.T) {
	var c Context
	check := func(standing, passing []string, unchanged bool, want ...string) {
		t.Helper()
		news, changed := News(&c, standing, passing, slot)
		if (news == nil) != unchanged || news != nil && !slices.Equal(news, standing) || !slices.Equal(changed, want) {
			t.Errorf("%q and %q: %q and %q are new", standing, passing, news, changed)
		}
		Add(&c, news, changed, slot)
	}
	check(nil, nil, true)
	check([]string{"a"}, []string{"x=1", "y=1"}, false, "x=1", "y=1")
	check([]string{"a"}, []string{"x=1", "y=2"}, true, "y=2")
	check([]string{"a", "b"}, []string{"y=1"}, false, "y=1")
	check([]string{"ab"}, []string{"x=1"}, false)
	c.Forget()
	check([]string{"ab"}, []string{"x=1"}, true, "x=1")
	check([]string{}, nil, false)
	check(nil, nil, true)
}
