package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dragoman/core"
)

// usage is one row of the table of what an answer "for this session" covers: a program,
// its sub-command, and what may stand behind them. Whatever a row does not name asks
// again, with the exact line.
type usage struct {
	// words are the program and its sub-command as they are typed. A last word "*" is
	// any name, of a script or a target, and belongs to what is remembered.
	words string
	// options are those that neither run nor write nor send anything that the words
	// alone would not. "-[abc]" are three without a value, "-n=" has a value that may be
	// a path, "-m=*" one that is text, "--color[=]" one that can only be attached, "-#"
	// is a number, and "+*" any word that begins with a plus.
	options string
	rest    operands
	// behind are the options that may stand behind "--". Empty: none, and the words
	// there are operands, as rest says.
	behind string
	// apart says that every word is one option, as Go's flag package, find and most
	// programs of Node have it: -la is not -l and -a, and -n5 is not -n 5.
	apart bool
	// first judges the first operand, which is no path but a pattern or a script.
	first func(string) bool
	// instead are options that take the place of the first operand.
	instead string
}

// operands says what the words that are no options may be.
type operands int

const (
	none  operands = iota // there must not be any
	paths                 // anything that names nothing outside of the workspace
	names                 // letters, digits and . _ - / only, and no path that begins with a dot or slash
	texts                 // anything
)

// value says how an option takes its value.
type value int

const (
	noValue       value = iota
	pathValue           // in the same word or the next, and it may be a path
	textValue           // the same, and it is text
	attachedValue       // in the same word, if at all
)

// row is a usage made ready.
type row struct {
	usage

	words   []string
	options map[string]value
	behind  map[string]value
	instead []string
}

// rows are the table by program. They are made when the first command line is judged, and
// not when the program starts.
var rows = sync.OnceValue(func() map[string][]row {
	all := map[string][]row{}
	for _, list := range [][]usage{lookers, gitters, builders} {
		for _, u := range list {
			for _, spelling := range strings.Split(u.words, ", ") {
				words := strings.Fields(spelling)
				all[words[0]] = append(all[words[0]], row{
					usage: u, words: words, options: optionsOf(u.options), behind: optionsOf(u.behind), instead: strings.Fields(u.instead),
				})
			}
		}
	}
	return all
})

// optionsOf reads usage.options.
func optionsOf(s string) map[string]value {
	all := map[string]value{}
	for _, o := range strings.Fields(s) {
		if letters, ok := strings.CutPrefix(o, "-["); ok {
			for _, c := range strings.TrimSuffix(letters, "]") {
				all["-"+string(c)] = noValue
			}
			continue
		}
		for _, end := range []struct {
			mark string
			is   value
		}{{"[=]", attachedValue}, {"=*", textValue}, {"=", pathValue}, {"", noValue}} {
			if name, ok := strings.CutSuffix(o, end.mark); ok {
				all[name] = end.is
				break
			}
		}
	}
	return all
}

// covering finds the row of a line's words, and how many of them it names: the longest
// that fits.
func covering(words []string) (best row, n int) {
	for _, r := range rows()[words[0]] {
		if len(r.words) > n && len(r.words) <= len(words) && r.begins(words) {
			best, n = r, len(r.words)
		}
	}
	return best, n
}

func (r row) begins(words []string) bool {
	for i, w := range r.words {
		if words[i] != w && (w != "*" || !name(words[i], "_:.-") || words[i][0] == '-') {
			return false
		}
	}
	return true
}

// covers reports whether a row names everything in the words behind the sub-command.
// leaves says of a word that it may name something outside of the workspace.
func (r row) covers(args []string, leaves func(string) bool) bool {
	s := scan{row: r, leaves: leaves, first: r.first != nil}
	options := r.options
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--" && len(r.behind) > 0 && !s.ended:
			s.ended, options = true, r.behind
		case word == "--" && !s.ended:
			s.ended = true
		case !optional(word):
			if !s.operand(word) {
				return false
			}
		case s.ended && len(r.behind) == 0:
			return false // an operand for most programs, but not for all
		default:
			used, ok := s.option(options, word, args)
			if !ok {
				return false
			}
			args = args[used:]
		}
	}
	return true
}

// optional reports whether a word may be an option.
func optional(word string) bool {
	return len(word) > 1 && (word[0] == '-' || word[0] == '+')
}

// scan is one pass over the words of a line.
type scan struct {
	row    row
	leaves func(string) bool
	first  bool // the next operand is the first, and row.first judges it
	ended  bool // "--" has come
}

// operand judges a word that is no option.
func (s *scan) operand(word string) bool {
	if s.first {
		s.first = false
		return s.row.first(word)
	}
	switch s.row.rest {
	case texts:
		return true
	case paths:
		return !s.leaves(word)
	case names:
		return name(word, "._-/") && word[0] != '.' && !s.leaves(word)
	case none:
	}
	return false
}

// option judges a word that may be an option, and says how many of the words behind it
// are its value.
func (s *scan) option(options map[string]value, word string, next []string) (used int, ok bool) {
	if word[0] == '+' {
		_, ok := options["+*"]
		return 0, ok
	}
	whole, rest, given := strings.Cut(word, "=")
	if _, fixed := options[word]; fixed && given { // -mod=readonly
		return 0, true
	}
	if is, known := options[whole]; known && (len(whole) == 2 || strings.HasPrefix(word, "--") || s.row.apart) {
		s.took(whole)
		return s.takes(is, rest, given, next)
	}
	if _, known := options["-#"]; known && digits(word[1:]) {
		return 0, true
	}
	if strings.HasPrefix(word, "--") || s.row.apart {
		return 0, false
	}
	return s.bundle(options, word[1:], next)
}

// bundle takes joined letters apart: -la, -n5, -vn 5.
func (s *scan) bundle(options map[string]value, letters string, next []string) (used int, ok bool) {
	for i := range len(letters) {
		is, known := options["-"+letters[i:i+1]]
		rest := letters[i+1:]
		switch {
		case !known:
			return 0, false
		case is == noValue:
			s.took("-" + letters[i:i+1])
			continue
		case is == attachedValue:
			return 0, !s.leaves(rest)
		}
		s.took("-" + letters[i:i+1])
		return s.takes(is, strings.TrimPrefix(rest, "="), rest != "", next)
	}
	return 0, true
}

// took notes an option that stands in for the first operand.
func (s *scan) took(option string) {
	if slices.Contains(s.row.instead, option) {
		s.first = false
	}
}

// takes judges the value of an option. One that is a word of its own must not look like
// an option: a program that takes no value there would read it as one.
func (s *scan) takes(is value, rest string, given bool, next []string) (used int, ok bool) {
	switch {
	case is == noValue:
		return 0, !given
	case is == attachedValue:
		return 0, !given || !s.leaves(rest)
	case !given && len(next) == 0:
		return 0, false
	case !given:
		rest, used = next[0], 1
		if optional(rest) && !number(rest[1:]) {
			return 0, false
		}
	}
	return used, is == textValue || !s.leaves(rest)
}

func digits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// number reports whether s is digits, with a unit or none: find's 10k.
func number(s string) bool {
	return digits(s) || len(s) > 1 && digits(s[:len(s)-1]) && name(s[len(s)-1:], "")
}

// name reports whether s is letters, digits and the given characters only.
func name(s, also string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(also, r))
	})
}

// leaves reports whether an argument may name something outside of the workspace, or a
// place where programs keep keys.
func leaves(f facts, outside bool, arg string) bool {
	for _, value := range append(strings.SplitN(arg, "=", 2), arg) {
		p := filepath.ToSlash(value)
		switch {
		case core.KeepsKeys(absolute(f.check.Meta.Cwd, value)):
			return true
		case slices.Contains(strings.Split(p, "/"), ".."), strings.HasPrefix(p, "~"), strings.Contains(p, "://"), strings.HasPrefix(p, "@"):
			return true
		case filepath.IsAbs(value) || strings.HasPrefix(p, "/"):
			if outside || !slices.ContainsFunc(append([]string{f.check.Meta.Cwd}, f.check.Meta.Roots...), func(root string) bool {
				return root != "" && inside(root, filepath.Clean(value))
			}) {
				return true
			}
		}
	}
	return false
}
