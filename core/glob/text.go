package glob

import (
	"fmt"
	"strings"
)

// Text is a pattern for names: * matches any text, even an empty one, and all other
// characters match themselves. The zero value matches only the empty text.
type Text struct {
	parts []string // the parts between the stars
	fold  bool
}

// TextError is the position of a mistake in a pattern for names.
type TextError struct {
	At   int // the byte, from 0
	Sign rune
}

func (e *TextError) Error() string {
	return fmt.Sprintf(
		"%q at character %d has no meaning here: the only wildcard is *, which matches any text",
		e.Sign,
		e.At+1,
	)
}

// ParseText parses a pattern for names. The error is a *TextError.
func ParseText(pattern string) (Text, error) {
	if at := strings.IndexAny(pattern, `?[{\`); at >= 0 {
		return Text{}, &TextError{at, rune(pattern[at])}
	}
	return Text{parts: strings.Split(pattern, "*")}, nil
}

// Fold returns the same pattern without regard to case, for lists and rules that
// forbid something.
func (p Text) Fold() Text {
	folded := make([]string, len(p.parts))
	for i, part := range p.parts {
		folded[i] = strings.ToLower(part)
	}
	return Text{folded, true}
}

// Matches reports whether the pattern matches a text. The time is linear in the text.
func (p Text) Matches(text string) bool {
	if p.fold {
		text = strings.ToLower(text)
	}
	if len(p.parts) == 0 {
		return text == ""
	}
	last := len(p.parts) - 1
	text, ok := strings.CutPrefix(text, p.parts[0])
	if last == 0 || !ok {
		return ok && text == ""
	}
	for _, part := range p.parts[1:last] {
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(text, p.parts[last])
}

// Begins reports whether the pattern matches the text, or a longer one that begins with it.
func (p Text) Begins(text string) bool {
	if p.fold {
		text = strings.ToLower(text)
	}
	if len(p.parts) == 0 {
		return text == ""
	}
	first := p.parts[0]
	return strings.HasPrefix(first, text) || len(p.parts) > 1 && strings.HasPrefix(text, first)
}

// AnyText reports whether one of the patterns matches a text. The error is that of
// ParseText, for the first invalid pattern.
func AnyText(patterns []string, text string) (bool, error) {
	return anyText(patterns, text, false)
}

// AnyTextFolded is AnyText without regard to case, for lists that forbid something.
func AnyTextFolded(patterns []string, text string) (bool, error) {
	return anyText(patterns, text, true)
}

func anyText(patterns []string, text string, fold bool) (found bool, err error) {
	for _, pattern := range patterns {
		p, err := ParseText(pattern)
		if err != nil {
			return false, err
		}
		if fold {
			p = p.Fold()
		}
		found = found || p.Matches(text)
	}
	return found, nil
}
