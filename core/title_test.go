package core

import (
	"strings"
	"testing"
)

func TestTitleOf(t *testing.T) {
	wide := "\U0001F600"
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" \n hello \n there", "hello"},
		{strings.Repeat(wide, 60), strings.Repeat(wide, 60)},
		{strings.Repeat(wide, 61), strings.Repeat(wide, 59) + "…"},
		{strings.Repeat("x ", 1<<20), strings.TrimSpace(strings.Repeat("x ", 30)) + "…"},
	} {
		if got := titleOf([]Block{Image{}, Text{}, Text{Text: c.text}}); got != c.want {
			t.Errorf("the title of %.200q is %q, not %q", c.text, got, c.want)
		}
	}
}
