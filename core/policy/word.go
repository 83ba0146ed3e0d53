package policy

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"dragoman/core/glob"
)

// word is the result of expanding a word of the shell.
type word struct {
	text   string // where it cannot be known: a space (unquoted), or U+FFFD
	static bool   // text is known
	known  bool   // the same, or the line itself says what its variables hold
	glob   bool   // the shell may expand it to names of files
	braces int    // that the shell may expand
	open   string // of a word that is not known: its text, with * where it cannot be known
}

// literally returns the word that means a text.
func literally(text string) word { return word{text: text, static: true, known: true} }

// These characters stand for a part that cannot be known while a word is read. Unicode has no
// text with them.
const (
	bare   = '\ufdd0' // it may be nothing, or split the word
	quoted = '\ufdd1'
)

var (
	shownText = strings.NewReplacer(string(bare), " ", string(quoted), string(utf8.RuneError))
	openText  = strings.NewReplacer(string(bare), "*", string(quoted), "*")
)

// readWord returns the expansion of a word, as far as it is known without a look at variables.
func readWord(n *syntax.Word) word { return variables(nil).read(n) }

// read returns the expansion of a word, as far as it is known.
func (v variables) read(n *syntax.Word) word {
	w := word{static: true, known: true}
	var b strings.Builder
	for i, part := range n.Parts {
		w.part(&b, part, i == 0, v)
	}
	w.text = shownText.Replace(b.String())
	if !w.known {
		w.open = openText.Replace(b.String())
	}
	return w
}

func (w *word) part(b *strings.Builder, part syntax.WordPart, first bool, v variables) {
	switch p := part.(type) {
	case *syntax.Lit:
		w.literal(b, p.Value, first)
	case *syntax.SglQuoted:
		if p.Dollar {
			b.WriteString(unescapeANSI(p.Value))
			return
		}
		b.WriteString(p.Value)
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			if lit, ok := q.(*syntax.Lit); ok {
				b.WriteString(unescape(lit.Value, "$`\"\\"))
				continue
			}
			w.variable(b, q, quoted, v)
		}
	default:
		w.variable(b, p, bare, v)
	}
}

// variable reads a part that the shell computes. unknown stands for it if it cannot be known.
func (w *word) variable(b *strings.Builder, p syntax.WordPart, unknown rune, v variables) {
	w.static = false
	text, ok := v.of(p)
	if !ok {
		w.known = false
		b.WriteRune(unknown)
		return
	}
	if glob.Wild(text) {
		w.glob = true
		w.braces += strings.Count(text, "{")
	}
	b.WriteString(text)
}

// literal reads unquoted text.
func (w *word) literal(b *strings.Builder, s string, first bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		case '*', '?', '[':
			w.glob = true
		case '{':
			w.glob = true
			w.braces++
		case '~':
			w.glob = w.glob || first && i == 0 || i > 0 && (s[i-1] == '=' || s[i-1] == ':')
		}
		b.WriteByte(s[i])
	}
}

// unescape drops backslashes before the given characters.
func unescape(s, special string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapeANSI decodes the text of $'…', as far as Go's escapes are the same.
func unescapeANSI(s string) string {
	var b strings.Builder
	for s != "" {
		if strings.HasPrefix(s, `\'`) || strings.HasPrefix(s, `\"`) || strings.HasPrefix(s, `\?`) {
			b.WriteByte(s[1])
			s = s[2:]
			continue
		}
		if r, tail, ok := shortHex(s); ok {
			b.WriteRune(r)
			s = tail
			continue
		}
		r, _, tail, err := strconv.UnquoteChar(s, 0)
		if err != nil {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		b.WriteRune(r)
		s = tail
	}
	return b.String()
}

// shortHex reads \xH, \uH…, \UH… and \o… with fewer digits than Go wants.
func shortHex(s string) (rune, string, bool) {
	if len(s) < 2 || s[0] != '\\' {
		return 0, "", false
	}
	base, digits, start := 16, 0, 2
	switch s[1] {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '0', '1', '2', '3', '4', '5', '6', '7':
		base, digits, start = 8, 3, 1
	default:
		return 0, "", false
	}
	end := start
	for end < len(s) && end < start+digits {
		if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	n, err := strconv.ParseUint(s[start:end], base, 32)
	if err != nil || n > unicode.MaxRune {
		return 0, "", false
	}
	return rune(n), s[end:], true
}
