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
		{"```python\nprint(1)\n```\nplease explain this code", "please explain this code"},
		{"~~~~\n```\nx\n~~~\n~~~~ \n\n  and this", "and this"},
		{"```\n\nprint(1)\nnever closed", "print(1)"},
		{"```\n```", ""},
		{"`code` first", "`code` first"},
		{strings.Repeat(wide, 60), strings.Repeat(wide, 60)},
		{strings.Repeat(wide, 61), strings.Repeat(wide, 59) + "…"},
		{strings.Repeat("x ", 1<<20), strings.TrimSpace(strings.Repeat("x ", 30)) + "…"},
	} {
		if got := titleOf([]Block{Image{}, Text{}, Text{Text: c.text}}); got != c.want {
			t.Errorf("the title of %.200q is %q, not %q", c.text, got, c.want)
		}
	}
}
