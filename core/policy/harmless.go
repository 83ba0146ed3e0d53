package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dragoman/core"
	"dragoman/core/files"
)

// usage is one row of the table of programs whose lines an answer "for this session" can
// cover: a program, its sub-command, and what may follow them. A line with anything that
// its row does not name is asked about again, and remembered only as that exact line.
type usage struct {
	// words are the program and its sub-command as they are typed. A last word "*" matches
	// any name of a script or a target, which is remembered with the rest.
	words string
	// options lists the options that run, write and send nothing that the words alone
	// would not. "-[abc]" are three options without a value. "-n=" has a value that may be
	// a path, "-m=*" one that is text, and "--color[=]" one that can only be attached.
	// "-#" is a number, and "+*" any word that begins with a plus.
	options string
	rest    operands
	// behind lists the options that may follow "--". Empty: none, and the words there are
	// operands of the kind rest.
	behind string
	// separate means that every word is one option, as in Go's flag package, find and most
	// programs of Node: -la is not -l and -a, and -n5 is not -n 5.
	separate bool
	// first judges the first operand where that is a pattern or a script, and not a path.
	first func(string) bool
	// instead lists the options that take the place of the first operand.
	instead string
}

// operands is the kind of words that may follow besides options.
type operands int

const (
	none  operands = iota // no operands
	paths                 // anything but what may name something outside the workspace
	names                 // letters, digits and . _ - / only; no path that begins with a dot or slash
	texts                 // anything
)

// value is the way in which an option takes its value.
type value int

const (
	noValue       value = iota
	pathValue           // in the same word or the next; it may be a path
	textValue           // in the same word or the next; it is text
	attachedValue       // optional, in the same word
)

// row is a parsed usage.
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
	for _, list := range [][]usage{readUsages, gitUsages, buildUsages} {
		for _, u := range list {
			for _, spelling := range strings.Split(u.words, ", ") {
				words := strings.Fields(spelling)
				all[words[0]] = append(all[words[0]], row{
					usage:   u,
					words:   words,
					options: optionsOf(u.options),
					behind:  optionsOf(u.behind),
					instead: strings.Fields(u.instead),
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

// covering returns the row that fits most of a line's first words, and how many; 0: none
// fits.
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
// leaves reports whether a word may name something outside the workspace.
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
	ended  bool // "--" was read
}

// operand judges a word that is not an option.
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

// option judges a word that may be an option. used is how many of the next words are its
// value.
func (s *scan) option(options map[string]value, word string, next []string) (used int, ok bool) {
	if word[0] == '+' {
		_, ok := options["+*"]
		return 0, ok
	}
	whole, rest, given := strings.Cut(word, "=")
	if _, fixed := options[word]; fixed && given { // -mod=readonly
		return 0, true
	}
	if is, known := options[whole]; known &&
		(len(whole) == 2 || strings.HasPrefix(word, "--") || s.row.separate) {
		s.noteInstead(whole)
		return s.judgeValue(is, rest, given, next)
	}
	if _, known := options["-#"]; known && digits(word[1:]) {
		return 0, true
	}
	if strings.HasPrefix(word, "--") || s.row.separate {
		return 0, false
	}
	return s.bundle(options, word[1:], next)
}

// bundle takes joined letters separate: -la, -n5, -vn 5.
func (s *scan) bundle(options map[string]value, letters string, next []string) (used int, ok bool) {
	for i := range len(letters) {
		is, known := options["-"+letters[i:i+1]]
		rest := letters[i+1:]
		switch {
		case !known:
			return 0, false
		case is == noValue:
			s.noteInstead("-" + letters[i:i+1])
			continue
		case is == attachedValue:
			return 0, !s.leaves(rest)
		}
		s.noteInstead("-" + letters[i:i+1])
		return s.judgeValue(is, strings.TrimPrefix(rest, "="), rest != "", next)
	}
	return 0, true
}

// noteInstead notes an option that takes the place of the first operand.
func (s *scan) noteInstead(option string) {
	if slices.Contains(s.row.instead, option) {
		s.first = false
	}
}

// judgeValue judges the value of an option. A value in a word of its own must not look like an
// option, because a program that takes no value there would read it as one.
func (s *scan) judgeValue(is value, rest string, given bool, next []string) (used int, ok bool) {
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

// number reports whether s is digits, perhaps with a unit, as 10k for find.
func number(s string) bool {
	return digits(s) || len(s) > 1 && digits(s[:len(s)-1]) && name(s[len(s)-1:], "")
}

// name reports whether s consists of letters, digits and the characters of also, and is
// not empty.
func name(s, also string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(also, r))
	})
}

// leaves reports whether an argument may name something outside the workspace, or a place
// where programs keep keys.
func leaves(f facts, a core.Access, arg string) bool {
	outside := a.Outside
	for _, value := range append(strings.SplitN(arg, "=", 2), arg) {
		p := filepath.ToSlash(value)
		switch {
		case f.strays(f.dir(a), value):
			return true
		case slices.Contains(strings.Split(p, "/"), ".."),
			strings.HasPrefix(p, "~"),
			strings.Contains(p, "://"),
			strings.HasPrefix(p, "@"):
			return true
		case filepath.IsAbs(value) || strings.HasPrefix(p, "/"):
			if outside ||
				!slices.ContainsFunc(append([]string{f.check.Meta.Cwd}, f.check.Meta.Roots...), func(root string) bool {
					return root != "" && inside(root, filepath.Clean(value))
				}) {
				return true
			}
		}
	}
	return false
}

// strays reports whether an argument is a path where programs keep keys, or one that a link leads
// out of the workspace.
func (f facts) strays(dir, arg string) bool {
	o := locator{place: f.place}
	o.dir = dir
	at := o.absolute(o.dir, arg)
	real := o.real(o.joined(o.dir, arg))
	if files.KeepsKeys(at) || files.KeepsKeys(real) {
		return true
	}
	return real != at && !slices.ContainsFunc(append([]string{o.dir}, o.roots...), func(root string) bool {
		return root != "" && inside(o.real(filepath.Clean(root)), filepath.FromSlash(real))
	})
}
