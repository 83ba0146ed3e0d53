package masks

import "testing"

func TestMasks(t *testing.T) {
	var m Masks
	m.Learn("x", Secrets{
		Env:     map[string]string{"TOKEN": "s3cret/val", "LEVEL": "warn", "MY_PIN": "1234", "EMPTY": "", "LONGER": "s3cret/value", "TEXT": "say \"hi\"\n"},
		Headers: map[string]string{"Authorization": "Bearer abcdefgh"},
	})
	m.Learn("x", Secrets{Env: map[string]string{"TOKEN": "renewed"}})
	for _, c := range []struct{ in, want string }{
		{"token s3cret/val, s3cret/value, and url s3cret%2Fval", "token ***, ***, and url ***"},
		{"Bearer abcdefgh or abcdefgh", "*** or ***"},
		{"warn: pin 1234 renewed", "warn: pin *** ***"},
		{`{"text": "say \"hi\"\n"}`, `{"text": "***"}`},
		{"nothing", "nothing"},
	} {
		if got := m.Hide("x", c.in); got != c.want {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
	if got := m.Hide("y", "renewed"); got != "renewed" {
		t.Errorf("of another server: %q", got)
	}
}
