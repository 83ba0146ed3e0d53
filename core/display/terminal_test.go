package display

import "testing"

// Nothing that somebody else wrote is on the screen and invisible.
func TestInvisibleCharactersAreShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n", "a\r\nb": "a\nb", "a\x1b[2Kb": "a\ufffd[2Kb", "a\u202eb": "a\ufffdb",
		"r\u200bm x": "r\ufffdm x", "a\u2028b": "a\ufffdb", "a\u2029b": "a\ufffdb", "a\ufeffb": "a\ufffdb", "a\u200eb\u061c": "a\ufffdb\ufffd", "a\u00adb": "a\ufffdb",
		"a\u200db\u200cc\ufe0f": "a\ufffdb\ufffdc\ufffd", "\U000e0061": "\ufffd", "a\u2064\u200db": "a\ufffd\ufffdb",
		"\u2764\ufe0f \U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e": "\u2764\ufe0f \U0001f469\u200d\U0001f4bb \u0645\u06cc\u200c\u062e",
		"\U0001f3f3\ufe0f\u200d\U0001f308":                                 "\U0001f3f3\ufe0f\u200d\U0001f308", "na\u00efve \u4f60": "na\u00efve \u4f60",
		"a\u00a0b\u3000c\ue0b0": "a\u00a0b\u3000c\ue0b0", "rm\u2800-rf": "rm\ufffd-rf", "a\u3164b": "a\ufffdb",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%+q: %+q, want %+q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"WARN a {\"b\": \"c\"}\n": "WARN a {\"b\": \"c\"}\n", "a\u202eb\u200b\U000e0061\n": "a\\u202eb\\u200b\\udb40\\udc61\n", "\u4f60\t\n": "\u4f60\t\n",
	} {
		if got := string(Escaped([]byte(in))); got != want {
			t.Errorf("%+q in a log: %+q, want %+q", in, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"a\n b\tc", 10, "a b c"},
		{"äöüß", 4, "äöüß"},
		{"äöüßx", 4, "äöü…"},
		{"", 3, ""},
	} {
		if got := Line(c.in, c.n); got != c.want {
			t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}
