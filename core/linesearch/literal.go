package linesearch

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxTexts limits the texts of which a match contains one.
const maxTexts = 16

// literal is a set of texts of which every match contains at least one. The zero value
// says nothing.
type literal struct {
	texts []string // in lower case if fold is set
	fold  bool     // the case of ASCII letters does not matter
	exact bool     // whatever contains one of the texts is a match

	odd     [][]byte // the characters outside of ASCII that match one of the texts' letters
	seekers []seeker // of texts
}

// required finds the texts that are in every match of an expression.
func required(re *syntax.Regexp) literal {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCapture:
		return required(re.Sub[0])
	case syntax.OpPlus:
		l := required(re.Sub[0])
		l.exact = false
		return l
	case syntax.OpConcat:
		return inConcat(re.Sub)
	case syntax.OpAlternate:
		return inAlternate(re.Sub)
	}
	return literal{}
}

// literalOf returns the longest part of a literal that can be looked for byte by byte. Only
// the case of ASCII is folded here, and U+FFFD matches any byte that is not UTF-8.
func literalOf(re *syntax.Regexp) literal {
	l := literal{fold: re.Flags&syntax.FoldCase != 0, exact: true}
	best, piece := "", ""
	for _, r := range re.Rune {
		if r == utf8.RuneError || !utf8.ValidRune(r) || l.fold && r >= utf8.RuneSelf {
			best, piece, l.exact = longer(best, piece), "", false
			continue
		}
		piece += string(r)
	}
	if best = longer(best, piece); l.fold {
		best = strings.ToLower(best)
	}
	if best == "" {
		return literal{}
	}
	l.texts = []string{best}
	return l
}

func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

// inConcat finds the best texts in one of several parts, after joining those that are literal.
func inConcat(subs []*syntax.Regexp) literal {
	var best, joined literal
	whole := true
	for _, sub := range subs {
		l := required(sub)
		switch {
		case !l.exact || len(l.texts) != 1:
			best, joined, whole = better(better(best, joined), l), literal{}, false
		case joined.texts == nil:
			joined = l
		default:
			joined = both(joined, l)
			joined.texts = []string{joined.texts[0] + joined.texts[1]}
		}
	}
	best = better(best, joined)
	best.exact = best.exact && whole
	return best
}

// inAlternate finds the texts of all alternatives.
func inAlternate(subs []*syntax.Regexp) literal {
	all := required(subs[0])
	for _, sub := range subs[1:] {
		l := required(sub)
		if all.texts == nil || l.texts == nil || len(all.texts)+len(l.texts) > maxTexts {
			return literal{}
		}
		all = both(all, l)
	}
	return all
}

// both returns the texts of two literals. It folds more than they do if only one of them does.
func both(a, b literal) literal {
	l := literal{fold: a.fold || b.fold, exact: a.exact && b.exact && a.fold == b.fold}
	for _, text := range append(a.texts[:len(a.texts):len(a.texts)], b.texts...) {
		if l.fold {
			text = lower(text)
		}
		l.texts = append(l.texts, text)
	}
	return l
}

// lower folds ASCII letters.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// better returns the literal that fewer lines contain, by a guess.
func better(a, b literal) literal {
	if b.worth() > a.worth() {
		return b
	}
	return a
}

func (l literal) worth() int {
	if len(l.texts) == 0 {
		return 0
	}
	shortest := len(l.texts[0])
	for _, text := range l.texts {
		shortest = min(shortest, len(text))
	}
	return 100 + 4*min(shortest, 16) - len(l.texts)
}

// ready prepares the search for the texts.
func (l literal) ready() literal {
	all := strings.Join(l.texts, "")
	l.exact = l.exact && !strings.Contains(all, "\n") // which no line has
	if l.fold && strings.Contains(all, "k") {
		l.odd = append(l.odd, []byte("\u212a"))
	}
	if l.fold && strings.Contains(all, "s") {
		l.odd = append(l.odd, []byte("\u017f"))
	}
	for _, text := range l.texts {
		l.seekers = append(l.seekers, newSeeker(text, l.fold))
	}
	return l
}

// usable reports whether no line of data matches without one of the texts.
func (l literal) usable(data []byte) bool {
	return len(l.texts) > 0 && !slices.ContainsFunc(l.odd, func(c []byte) bool { return bytes.Contains(data, c) })
}

// in starts a search for the texts.
func (l literal) in(data []byte) *finder { return &finder{data, slices.Clone(l.seekers)} }

// finder finds where the first of several texts begins.
type finder struct {
	data  []byte
	texts []seeker
}

// next returns the first place at or behind from where one of the texts begins; -1: there is
// none. from only grows.
func (f *finder) next(from int) int {
	first := len(f.data)
	for i := range f.texts {
		first = min(first, f.texts[i].next(f.data, from))
	}
	if first == len(f.data) {
		return -1
	}
	return first
}

// seeker finds a text by its rarest byte.
type seeker struct {
	text     string
	fold     bool
	rare     int  // the index of the rarest byte
	low, up  byte // that byte, in lower and in upper case
	at       int  // the last place that was found; -1: none was looked for
	ats, ups int  // the next places of low and of up; -1 as above
}

func newSeeker(text string, fold bool) seeker {
	s := seeker{text: text, fold: fold, at: -1, ats: -1, ups: -1}
	for i := range len(text) {
		if rarity(text[i]) > rarity(text[s.rare]) {
			s.rare = i
		}
	}
	s.low, s.up = text[s.rare], text[s.rare]
	if fold && 'a' <= s.low && s.low <= 'z' {
		s.up -= 'a' - 'A'
	}
	return s
}

// next returns the first place at or behind from where the text begins, or the length of data.
func (s *seeker) next(data []byte, from int) int {
	if s.at >= from {
		return s.at
	}
	for {
		at := s.rareFrom(data, from+s.rare)
		if at == len(data) {
			s.at = at
			return at
		}
		if from = at - s.rare; s.holds(data[from:]) {
			s.at = from
			return from
		}
		from++
	}
}

// rareFrom returns the first place at or behind from of the rarest byte, or the length of data.
func (s *seeker) rareFrom(data []byte, from int) int {
	if s.ats < from {
		s.ats = indexFrom(data, s.low, from)
	}
	if s.up == s.low {
		return s.ats
	}
	if s.ups < from {
		s.ups = indexFrom(data, s.up, from)
	}
	return min(s.ats, s.ups)
}

func indexFrom(data []byte, c byte, from int) int {
	if from < len(data) {
		if i := bytes.IndexByte(data[from:], c); i >= 0 {
			return from + i
		}
	}
	return len(data)
}

// holds reports whether data begins with the text.
func (s *seeker) holds(data []byte) bool {
	if len(data) < len(s.text) {
		return false
	}
	if !s.fold {
		return string(data[:len(s.text)]) == s.text
	}
	for i, c := range data[:len(s.text)] {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != s.text[i] {
			return false
		}
	}
	return true
}

// common lists the bytes of texts and programs, the most frequent first.
const common = " etnrisaoldcu\tpfm.\"()hg,_b/v=y:k;{}xw-0T1SCEREA*ILNPDMFOB2'[]Uqj3<V>4`z6589H&7#G!W\\X+KQY$J|?%@Z^~"

var ranks = func() (ranks [256]uint8) {
	for i := range ranks {
		ranks[i] = uint8(len(common))
	}
	for i := len(common) - 1; i >= 0; i-- {
		ranks[common[i]] = uint8(i)
	}
	return ranks
}()

// rarity is greater for bytes that are less frequent.
func rarity(c byte) uint8 { return ranks[c] }
