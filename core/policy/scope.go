package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dragoman/core"
	"dragoman/core/files"
)

// scope is the extent of an answer "for this session". key is empty if even a rejection
// cannot be remembered; offer is false if an allowance cannot.
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
		s.offer = false // too long for a person to read
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
		return a.Op == core.OpWrite && a.Outside == read.Outside &&
			(a.Path == read.Path || !a.Outside && !files.KeepsKeys(read.Path))
	})
}

// partOf returns the scope of one access.
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
	case a.Linked && !a.Outside && !files.KeepsKeys(a.Path):
		return scope{
			key:   string(a.Op) + " linked",
			text:  verb + "files of the workspace that have other names (hard links)",
			offer: true,
		}
	case !a.Outside && !files.KeepsKeys(a.Path), a.Op == core.OpRead && a.Spilled:
		return scope{key: string(a.Op) + " inside", text: verb + "files inside the workspace", offer: true}
	}
	return scope{
		key:   string(a.Op) + " " + strconv.Quote(a.Path),
		text:  verb + show(a.Path),
		offer: shownAsIs(a.Path),
	}
}

// hostScope covers the requests to one server.
func hostScope(raw string) scope {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return scope{}
	}
	origin := strings.ToLower(u.Scheme + "://" + u.Host)
	return scope{
		key:   "net " + strconv.Quote(origin),
		text:  "requests to " + show(origin),
		offer: shownAsIs(origin),
	}
}

// commandScope covers a program with its sub-command, or one exact line.
func commandScope(f facts, l *line, a core.Access) scope {
	where, inDir := "", ""
	if a.Outside {
		where, inDir = " in "+strconv.Quote(a.Path), " in "+show(a.Path)
	}
	kind, how, words := "confined ", " in the sandbox", programScope(f, l, a)
	if words == nil {
		kind, how, words = "run ", "", wideScope(f, l, a)
	}
	if words != nil {
		if strings.ContainsRune(words[0], '/') {
			where = " in " + strconv.Quote(a.Path) // another folder has another program there
		}
		name := strings.Join(words, " ")
		return scope{key: kind + strconv.Quote(name) + where, text: "`" + name + "` commands" + how + inDir, offer: true}
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

// maxWords limits the words of a line that an answer for its program may cover: each is looked up.
const maxWords = 500

// wideScope are the program and sub-command words that cover a line, or nil if
// only the exact line should be covered.
func wideScope(f facts, l *line, a core.Access) []string {
	words := slices.Clone(l.sole)
	if len(words) == 0 || len(words) > maxWords || a.Wide || f.exact {
		return nil
	}
	if len(words) > 1 && words[0] == "git" && words[1] == "--no-pager" {
		words = slices.Delete(words, 1, 2)
	}
	r, n := covering(words)
	if n == 0 || !r.covers(words[n:], func(arg string) bool { return leaves(f, a, arg) }) {
		return nil
	}
	return words[:n]
}

// programScope are the program and sub-command words that cover a line in a sandbox, whatever its
// options; nil: the line is not in one, or is more than one plain command.
func programScope(f facts, l *line, a core.Access) []string {
	words := l.sole
	if len(words) == 0 || f.exact || a.Wide || !confined(a) || !shownAsIs(words[0]) || !name(words[0], "_.-+/") {
		return nil
	}
	if _, n := covering(words); n > 0 {
		return words[:n]
	}
	if len(words) > 1 && !runsOthers(programOf(words[0])) && name(words[1], "-_:") && words[1][0] != '-' {
		return words[:2]
	}
	return words[:1]
}
