package glob

import (
	"slices"
	"strings"
	"testing"
)

func TestAlternatives(t *testing.T) {
	for word, want := range map[string]string{
		"a": "a", "a{b,c}": "ab ac", "{a,b}{c,d}": "ac ad bc bd", "{a,b{c,d}}": "a bc bd", "{a,}b": "ab b", "x{1..9}": "x*", "a}b{c": "a}b{c", "{{,}{,}}": " ", "{a": "{a", "*.{go,md}": "*.go *.md",
	} {
		list, ok := Alternatives(word, 16)
		slices.Sort(list)
		if got := strings.Join(list, " "); !ok || strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: %q, %v; want %q", word, got, ok, want)
		}
	}
	if list, ok := Alternatives(strings.Repeat("{a,b}", 60), 64); ok || list != nil {
		t.Errorf("2^60 words: %d", len(list))
	}
	if _, ok := Alternatives(strings.Repeat("{,}", 60), 64); !ok {
		t.Error("60 times nothing is one word, and is refused")
	}
}
