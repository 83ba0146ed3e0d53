package display

import "testing"

func TestPlainSeenWord(t *testing.T) {
	for s, want := range map[string][3]string{
		"a\tb":                    {"a\tb", "a\tb", `"a\tb"`},
		"a\nb":                    {"ab", "a\nb", `"a\nb"`},
		"\x1b[31mred\u009b":       {"[31mred", "[31mred", `"\x1b[31mred\u009b"`},
		"a\u202egnp":              {"agnp", "agnp", `"a\u202egnp"`},
		"hid\u200bden":            {"hid\u200bden", "hidden", `"hid\u200bden"`},
		"\U000e0041\u2060ä\ufeff": {"\U000e0041\u2060ä\ufeff", "ä", `"\U000e0041\u2060\u00e4\ufeff"`},
		"ä":                       {"ä", "ä", "ä"},
		"it's":                    {"it's", "it's", `"it's"`},
		"":                        {"", "", `""`},
	} {
		if got := [3]string{Plain(s), Seen(s), Word(s)}; got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
