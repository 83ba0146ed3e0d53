package display

import "testing"

func TestPlainSeenWord(t *testing.T) {
	for s, want := range map[string][3]string{
		"a\tb":                    {"a\tb", "a\tb", `"a\tb"`},
		"a\nb":                    {"ab", "a\nb", `"a\nb"`},
		"\x1b[31mred\u009b":       {"[31mred", "[31mred", `"\x1b[31mred\u009b"`},
		"a\u202egnp":              {"agnp", "agnp", `"a\u202egnp"`},
		"hid\u200bden":            {"hidden", "hidden", `"hid\u200bden"`},
		"\U000e0041\u2060ä\ufeff": {"ä", "ä", `"\U000e0041\u2060\u00e4\ufeff"`},
		"a\u2800b\u3164\u00ad":    {"ab", "ab", `"a\u2800b\u3164\u00ad"`},
		"❤\ufe0f\ufe0f a\ufe0f":   {"❤\ufe0f a", "❤\ufe0f a", `"\u2764\ufe0f\ufe0f a\ufe0f"`},
		"می\u200cخ 👩\u200d💻":      {"میخ 👩💻", "میخ 👩💻", `"\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f4bb"`},
		"a\u00a0b\u3000\ue0b0":    {"a\u00a0b\u3000\ue0b0", "a\u00a0b\u3000\ue0b0", `"a\u00a0b\u3000\ue0b0"`},
		"ä":                       {"ä", "ä", "ä"},
		"it's":                    {"it's", "it's", `"it's"`},
		"":                        {"", "", `""`},
	} {
		if got := [3]string{Plain(s), Seen(s), Word(s)}; got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
