package guide

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
)

const maxExpanded = 1 << 20 // bytes

// piece is a part of a command's text: literal text or a placeholder.
type piece struct {
	kind pieceKind
	text string // literal text, or the name
	n    int    // position, from 1
}

type pieceKind byte

const (
	literalPiece pieceKind = iota
	allPiece               // $ARGUMENTS, $ARGS
	positionPiece
	namedPiece
)

// pieces splits a text into literal text and placeholders: $ARGUMENTS and $ARGS, $1 …
// $9 and $ARG1 … $ARG9, and {{name}}. A placeholder after a backslash is text, and so
// is ${{name}}, which belongs to other programs.
func pieces(text string) []piece {
	var list []piece
	from := 0
	for i := 0; i < len(text); {
		escaped := i > 0 && text[i-1] == '\\'
		p, n := placeholder(text[i:])
		switch {
		case n == 0:
			i++
		case p.kind == namedPiece && i > 0 && text[i-1] == '$':
			i += n
		case escaped:
			list = append(list, piece{text: text[from : i-1]})
			from = i
			i += n
		default:
			list = append(list, piece{text: text[from:i]}, p)
			i += n
			from = i
		}
	}
	return append(list, piece{text: text[from:]})
}

// placeholder reads the placeholder at the beginning of a text; n is its length, 0 if
// there is none.
func placeholder(s string) (p piece, n int) {
	switch {
	case strings.HasPrefix(s, "{{"):
		inner, _, ok := strings.Cut(s[2:min(len(s), 2+maxName+16)], "}}")
		if name := strings.Trim(inner, " \t"); ok && isIdentifier(name) {
			return piece{kind: namedPiece, text: name}, len("{{") + len(inner) + len("}}")
		}
	case strings.HasPrefix(s, "$"):
		for _, word := range []string{"$ARGUMENTS", "$ARGS"} {
			if after, ok := strings.CutPrefix(s, word); ok && (after == "" || !isWord(after[0])) {
				return piece{kind: allPiece}, len(word)
			}
		}
		digit := 1
		if strings.HasPrefix(s, "$ARG") {
			digit = len("$ARG")
		}
		if len(s) > digit && s[digit] >= '1' && s[digit] <= '9' && (len(s) == digit+1 || !isWord(s[digit+1])) {
			return piece{kind: positionPiece, n: int(s[digit] - '0')}, digit + 1
		}
	}
	return piece{}, 0
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isIdentifier(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if !isWord(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

// fill replaces the placeholders in a text. args is the user's text; words are its
// parts, and named has the value of each name. Without placeholders, the arguments are
// added at the end.
func fill(text, args string, words []string, named map[string]string) (string, error) {
	var b strings.Builder
	places := false
	for _, p := range pieces(text) {
		switch p.kind {
		case literalPiece:
			b.WriteString(p.text)
			continue
		case allPiece:
			b.WriteString(args)
		case positionPiece:
			if p.n <= len(words) {
				b.WriteString(words[p.n-1])
			}
		case namedPiece:
			b.WriteString(named[p.text])
		}
		if places = true; b.Len() > maxExpanded {
			return "", fmt.Errorf("with these arguments the text is longer than %d KiB", maxExpanded>>10)
		}
	}
	if !places && args != "" {
		b.WriteString("\n\nArguments: " + args)
	}
	if b.Len() > maxExpanded {
		return "", fmt.Errorf("with these arguments the text is longer than %d KiB", maxExpanded>>10)
	}
	return strings.TrimSpace(b.String()), nil
}

// naming assigns words to the names of a command's arguments: name=word by name, the
// others in order. The last name gets all remaining words.
func naming(list []core.Argument, words []string) map[string]string {
	named := map[string]string{}
	known := func(name string) bool {
		return slices.ContainsFunc(list, func(a core.Argument) bool { return a.Name == name })
	}
	var rest []string
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if _, twice := named[name]; ok && known(name) && !twice {
			named[name] = value
			continue
		}
		rest = append(rest, w)
	}
	last := -1
	for i, a := range list {
		if _, given := named[a.Name]; given {
			continue
		}
		if len(rest) == 0 {
			break
		}
		named[a.Name], rest, last = rest[0], rest[1:], i
	}
	if last >= 0 && len(rest) > 0 {
		named[list[last].Name] += " " + strings.Join(rest, " ")
	}
	return named
}
