package glob

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Pattern is a set of texts, as an automaton: states with transitions between them. It
// is immutable, and any goroutine may use it.
type Pattern struct {
	ways [][]way // by state; state 0 is the start
	end  int     // the accepting state

	head string   // what every match begins with
	need string   // what every match contains
	free []uint64 // by state, the set of those that it leads to without a character; nil: they are too many for a set
}

// way is a transition to another state: with a character of a set, or without one
// (nil).
type way struct {
	to int
	by *set
}

// set is a set of characters: those in ranges (pairs of first and last), or, with not, all
// others. Only slash decides whether it contains the slash.
type set struct {
	pairs []rune
	not   bool
	slash bool
}

var (
	inName  = &set{not: true}
	noDot   = &set{not: true, pairs: []rune{'.', '.'}}
	inPath  = &set{not: true, slash: true}
	divider = &set{slash: true}
)

func (s *set) has(r rune) bool {
	if r == '/' {
		return s.slash
	}
	in := false
	for i := 0; i+1 < len(s.pairs); i += 2 {
		in = in || s.pairs[i] <= r && r <= s.pairs[i+1]
	}
	return in != s.not
}

// meets reports whether two sets have a character in common. If so, there is one at or
// next to the end of a range, or it is the highest character there is.
func (s *set) meets(t *set) bool {
	if s.slash && t.slash || s.has(utf8.MaxRune) && t.has(utf8.MaxRune) {
		return true
	}
	for _, pairs := range [][]rune{s.pairs, t.pairs} {
		for _, r := range pairs {
			for _, c := range []rune{r - 1, r, r + 1} {
				if c != '/' && s.has(c) && t.has(c) {
					return true
				}
			}
		}
	}
	return false
}

// Meet reports whether some text is matched by both patterns, and the number of steps
// of the search: at most the product of their numbers of ways.
func Meet(a, b *Pattern) (ok bool, steps int) {
	seen := make([]bool, len(a.ways)*len(b.ways))
	todo := [][2]int{{0, 0}}
	add := func(x, y int) {
		if at := x*len(b.ways) + y; !seen[at] {
			seen[at] = true
			todo = append(todo, [2]int{x, y})
		}
	}
	for len(todo) > 0 {
		x, y := todo[len(todo)-1][0], todo[len(todo)-1][1]
		todo = todo[:len(todo)-1]
		if x == a.end && y == b.end {
			return true, steps
		}
		for _, v := range a.ways[x] {
			steps++
			if v.by == nil {
				add(v.to, y)
				continue
			}
			for _, w := range b.ways[y] {
				steps++
				if w.by != nil && v.by.meets(w.by) {
					add(v.to, w.to)
				}
			}
		}
		for _, w := range b.ways[y] {
			steps++
			if w.by == nil {
				add(x, w.to)
			}
		}
	}
	return false, steps
}

// Matches reports whether the pattern matches a text. It takes at most as many steps as the
// text has characters times the pattern has ways.
func (a *Pattern) Matches(text string) bool {
	switch {
	case !strings.HasPrefix(text, a.head) || !strings.Contains(text, a.need):
		return false
	case a.free == nil:
		return a.matchesLong(text)
	}
	now := a.free[0]
	for _, r := range text {
		next := uint64(0)
		for ; now != 0; now &= now - 1 {
			for _, w := range a.ways[bits.TrailingZeros64(now)] {
				if w.by != nil && w.by.has(r) {
					next |= a.free[w.to]
				}
			}
		}
		if now = next; now == 0 {
			return false
		}
	}
	return now&(1<<a.end) != 0
}

// finish ends the making of a pattern.
func (a *Pattern) finish() *Pattern {
	if len(a.ways) > 64 {
		return a
	}
	a.free = make([]uint64, len(a.ways))
	for s := range a.ways {
		in := uint64(1) << s
		for todo := in; todo != 0; {
			at := bits.TrailingZeros64(todo)
			todo &= todo - 1
			for _, w := range a.ways[at] {
				if next := uint64(1) << w.to; w.by == nil && in&next == 0 {
					in, todo = in|next, todo|next
				}
			}
		}
		a.free[s] = in
	}
	return a
}

// matchesLong is Matches for a pattern with many states.
func (a *Pattern) matchesLong(text string) bool {
	now, next := make([]bool, len(a.ways)), make([]bool, len(a.ways))
	list, after := make([]int, 0, len(a.ways)), make([]int, 0, len(a.ways))
	enter := func(list []int, in []bool, s int) []int {
		if in[s] {
			return list
		}
		in[s] = true
		list = append(list, s)
		for at := len(list) - 1; at < len(list); at++ { // including states after transitions without a character
			for _, w := range a.ways[list[at]] {
				if w.by == nil && !in[w.to] {
					in[w.to] = true
					list = append(list, w.to)
				}
			}
		}
		return list
	}
	list = enter(list, now, 0)
	for _, r := range text {
		for _, s := range list {
			for _, w := range a.ways[s] {
				if w.by != nil && w.by.has(r) {
					after = enter(after, next, w.to)
				}
			}
		}
		if len(after) == 0 {
			return false
		}
		clear(now)
		now, next, list, after = next, now, after, list[:0]
	}
	return now[a.end]
}

// builder makes a pattern.
type builder struct {
	Pattern

	path bool // a pattern for paths, not a shell word: ** matches folders, and a backslash escapes
	dots bool // a wildcard matches a dot at the start of a name

	groups int    // of braces
	deep   int    // in how many of them the current piece is
	run    []byte // the literal text before the current piece
	inner  bool   // something else was before it
	err    error  // why the pattern for paths is invalid

	// Room for the parts that each character has, which are many and small.
	firsts []way
	sets   []set
	pairs  []rune
}

// newBuilder returns a builder of a pattern with room for its text.
func newBuilder(text string) *builder {
	n := len(text) + 4
	b := &builder{firsts: make([]way, 0, n), sets: make([]set, 0, n), pairs: make([]rune, 0, 2*n)}
	b.ways = make([][]way, 0, n)
	return b
}

// Word parses a word of the shell. Its quotes and backslashes are already removed, so
// escaped wildcards count as wildcards too. With dots a wildcard may match a dot at the
// start of a name, as shells can be configured to do.
func Word(word string, dots bool) *Pattern {
	b := newBuilder(word)
	b.dots = dots
	b.end, _ = b.part(word, b.state(), true)
	b.cut()
	return b.finish()
}

// The limits of a pattern for paths.
const (
	MaxPath   = 256 // bytes from its first wildcard; for CheckPath, of the whole text
	MaxGroups = 8   // of braces
)

// CheckPath returns the error of an invalid pattern for paths, as written by a person;
// nil: it is valid.
func CheckPath(pattern string) error {
	if len(pattern) > MaxPath {
		return errLong
	}
	_, _, err := parsePath(pattern)
	return err
}

var errLong = fmt.Errorf("it is longer than %d bytes", MaxPath)

// Quote returns the pattern that matches only this path.
func Quote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", "[*]", "?", "[?]", "[", "[[]", "{", "[{]").Replace(path)
}

// wildcards returns a pattern from its first wildcard on.
func wildcards(pattern string) string {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '*', '?', '[', '{':
			return pattern[i:]
		}
	}
	return ""
}

// Path parses a pattern for paths with slashes.
func Path(pattern string) (*Pattern, error) {
	b, end, err := parsePath(pattern)
	if err != nil {
		return nil, err
	}
	b.end = end
	return b.finish(), nil
}

// Tree is like Path, and also matches everything in a folder that it matches.
func Tree(pattern string) (*Pattern, error) {
	b, named, err := parsePath(pattern)
	if err != nil {
		return nil, err
	}
	b.end = b.below(named)
	return b.finish(), nil
}

// parsePath makes the states of a pattern for paths and returns the last one.
func parsePath(pattern string) (b *builder, end int, err error) {
	switch {
	case pattern == "":
		return nil, 0, errors.New("it is empty")
	case len(wildcards(pattern)) > MaxPath:
		return nil, 0, errLong
	case !utf8.ValidString(pattern):
		return nil, 0, errors.New("it is not UTF-8 text")
	}
	b = newBuilder(pattern)
	b.path, b.dots = true, true
	if end, _ = b.part(pattern, b.state(), true); b.err != nil {
		return nil, 0, b.err
	}
	b.cut()
	return b, end, nil
}

// below also accepts everything in a folder.
func (b *builder) below(folder int) (end int) {
	in, end := b.state(), b.state()
	b.way(folder, end, nil)
	b.way(folder, in, divider)
	b.way(in, in, inPath)
	b.way(in, end, nil)
	return end
}

func (b *builder) state() int {
	b.ways = append(b.ways, nil)
	return len(b.ways) - 1
}

func (b *builder) way(from, to int, by *set) {
	if b.ways[from] == nil {
		b.firsts = append(b.firsts, way{to, by})
		b.ways[from] = b.firsts[len(b.firsts)-1 : len(b.firsts) : len(b.firsts)]
		return
	}
	b.ways[from] = append(b.ways[from], way{to, by})
}

// only returns the set of one character.
func (b *builder) only(r rune) *set {
	b.pairs = append(b.pairs, r, r)
	b.sets = append(b.sets, set{pairs: b.pairs[len(b.pairs)-2 : len(b.pairs) : len(b.pairs)]})
	return &b.sets[len(b.sets)-1]
}

// part adds a piece of the pattern after the state at, and returns the state where it
// ends. start and starts report whether a name begins there.
func (b *builder) part(s string, at int, start bool) (end int, starts bool) {
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		var by *set
		switch {
		case r == '*':
			b.cut()
			at, s, start = b.star(s, at, start)
			continue
		case r == '{':
			alternatives, rest, ok := braces(s, b.path)
			if b.groups++; b.path && (!ok || b.groups > MaxGroups) {
				b.wrong(ok, fmt.Sprintf("it has more than %d groups of braces", MaxGroups), "a { is not closed")
				return at, start
			}
			if ok {
				b.cut()
				at, start = b.either(alternatives, at, start)
				s = rest
				continue
			}
		case r == '?':
			by = b.wildcard(start)
		case r == '[':
			class, length := class(s, b.path)
			if b.path && (length == 0 || class.backwards()) {
				b.wrong(length > 0, "a range in [] runs backwards", "a [ is not closed")
				return at, start
			}
			if length > 0 {
				by, n = class, length
			}
		case r == '\\':
			if b.path && s == `\` {
				b.wrong(false, "", "it ends in a backslash")
				return at, start
			}
			r, n = one(s, b.path)
			by = b.only(r)
		case r == '/':
			by = divider
			if b.path && s == "/**" {
				b.cut()
				return b.below(at), false
			}
		}
		if by == nil {
			by = b.only(r)
		}
		b.literal(by)
		next := b.state()
		b.way(at, next, by)
		at, s, start = next, s[n:], by == divider
	}
	return at, start
}

// literal adds a set to the text that every match contains, if it has a single character. U+FFFD
// stands for bytes that are no characters.
func (b *builder) literal(by *set) {
	switch one := len(by.pairs) == 2 && by.pairs[0] == by.pairs[1] && !by.not; {
	case b.deep > 0:
	case by == divider:
		b.run = append(b.run, '/')
	case one && by.pairs[0] != '/' && by.pairs[0] != utf8.RuneError:
		b.run = utf8.AppendRune(b.run, by.pairs[0])
	default:
		b.cut()
	}
}

// cut ends a text that every match contains.
func (b *builder) cut() {
	if b.deep > 0 {
		return
	}
	if !b.inner {
		b.head = string(b.run)
	}
	if len(b.run) > len(b.need) {
		b.need = string(b.run)
	}
	b.run, b.inner = b.run[:0], true
}

// wrong keeps the first reason why the pattern is invalid.
func (b *builder) wrong(closed bool, why, open string) {
	if !closed {
		why = open
	}
	if b.err == nil {
		b.err = errors.New(why)
	}
}

// backwards reports whether a range ends before it begins.
func (s *set) backwards() bool {
	for i := 0; i+1 < len(s.pairs); i += 2 {
		if s.pairs[i] > s.pairs[i+1] {
			return true
		}
	}
	return false
}

func (b *builder) wildcard(start bool) *set {
	if start && !b.dots {
		return noDot
	}
	return inName
}

// star adds the stars at the beginning of a piece.
func (b *builder) star(s string, at int, start bool) (next int, rest string, starts bool) {
	rest = strings.TrimLeft(s, "*")
	loop, end := b.state(), b.state()
	b.way(at, end, nil)
	if b.path && len(s)-len(rest) >= 2 {
		b.way(at, loop, nil)
		b.way(loop, loop, inPath)
		if start && strings.HasPrefix(rest, "/") {
			b.way(loop, end, divider)
			return end, rest[1:], true
		}
		b.way(loop, end, nil)
		return end, rest, false
	}
	b.way(at, loop, b.wildcard(start))
	b.way(loop, loop, inName)
	b.way(loop, end, nil)
	return end, rest, false
}

// either adds alternatives between two states.
func (b *builder) either(alternatives []string, at int, start bool) (end int, starts bool) {
	end = b.state()
	b.deep++
	defer func() { b.deep-- }()
	for _, s := range alternatives {
		last, begins := b.part(s, at, start)
		b.way(last, end, nil)
		starts = starts || begins
	}
	return end, starts
}

// braces splits the alternatives at the beginning of a piece. A sequence such as
// {1..9} in a shell word counts as *. ok is false if the brace is an ordinary
// character, like {a} in a shell.
func braces(s string, path bool) (alternatives []string, rest string, ok bool) {
	depth, from, protected := 0, 1, false
	for i := range len(s) {
		if protected {
			protected = false
			continue
		}
		switch s[i] {
		case '\\':
			protected = path
		case '{':
			depth++
		case ',':
			if depth == 1 {
				alternatives = append(alternatives, s[from:i])
				from = i + 1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			inner := s[1:i]
			switch {
			case len(alternatives) > 0 || path:
				return append(alternatives, s[from:i]), s[i+1:], true
			case strings.Contains(inner, ".."):
				return []string{"*"}, s[i+1:], true
			}
			return nil, "", false
		}
	}
	return nil, "", false
}

// class parses the brackets at the beginning of a piece; length 0: the bracket is an
// ordinary character. A named class of the shell ([:alpha:]) counts as any character.
func class(s string, path bool) (chars *set, length int) {
	chars = &set{}
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		chars.not = true
		i++
	}
	for first := true; i < len(s); first = false {
		if s[i] == ']' && !first {
			return chars, i + 1
		}
		if end := strings.Index(s[i:], ":]"); !path && end > 0 && strings.HasPrefix(s[i:], "[:") {
			chars = inName
			i += end + 2
			continue
		}
		low, n := one(s[i:], path)
		i += n
		high := low
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			high, n = one(s[i+1:], path)
			i += 1 + n
		}
		if chars != inName {
			chars.pairs = append(chars.pairs, low, high)
		}
	}
	return nil, 0
}

// one reads a character, which may be escaped in a path.
func one(s string, path bool) (c rune, length int) {
	c, n := utf8.DecodeRuneInString(s)
	if c != '\\' || !path || len(s) == 1 {
		return c, n
	}
	c, n = utf8.DecodeRuneInString(s[1:])
	return c, n + 1
}

// Wild reports whether a text contains a character that may be a wildcard.
func Wild(s string) bool { return strings.ContainsAny(s, "*?[{") }
