package glob

import (
	"errors"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		pattern, yes, no string // texts, at spaces
	}{
		{"read_file", "read_file", "read_files xread_file Read_file"},
		{"*", "a * é", ""},
		{"list_*", "list_ list_a list_a_b", "list lista"},
		{"*_file", "read_file _file", "read_files"},
		{"a*b*c", "abc axbxc abbcc acbc", "acb ab abcx"},
		{"a*ba", "aba axba", "abab ba"},
		{"**", "a", ""},
		{"(a|b)+.]", "(a|b)+.]", "a b"},
	} {
		p, err := ParseText(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for text := range strings.FieldsSeq(c.yes) {
			if !p.Matches(text) || !p.Fold().Matches(strings.ToUpper(text)) {
				t.Errorf("%s does not match %s", c.pattern, text)
			}
		}
		for text := range strings.FieldsSeq(c.no) {
			if p.Matches(text) {
				t.Errorf("%s matches %s", c.pattern, text)
			}
		}
	}
	if p, err := ParseText(""); err != nil || !p.Matches("") || p.Matches("a") || !(Text{}).Matches("") || (Text{}).Matches("a") {
		t.Errorf("the empty pattern: %v", err)
	}
}

func TestBegins(t *testing.T) {
	for _, c := range []struct {
		pattern, yes, no string // texts, at bars
	}{
		{"git push *", "git |git push |git push origin ", "rm |gitk |git pull "},
		{"rm", "r|rm|", "rm |rmd"},
		{"a*b", "a|ax|axb|", "b|xa"},
	} {
		p, err := ParseText(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range strings.Split(c.yes, "|") {
			if !p.Begins(text) || !p.Fold().Begins(strings.ToUpper(text)) {
				t.Errorf("%s does not begin with %q", c.pattern, text)
			}
		}
		for _, text := range strings.Split(c.no, "|") {
			if p.Begins(text) {
				t.Errorf("%s begins with %q", c.pattern, text)
			}
		}
	}
}

// Characters with a meaning in other languages are errors in this one.
func TestInvalidTexts(t *testing.T) {
	for pattern, at := range map[string]int{"a?": 1, "[ab]*": 0, "read_{file,dir}": 5, `a\*`: 1} {
		_, err := ParseText(pattern)
		var bad *TextError
		if !errors.As(err, &bad) || bad.At != at || bad.Sign != rune(pattern[at]) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// FuzzText compares the matcher with one that tries all possibilities.
func FuzzText(f *testing.F) {
	for _, seed := range [][2]string{{"a*b", "axb"}, {"*a*a", "aa"}, {"", ""}, {"**b", "bb"}} {
		f.Add(seed[0], seed[1])
	}
	var tries func(pattern, text string) bool
	tries = func(pattern, text string) bool {
		switch {
		case pattern == "":
			return text == ""
		case pattern[0] == '*':
			return tries(pattern[1:], text) || text != "" && tries(pattern, text[1:])
		}
		return text != "" && text[0] == pattern[0] && tries(pattern[1:], text[1:])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := ParseText(pattern)
		if err != nil || len(pattern) > 12 || len(text) > 20 {
			return
		}
		if got, want := p.Matches(text), tries(pattern, text); got != want {
			t.Errorf("%q and %q: %v, want %v", pattern, text, got, want)
		}
	})
}
