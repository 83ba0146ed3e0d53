package growth_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/bridge/agent/growth"
)

func TestMore(t *testing.T) {
	var long strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	whole := long.String()
	for name, c := range map[string]struct {
		texts []string
		want  []string // what is new in each; "!": it does not go on
	}{
		"all that there is":       {[]string{"a\n", "a\nb\n", "a\nb\n"}, []string{"a\n", "b\n", ""}},
		"in a fence":              {[]string{"```console\na\n```", "```console\na\nb\n```"}, []string{"a\n", "b\n"}},
		"the end":                 {[]string{whole[:8000], whole[4000:9000], whole[5000:9100]}, []string{whole[:8000], whole[8000:9000], whole[9000:9100]}},
		"another text":            {[]string{"10 %", "20 %", "20 %."}, []string{"10 %", "!20 %", "."}},
		"a shorter one":           {[]string{"waiting", "done"}, []string{"waiting", "!done"}},
		"a longer one":            {[]string{"10 %", "20 percent"}, []string{"10 %", "!20 percent"}},
		"nothing in common":       {[]string{whole[:5000], strings.Repeat("x", 5000)}, []string{whole[:5000], "!" + strings.Repeat("x", 5000)}},
		"two blocks are no fence": {[]string{"```\na\n```\nand\n```\nb\n```"}, []string{"```\na\n```\nand\n```\nb\n```"}},
	} {
		var text growth.Text
		for i, s := range c.texts {
			more, ok := text.More(s)
			if want, other := strings.CutPrefix(c.want[i], "!"); more != want || ok == other {
				t.Errorf("%s, text %d: %q, %t; want %q, %t", name, i, more, ok, want, !other)
			}
		}
	}
}

// Pieces that came by themselves are not told again.
func TestAdd(t *testing.T) {
	var text growth.Text
	text.Add("a\n")
	text.Add("b\n")
	if more, ok := text.More("a\nb\nc\n"); more != "c\n" || !ok {
		t.Errorf("%q, %t", more, ok)
	}
	text.Add(strings.Repeat("x", 3<<20)) // only the end is remembered
	if more, ok := text.More(strings.Repeat("x", 1<<20) + "y"); more != "y" || !ok {
		t.Errorf("%d bytes, %t", len(more), ok)
	}
}

func TestUnfenced(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"a":                           "a",
		"```\na\n```":                 "a\n",
		"````md\n```\na\n```\n````":   "```\na\n```\n",
		"```console\n```":             "",
		"```\na":                      "```\na",
		"```\na\n```\nb\n```\nc\n```": "```\na\n```\nb\n```\nc\n```",
		"`a`\n`":                      "`a`\n`",
	} {
		if got := growth.Unfenced(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
