package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core/files"
	"dragoman/core/glob"
)

const (
	maxSteps    = 5 << 20 // that the words of a line may take to be compared with rules
	maxWild     = 4 << 10 // bytes of a path with wildcards that is compared with rules
	maxPath     = 8 << 10 // bytes of another: no system opens a longer one
	maxMentions = 4000    // paths of a line that are looked at
	maxWilds    = 500     // of these with wildcards
	maxSpelled  = 256     // that one word with braces spells out
	maxFollowed = 64      // of these whose links are followed
	maxLetters  = 10      // of an option, before a path in the same word
	maxFolders  = 8       // in which a line works
)

// mention is a path, or a pattern for paths, in a command line. any matches everything that
// its wildcards could mean, even quoted ones, and some what the shell would expand it to.
// Both are nil without wildcards.
type mention struct {
	path, folded string
	any, some    *glob.Pattern
	open         bool // its wildcards stand for parts that only the shell knows
	runs         bool // it is the program that a command runs
	found        bool // a link leads to it that a wildcard matches
}

// control reports whether it is, or may be, a control file. Programs that a user has installed are
// run all the time, and in many folders CLAUDE.md is a link to AGENTS.md, so that ls * would be asked
// about.
func (m mention) control() bool {
	switch {
	case m.found:
		return false
	case m.runs && strings.Contains(m.folded, ".local/bin/"), m.runs && strings.Contains(m.folded, ".cargo/bin/"):
		return false
	case m.open || m.some != nil:
		return files.MayBeControlFile(m.folded, m.open)
	}
	return files.ControlFile(m.folded)
}

// may reports whether a word with wildcards and a rule's path may mean the same path. Once
// the line has used up its steps it only returns false: see tired.
func (l *line) may(word, rule *glob.Pattern) bool {
	if word == nil || l.tired() || l.crowds {
		return false
	}
	ok, steps := glob.Meet(word, rule)
	l.steps += steps
	return ok
}

// tired reports whether the line has used up its steps, so that some words were not
// compared with the rules.
func (l *line) tired() bool { return l.steps > maxSteps }

// place is where a command line is looked at.
type place struct {
	dir     string                            // in which it would run
	roots   []string                          // of the session
	home    string                            // the user's home folder; "": not known
	resolve func(path string) (string, error) // follows links; nil: they are not followed
	links   func(dir string) []string         // lists the links in a folder; nil: they are not looked for
}

// locator finds the paths that a line may mean.
type locator struct {
	place

	line *line
	dirs []string // in which the line works
	seen map[string]bool
	// linksIn are the links in the folders that were looked at.
	linksIn map[string][]string
	found   bool // the path is that of a link behind a wildcard
	runs    bool // the word is a command's first

	wilds     int // paths with wildcards that were found
	spellings int // of paths that were looked at
}

// locate finds the paths that the line may mean: its words, the parts of them that programs take for
// paths (--file=PATH, -fPATH, @PATH, REV:PATH), and the targets of redirections. Links are
// followed.
func (l *line) locate(p place) {
	o := locator{place: p, line: l, dirs: []string{p.dir}, seen: map[string]bool{}, linksIn: map[string][]string{}}
	for _, c := range l.commands {
		o.move(c)
		script := false
		for i, w := range c.words {
			o.runs = i == 0
			o.word(w)
			o.runs = false
			if c.any {
				o.code(w)
			}
			if script {
				o.sed(w.text)
			}
			script = script || c.any && strings.HasSuffix(language(programOf(w.text)), "sed")
		}
	}
	for _, t := range l.targets {
		o.word(t)
	}
}

// move notes the folders into which a command changes.
func (o *locator) move(c command) {
	changes := slices.Contains(movers, c.words[0].text)
	for i, w := range c.words {
		var to word
		switch {
		case i == 0:
			continue
		case changes && (w.text == "-" || c.words[0].text == "popd"):
			// to where it was before
		case changes && optional(w.text):
			continue
		case changes:
			to = w
		case slices.Contains(folderOptions, w.text) && i+1 < len(c.words):
			to = c.words[i+1]
		case strings.HasPrefix(w.text, "-C") && len(w.text) > 2:
			to = w
			to.text = w.text[2:]
		case strings.HasPrefix(w.text, "--directory="), strings.HasPrefix(w.text, "--chdir="), strings.HasPrefix(w.text, "--work-tree="):
			to = w
			_, to.text, _ = strings.Cut(w.text, "=")
		default:
			continue
		}
		o.enter(to)
	}
	if len(c.words) == 1 && c.words[0].text == "popd" {
		o.line.veiled = true
	}
}

// folderOptions are options whose value is the folder in which a program works.
var folderOptions = []string{"-C", "--directory", "--chdir", "--cwd", "--work-tree", "--prefix"}

// enter adds a folder in which the line works.
func (o *locator) enter(to word) {
	if !to.known || to.glob && glob.Wild(to.text) {
		o.line.veiled = true
		return
	}
	for _, dir := range o.dirs {
		at := o.absolute(dir, to.text)
		if slices.Contains(o.dirs, at) {
			continue
		}
		if len(o.dirs) >= maxFolders {
			o.line.veiled = true
			return
		}
		o.dirs = append(o.dirs, at)
	}
}

// word adds what a word may mean.
func (o *locator) word(w word) {
	if !w.known {
		o.open(w)
	}
	for t := range strings.FieldsSeq(w.text) {
		o.add(t, w.glob, o.dirs)
		o.parts(t, w.glob)
	}
	if strings.Contains(w.text, " ") && len(w.text) < 4096 {
		o.add(w.text, false, o.dirs)
	}
}

// code adds what a word may mean that is code.
func (o *locator) code(w word) {
	if strings.ContainsAny(w.text, codeMarks) {
		for t := range strings.FieldsFuncSeq(w.text, func(r rune) bool { return strings.ContainsRune(codeMarks+" \t\n", r) }) {
			o.add(t, false, o.dirs)
			o.parts(t, false)
		}
	}
}

// sed adds the files that a script of sed reads and writes: what follows r, R, w and W.
func (o *locator) sed(text string) {
	for range maxParts {
		i := strings.IndexAny(text, "rRwW")
		if i < 0 {
			return
		}
		text = text[i+1:]
		file, _, _ := strings.Cut(text, "\n")
		o.add(strings.TrimSpace(file), false, o.dirs)
	}
}

// codeMarks separate paths in code.
const codeMarks = "'\"`()<>;|&"

// parts adds the parts of a word that programs may take for paths.
func (o *locator) parts(t string, wild bool) {
	dirs := o.dirs
	for n, rest := 0, t; n < maxParts; n++ {
		i := strings.IndexAny(rest, "=@:,")
		if i < 0 {
			break
		}
		if rest[i] == ':' { // REV:PATH counts from the top of the repository
			dirs = append(dirs[:len(dirs):len(dirs)], o.roots...)
		}
		o.add(rest[:i], wild, o.dirs)
		rest = rest[i+1:]
		o.add(rest, wild, dirs)
	}
	if len(t) > 2 && t[0] == '-' && t[1] != '-' {
		for i := 2; i < min(len(t), maxLetters); i++ { // -vPATH:…, -includePATH
			o.add(t[i:], wild, o.dirs)
			if end := strings.IndexAny(t[i:], "=@:,"); end > 0 {
				o.add(t[i:i+end], wild, o.dirs)
			}
		}
	}
}

// add adds a text that may be a path, in each of some folders.
func (o *locator) add(text string, wild bool, dirs []string) {
	if text == "" {
		return
	}
	for _, dir := range dirs {
		joined := o.joined(dir, text)
		key := "/" + joined // no clean path begins so
		if wild {
			key = "/*" + joined
		}
		if o.seen[key] || o.line.full {
			continue
		}
		o.seen[key] = true
		if o.spellings++; o.spellings > maxMentions {
			o.line.full = true
			return
		}
		p := path.Clean(joined)
		o.mention(p, wild)
		if wild {
			o.braces(p)
		}
		if o.resolve != nil {
			o.follow(p, joined, wild)
		}
	}
}

// braces adds the paths that the braces of a word spell out.
func (o *locator) braces(p string) {
	words, ok := glob.Alternatives(p, maxSpelled)
	if !ok {
		return // the whole word is compared with the rules as a pattern
	}
	for _, w := range words {
		if !glob.Wild(w) {
			o.mention(path.Clean(w), false)
		}
	}
}

// mention adds a path.
func (o *locator) mention(p string, wild bool) {
	key := p
	switch {
	case o.found:
		key = "@" + p
	case wild:
		key = "*" + p
	}
	if o.seen[key] || len(p) > maxPath && !wild {
		return
	}
	o.seen[key] = true
	l := o.line
	if wild {
		o.wilds++
	}
	if len(l.paths) >= maxMentions || o.wilds > maxWilds {
		l.full = true
		return
	}
	m := mention{path: p, folded: foldPath(p), runs: o.runs, found: o.found}
	if glob.Wild(m.folded) && len(m.folded) <= maxWild {
		m.any = glob.Word(m.folded, true)
		if wild {
			m.some = glob.Word(m.folded, false)
		}
	}
	l.crowds = l.crowds || wild && len(m.folded) > maxWild
	l.paths = append(l.paths, m)
}

// open adds a word with parts that only the shell knows.
func (o *locator) open(w word) {
	for t := range strings.FieldsSeq(w.open) {
		m := mention{path: t, folded: foldPath(t), open: true}
		if len(m.folded) <= maxWild && len(o.line.paths) < maxMentions {
			o.line.paths = append(o.line.paths, m)
		}
	}
}

// joined returns a path as a program gets it, from a folder; nothing is cleaned, since .. behind a
// link is the folder above its target.
func (o *locator) joined(dir, p string) string {
	p = o.spelled(dir, p)
	if path.IsAbs(p) || filepath.IsAbs(p) || dir == "" {
		return p
	}
	return filepath.ToSlash(dir) + "/" + p
}

// absolute returns the clean path that a text means, from a folder.
func (o *locator) absolute(dir, p string) string { return path.Clean(o.joined(dir, p)) }

// spelled replaces other spellings of folders: the home folder, and those of processes.
func (o *locator) spelled(dir, p string) string {
	p = filepath.ToSlash(p)
	if rest, ok := strings.CutPrefix(p, "~+/"); ok {
		return filepath.ToSlash(dir) + "/" + rest
	}
	if rest, ok := strings.CutPrefix(p, "~-/"); ok { // the folder before this one
		return filepath.ToSlash(dir) + "/" + rest
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if o.home == "" {
			return "/~/" + rest
		}
		return filepath.ToSlash(o.home) + "/" + rest
	}
	if p == "~" && o.home != "" {
		return filepath.ToSlash(o.home)
	}
	for range maxParts {
		rest, ok := strings.CutPrefix(path.Clean(p), "/proc/")
		if !ok {
			break
		}
		names := strings.SplitN(rest, "/", 3)
		if len(names) > 1 && names[1] == "task" {
			if inner := strings.SplitN(rest, "/", 5); len(inner) > 3 {
				names = append(inner[:1], inner[3:]...)
			}
		}
		if len(names) < 2 || names[1] != "root" && names[1] != "cwd" {
			break
		}
		p = "/"
		if names[1] == "cwd" {
			p = filepath.ToSlash(dir) + "/"
		}
		if len(names) > 2 {
			p += names[2]
		}
	}
	return p
}
