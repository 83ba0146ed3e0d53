package policy

import (
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"dragoman/core/glob"
)

const (
	maxCommands = 50       // in one line; more are never allowed without a person
	maxLine     = 32 << 10 // bytes that are parsed: the parser recurses
	maxOpen     = 200      // brackets that are parsed, for the same reason
	maxNested   = 32       // words that are read as command lines of their own
	maxBraces   = 8        // in one word; with more it is not judged
	maxSteps    = 5 << 20  // that the words of a line may take to be compared with rules
	maxWild     = 4 << 10  // bytes of a path with wildcards that is compared with rules
	maxPath     = 8 << 10  // bytes of another: no system opens a longer one
)

// line is the meaning of a command line, as far as it can be found without running it.
type line struct {
	text   string
	parsed bool
	fault  string   // why it could not be parsed
	plain  bool     // nothing but simple commands of plain words, joined by && || | ; and newlines
	unsure bool     // which programs it runs depends on facts that only the shell knows
	crowds bool     // a word of it has more braces than are looked into
	steps  int      // that its words have taken to be compared with rules
	count  int      // of commands
	sole   []string // the words of a line that is one plain command and nothing else
	// commands are the simple commands at any depth, also those in substitutions
	// and in the arguments of programs that run other programs.
	commands []command
	targets  []string // of redirections
	nested   int
	paths    []mention
}

// command is one simple command, or the known part of it.
type command struct {
	words []word
	any   bool // the program that it runs may begin at any of its words
}

// readLine reads a command line. It never fails: what cannot be parsed is cut
// at everything that could separate commands.
func readLine(text string) *line {
	l := &line{text: text}
	l.fault = faultOf(text)
	if l.fault == "" {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
		if err != nil {
			l.fault = "it is not valid shell"
		} else {
			l.parsed = true
			l.collect(file)
			l.plain = l.count <= maxCommands && len(l.commands) > 0 && plainStmts(file.Stmts) &&
				(runtime.GOOS != "windows" || plainAnywhere(text))
			if l.plain && len(file.Stmts) == 1 && len(file.Stmts[0].Redirs) == 0 {
				l.sole = wordsOf(file.Stmts[0].Cmd)
			}
		}
	}
	if !l.parsed {
		l.unsure = true
		l.cut(text)
	}
	return l
}

// wordsOf returns the words of one plain command; nil for anything else.
func wordsOf(cmd syntax.Command) (words []string) {
	if call, ok := cmd.(*syntax.CallExpr); ok {
		for _, arg := range call.Args {
			words = append(words, readWord(arg).text)
		}
	}
	return words
}

// plainAnywhere reports whether a line means the same to the shells of Windows,
// which quote and separate in other ways.
func plainAnywhere(text string) bool { return !strings.ContainsAny(text, "'\"`^%&|<>;$(){}@,#!~\n") }

// faultOf returns the reason why a line is not parsed at all.
func faultOf(text string) string {
	switch {
	case len(text) > maxLine:
		return "it is longer than " + strconv.Itoa(maxLine>>10) + " KiB"
	case strings.Count(text, "(")+strings.Count(text, "{")+strings.Count(text, "`") > maxOpen:
		return "it is nested too deeply"
	case !utf8.ValidString(text):
		return "it is not valid text"
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && r != ' ' && !unicode.IsPrint(r) {
			return "it contains invisible characters"
		}
	}
	return ""
}

// collect finds all simple commands below a node.
func (l *line) collect(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if _, joins := n.Cmd.(*syntax.BinaryCmd); !joins {
				l.count++
			}
		case *syntax.Redirect:
			if n.Word != nil {
				l.targets = append(l.targets, readWord(n.Word).text)
			}
		case *syntax.CallExpr:
			l.call(n)
		case *syntax.FuncDecl:
			l.unsure = true // a later command may mean it
		case *syntax.Assign:
			if n.Value != nil {
				l.targets = append(l.targets, readWord(n.Value).text)
			}
		}
		return true
	})
}

func (l *line) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	var c command
	for _, arg := range n.Args {
		w := readWord(arg)
		l.crowds = l.crowds || w.braces > maxBraces
		c.words = append(c.words, w)
	}
	l.unsure = l.unsure || l.crowds
	first := c.words[0]
	if !first.static || first.glob {
		l.unsure = true
	}
	if c.any = runsOthers(programOf(first.text)); c.any {
		l.inner(c.words[1:])
	}
	l.commands = append(l.commands, c)
}

// inner reads the arguments of a program that runs others: some are command
// lines themselves.
func (l *line) inner(args []word) {
	for _, w := range args {
		if !w.static || w.glob {
			l.unsure = true
		}
		if !strings.ContainsAny(w.text, " \t\n;&|") || len(w.text) > maxLine {
			continue
		}
		if l.nested++; l.nested > maxNested {
			l.unsure = true
			return
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(w.text), "")
		if err != nil {
			l.cut(w.text)
			continue
		}
		l.collect(file)
	}
}

// cut splits text that is not parsed wherever a command could begin.
func (l *line) cut(text string) {
	text = strings.NewReplacer("\\\n", "", "'", "", `"`, "", `\`, "").Replace(text)
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n\r\v\f;&|(){}`<>", r) }) {
		if piece = strings.Join(strings.Fields(piece), " "); piece != "" {
			l.commands = append(l.commands, command{words: []word{{text: piece}}, any: true})
		}
	}
}

// mentions reports whether a deny or ask pattern matches a command of the line.
func (l *line) mentions(pattern commandPattern) bool {
	for _, c := range l.commands {
		text := fold(c.loose())
		if pattern.matches(text) || pattern.matches(programOf(text)) {
			return true
		}
		if c.any && (anyMatches(pattern.behind, text) || anyMatches(pattern.below, text)) {
			return true
		}
	}
	return false
}

// loose returns a command in the form that deny rules compare.
func (c command) loose() string {
	texts := make([]string, len(c.words))
	for i, w := range c.words {
		texts[i] = w.text
	}
	return strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
}

// exact returns a command in the form that allow rules compare: a word that holds anything
// unusual stays quoted, so that it cannot look like several words.
func (c command) exact() string {
	texts := make([]string, len(c.words))
	for i, w := range c.words {
		texts[i] = w.text
		if w.text == "" || strings.ContainsFunc(w.text, func(r rune) bool { return !ordinary(r) }) {
			texts[i] = strconv.Quote(w.text)
		}
	}
	return strings.Join(texts, " ")
}

func ordinary(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./=:,+@%^~*?[]{}#!", r)
}

// programOf returns a command without the folder of its program.
func programOf(text string) string {
	program, rest, more := strings.Cut(text, " ")
	program = program[strings.LastIndexAny(program, `/\`)+1:]
	program = strings.TrimSuffix(strings.ToLower(program), ".exe")
	if more {
		return program + " " + rest
	}
	return program
}

// mention is a path, or a pattern for paths, in a command line. any matches everything that
// its wildcards could mean, even quoted ones, and some what the shell would expand it to.
// Both are nil without wildcards.
type mention struct {
	path, folded string
	any, some    *glob.Pattern
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

// locate finds the paths that the line may mean, taken from dir: its words,
// what follows "=" or "@" in them, and the targets of redirections.
func (l *line) locate(dir string) {
	seen := make(map[word]bool)
	add := func(text string, wild bool) {
		if seen[word{text: text, glob: wild}] {
			return
		}
		seen[word{text: text, glob: wild}] = true
		p := absolute(dir, text)
		if len(p) > maxPath && !wild {
			return
		}
		m := mention{path: p, folded: foldPath(p)}
		if glob.Wild(m.folded) && len(m.folded) <= maxWild {
			m.any = glob.Word(m.folded, true)
			if wild {
				m.some = glob.Word(m.folded, false)
			}
		}
		l.crowds = l.crowds || wild && len(m.folded) > maxWild
		l.paths = append(l.paths, m)
	}
	split := func(text string, wild bool) {
		for t := range strings.FieldsSeq(text) {
			add(t, wild)
			if _, value, ok := strings.Cut(t, "="); ok && value != "" {
				add(value, wild)
			}
			if value := strings.TrimPrefix(t, "@"); value != t {
				add(value, wild)
			}
		}
		if strings.Contains(text, " ") && len(text) < 4096 {
			add(text, false)
		}
	}
	for _, c := range l.commands {
		for _, w := range c.words {
			split(w.text, w.glob)
		}
	}
	for _, t := range l.targets {
		split(t, false)
	}
}

func absolute(dir, p string) string {
	p = filepath.ToSlash(p)
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		p = "/~/" + rest
	}
	if path.IsAbs(p) || filepath.IsAbs(p) || dir == "" {
		return path.Clean(p)
	}
	return path.Join(filepath.ToSlash(dir), p)
}

// plainStmts reports whether statements are all of the kind that allow rules
// judge.
func plainStmts(stmts []*syntax.Stmt) bool {
	return !slices.ContainsFunc(stmts, func(s *syntax.Stmt) bool { return !plainStmt(s) })
}

func plainStmt(s *syntax.Stmt) bool {
	if s.Background || s.Negated || s.Coprocess || s.Disown || slices.ContainsFunc(s.Redirs, storing) {
		return false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return (c.Op == syntax.AndStmt || c.Op == syntax.OrStmt || c.Op == syntax.Pipe) && plainStmt(c.X) &&
			plainStmt(c.Y)
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return false
		}
		for _, arg := range c.Args {
			if w := readWord(arg); !w.static || w.glob {
				return false
			}
		}
		return !slices.Contains(changers, readWord(c.Args[0]).text)
	}
	return false
}

// storing reports whether a redirection does more than to join two streams or
// to drop one.
func storing(r *syntax.Redirect) bool {
	if r.Hdoc != nil || r.Word == nil || r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		return true
	}
	w := readWord(r.Word)
	switch r.Op {
	case syntax.DplOut, syntax.DplIn:
		return !w.static || w.text != "1" && w.text != "2" && w.text != "-"
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrAll, syntax.AppAll:
		return !w.static || w.text != "/dev/null"
	}
	return true
}
