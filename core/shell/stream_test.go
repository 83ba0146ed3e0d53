package shell

import (
	"testing"
	"unicode/utf8"
)

func TestDecoder(t *testing.T) {
	text := "a\xffé世🙂\x00\xe4\xb8b\xf0\x9f"
	var whole Decoder
	want := whole.Text([]byte(text), true)
	if want != "a\ufffdé世🙂\ufffd\ufffd\ufffdb\ufffd\ufffd" {
		t.Errorf("whole: %q", want)
	}
	for i := range len(text) {
		for j := i; j <= len(text); j++ {
			var d Decoder
			got := ""
			for _, part := range []string{text[:i], text[i:j], text[j:]} {
				s := d.Text([]byte(part), false)
				if !utf8.ValidString(s) {
					t.Errorf("%q", s)
				}
				got += s
			}
			if got += d.Text(nil, true); got != want {
				t.Errorf("cut at %d and %d: %q", i, j, got)
			}
		}
	}
}
