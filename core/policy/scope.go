package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dragoman/core"
)

// scope is what an answer "for this session" covers. key is empty where even a
// rejection cannot be remembered; offer is false where an allowance cannot.
type scope struct {
	key, text string
	offer     bool
}

// scopeOf finds the narrowest sensible scope of a call: the sum of what its
// accesses need.
func scopeOf(f facts) scope {
	prefix := strconv.Quote(f.server()) + "/" + strconv.Quote(f.tool()) + " "
	if len(f.check.Access) == 0 {
		text := "the tool " + show(f.tool())
		if !f.native() {
			text += " of " + show(f.server())
		}
		return scope{key: prefix + "any", text: text, offer: f.tool() != ""}
	}
	s := scope{offer: f.control() == ""}
	var parts []scope
	for i, a := range f.check.Access {
		part := partOf(f, i, a)
		if part.key == "" {
			return scope{}
		}
		if a.Op == core.OpRead && changed(f, a) {
			continue // an answer about the change covers it
		}
		s.offer = s.offer && part.offer
		parts = append(parts, part)
	}
	slices.SortFunc(parts, func(a, b scope) int { return strings.Compare(a.key, b.key) })
	parts = slices.CompactFunc(parts, func(a, b scope) bool { return a.key == b.key })
	if len(parts) > 3 {
		s.offer = false // nobody reads that far
	}
	s.key = prefix
	for i, part := range parts {
		if i > 0 {
			s.key, s.text = s.key+" ", s.text+" and "
		}
		s.key, s.text = s.key+part.key, s.text+part.text
	}
	return s
}

// changed reports whether the call also writes where it reads.
func changed(f facts, read core.Access) bool {
	return slices.ContainsFunc(f.check.Access, func(a core.Access) bool {
		return a.Op == core.OpWrite && a.Outside == read.Outside && (a.Path == read.Path || !a.Outside)
	})
}

// partOf is the scope of one access.
func partOf(f facts, i int, a core.Access) scope {
	switch a.Op {
	case core.OpRun:
		return commandScope(f, f.lines[i], a)
	case core.OpNet:
		return hostScope(a.URL)
	case core.OpRead, core.OpWrite:
	default:
		return scope{}
	}
	verb := "reading "
	if a.Op == core.OpWrite {
		verb = "changes to "
	}
	switch {
	case a.Path == "":
		return scope{}
	case !a.Outside, a.Op == core.OpRead && f.spilled(a):
		return scope{key: string(a.Op) + " inside", text: verb + "files inside the workspace", offer: true}
	}
	return scope{key: string(a.Op) + " " + strconv.Quote(a.Path), text: verb + show(a.Path), offer: shownAsIs(a.Path)}
}

// hostScope covers the requests to one server.
func hostScope(raw string) scope {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return scope{}
	}
	origin := strings.ToLower(u.Scheme + "://" + u.Host)
	return scope{key: "net " + strconv.Quote(origin), text: "requests to " + show(origin), offer: shownAsIs(origin)}
}

// commandScope covers a program with its sub-command, or one exact line.
func commandScope(f facts, l *line, a core.Access) scope {
	where, inDir := "", ""
	if a.Outside {
		where, inDir = " in "+strconv.Quote(a.Path), " in "+show(a.Path)
	}
	if words := wideScope(f, l, a); words != nil {
		if strings.ContainsRune(words[0], '/') {
			where = " in " + strconv.Quote(a.Path) // another folder has another program there
		}
		name := strings.Join(words, " ")
		return scope{key: "run " + strconv.Quote(name) + where, text: "`" + name + "` commands" + inDir, offer: true}
	}
	sum := sha256.Sum256([]byte(l.text))
	s := scope{key: "line " + hex.EncodeToString(sum[:16]) + " in " + strconv.Quote(a.Path)}
	s.text = "exactly this command line" + inDir
	if len(l.text) <= 100 && shownAsIs(l.text) && !strings.Contains(l.text, "`") {
		s.text = "exactly `" + l.text + "`" + inDir
	}
	s.offer = l.parsed && l.count <= maxCommands
	return s
}

// wideScope are the program and sub-command words that cover a line, or nil if
// only the exact line should be covered.
func wideScope(f facts, l *line, a core.Access) []string {
	if !l.plain || l.count != 1 || len(l.commands) != 1 || len(l.targets) > 0 {
		return nil
	}
	words := make([]string, len(l.commands[0].words))
	for i, w := range l.commands[0].words {
		words[i] = w.text
	}
	n := widthOf(words)
	if n == 0 || n > len(words) {
		return nil
	}
	for _, arg := range words[n:] {
		if telling(words[0], arg) || leaves(f, a, arg) {
			return nil
		}
	}
	return words[:n]
}

// widthOf tells how many of the first words name what a command does; 0: more
// than those.
func widthOf(words []string) int {
	program := words[0]
	base := programOf(program)
	if !name(strings.TrimPrefix(program, "./"), "/._+-") || runsOthers(base) || slices.Contains(narrowOnly, base) {
		return 0
	}
	if slices.Contains(lookers, base) {
		if base != program {
			return 0 // ./ls is not ls
		}
		return 1
	}
	if len(words) < 2 || !name(words[1], "_:-") || words[1][0] == '-' {
		return 0
	}
	sub := base + " " + words[1]
	if slices.Contains(deeper, sub) {
		if len(words) < 3 || !name(words[2], "_:-") || words[2][0] == '-' {
			return 0
		}
		return 3
	}
	if slices.Contains(narrowSub, words[1]) && !slices.Contains(narrowAdd, sub) {
		return 0
	}
	return 2
}

// name reports whether s is letters, digits and the given characters only.
func name(s, also string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(also, r))
	})
}

// telling reports whether an argument may name a program, code, or a file that
// is written. Names of options may be shortened, and short ones joined.
func telling(program, arg string) bool {
	if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+") {
		return strings.Contains(arg, "=") || strings.Contains(arg, "::")
	}
	option, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(arg, "-+")), "=")
	for _, part := range strings.FieldsFunc(option, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		for _, word := range tellingOptions {
			if part == word || len(part) >= 4 && strings.HasPrefix(word, part) {
				return true
			}
		}
	}
	switch {
	case strings.HasPrefix(arg, "--"):
		return false
	case slices.Contains(lookers, program):
		return strings.ContainsAny(option[:min(4, len(option))], "ow")
	}
	return len(option) <= 2 && strings.ContainsAny(option, "cefiowx")
}

// leaves reports whether an argument may name something outside of the
// workspace.
func leaves(f facts, a core.Access, arg string) bool {
	for _, value := range append(strings.SplitN(arg, "=", 2), arg) {
		p := filepath.ToSlash(value)
		switch {
		case slices.Contains(strings.Split(p, "/"), ".."), strings.HasPrefix(p, "~"), strings.Contains(p, "://"), strings.HasPrefix(p, "@"):
			return true
		case filepath.IsAbs(value) || strings.HasPrefix(p, "/"):
			if !slices.ContainsFunc(append([]string{f.check.Meta.Cwd}, f.check.Meta.Roots...), func(root string) bool {
				return root != "" && inside(root, filepath.Clean(value))
			}) {
				return true
			}
		}
	}
	return a.Outside && strings.HasPrefix(arg, "/")
}
