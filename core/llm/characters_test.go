package llm

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCharacters(t *testing.T) {
	for _, s := range []string{"", "a", "aö😀", "12345678", "1234567ö", "öööööööö€", strings.Repeat("a😀", 50)} {
		if got, want := characters(s), utf8.RuneCountInString(s); got != want || characters([]byte(s)) != want {
			t.Errorf("%q has %d characters, want %d", s, got, want)
		}
	}
}
