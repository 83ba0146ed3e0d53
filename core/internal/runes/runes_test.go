package runes

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for n, want := range []string{"", "a", "a", "aö", "aö", "aö", "aö", "aö😀", "aö😀"} {
		if got := Cut("aö😀", n); got != want {
			t.Errorf("at %d: %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for _, s := range []string{"", "a", "aö😀", "12345678", "1234567ö", "öööööööö€", strings.Repeat("a😀", 50)} {
		if got, want := Count(s), utf8.RuneCountInString(s); got != want {
			t.Errorf("%q has %d characters, want %d", s, got, want)
		}
	}
}
