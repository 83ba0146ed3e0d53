package tools

import (
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"dragoman/core/files"

	"github.com/bmatcuk/doublestar/v4"
)

// ignores has the ignore rules that apply in a folder: its own, then those of the
// folders above. It never changes, so folders share their parents'.
type ignores struct {
	above *ignores
	base  string // the folder of the rules, as a path from the top; "": the top
	rules []rule
}

// rule is one line of an ignore file.
type rule struct {
	glob    string // a doublestar pattern
	name    bool   // matched with the last name only
	literal bool   // glob has no meta characters
	keep    bool   // a line with !: matching entries are not ignored
	folders bool   // it matches folders only
}

// vcs reports whether a name belongs to version control: never listed, never
// searched.
func vcs(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj":
		return true
	}
	return false
}

// match reports whether an entry is ignored. rel is its path from the top, with
// slashes. The last matching rule decides, the deepest file first. Entries of an
// ignored folder are not checked: like git, walks do not enter it.
func (ig *ignores) match(rel string, dir bool) bool {
	for ; ig != nil; ig = ig.above {
		sub := rel
		if ig.base != "" {
			sub = rel[len(ig.base)+1:]
		}
		for i := len(ig.rules) - 1; i >= 0; i-- {
			if r := &ig.rules[i]; (dir || !r.folders) && r.match(sub) {
				return !r.keep
			}
		}
	}
	return false
}

func (r *rule) match(rel string) bool {
	if r.name {
		rel = path.Base(rel)
	}
	if r.literal {
		return r.glob == rel
	}
	return doublestar.MatchUnvalidated(r.glob, widen(rel))
}

// widen turns every byte into a character: git matches bytes, doublestar characters.
func widen(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	if i == len(s) {
		return s
	}
	wide := make([]rune, 0, len(s))
	for i := range len(s) {
		wide = append(wide, rune(s[i]))
	}
	return string(wide)
}

// with adds the rules of the ignore file in the folder at base, if it has one.
func (ig *ignores) with(dir *files.Folder, base string) *ignores {
	return ig.add(dir, base, ".gitignore")
}

// add adds the rules of a file in a folder. As in git, no link is followed.
func (ig *ignores) add(dir *files.Folder, base, file string) *ignores {
	f, _, err := dir.Regular(file)
	if err != nil {
		return ig
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return ig
	}
	if rules := parseIgnore(string(data)); len(rules) > 0 {
		return &ignores{above: ig, base: base, rules: rules}
	}
	return ig
}

// parseIgnore parses an ignore file as gitignore(5) describes it. Lines that can
// never match are left out.
func parseIgnore(text string) []rule {
	var rules []rule
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line string) (r rule, ok bool) {
	line = trimBlanks(line)
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.keep, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.folders, line = true, line[:len(line)-1]
	}
	if line == "" {
		return r, false
	}
	r.name = !strings.Contains(line, "/")
	glob, plain, ok := translate(strings.TrimPrefix(line, "/"))
	if !ok || glob == "" {
		return r, false
	}
	// After a slash, ** means the contents of the folder, not the folder itself.
	if strings.HasSuffix(glob, "/**") {
		glob += "/*"
	}
	r.glob, r.literal = glob, plain
	return r, doublestar.ValidatePattern(glob)
}

// trimBlanks removes trailing blanks that no backslash protects.
func trimBlanks(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' && i+1 < len(line) {
			i++
			end = i + 1
		} else if line[i] != ' ' {
			end = i + 1
		}
	}
	return line[:end]
}

// translate translates git's pattern to doublestar: braces are ordinary characters in
// git, and it has named classes. plain means that the pattern has no meta characters;
// then the result has no escapes either.
func translate(pat string) (glob string, plain, ok bool) {
	var b, lit strings.Builder
	plain = true
	for i := 0; i < len(pat); i++ {
		switch c := pat[i]; c {
		case '\\':
			if i++; i == len(pat) {
				return "", false, false
			}
			b.WriteByte('\\')
			b.WriteByte(pat[i])
			lit.WriteByte(pat[i])
		case '*', '?':
			plain = false
			b.WriteByte(c)
		case '{', '}':
			b.WriteByte('\\')
			b.WriteByte(c)
			lit.WriteByte(c)
		case '[':
			plain = false
			n := class(&b, pat[i:])
			if n == 0 {
				return "", false, false
			}
			i += n - 1
		default:
			b.WriteByte(c)
			lit.WriteByte(c)
		}
	}
	if plain {
		return lit.String(), true, true
	}
	return widen(b.String()), false, true
}

// named returns the characters of one of git's named classes.
func named(class string) (set string, ok bool) {
	switch class {
	case "alnum":
		return "a-zA-Z0-9", true
	case "alpha":
		return "a-zA-Z", true
	case "blank":
		return " \t", true
	case "cntrl":
		return "\x01-\x1f\x7f", true
	case "digit":
		return "0-9", true
	case "graph":
		return `\!-\~`, true
	case "lower":
		return "a-z", true
	case "print":
		return ` -\~`, true
	case "punct":
		return `\!-/:-@\[-` + "`" + `{-\~`, true
	case "space":
		return " \t\n\v\f\r", true
	case "upper":
		return "A-Z", true
	case "xdigit":
		return "0-9a-fA-F", true
	}
	return "", false
}

// class writes the bracket expression at the beginning of pat and returns its length;
// 0: it has no end or is invalid.
func class(b *strings.Builder, pat string) int {
	b.WriteByte('[')
	i := 1
	if i < len(pat) && (pat[i] == '!' || pat[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(pat); first = false {
		switch c := pat[i]; {
		case c == ']' && !first:
			b.WriteByte(']')
			return i + 1
		case c == '[' && strings.HasPrefix(pat[i:], "[:"):
			end := strings.Index(pat[i:], ":]")
			if end < 0 {
				return 0
			}
			set, ok := named(pat[i+2 : i+end])
			if !ok {
				return 0
			}
			b.WriteString(set)
			i += end + 2
		case c == '\\':
			if i+1 == len(pat) {
				return 0
			}
			b.WriteByte('\\')
			b.WriteByte(pat[i+1])
			i += 2
		case c == '-' && !first && i+1 < len(pat) && pat[i+1] != ']':
			b.WriteByte('-')
			i++
		case c == '-' || c == ']' || c == '[' || c == '^' || c == '!':
			b.WriteByte('\\')
			b.WriteByte(c)
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	return 0
}
