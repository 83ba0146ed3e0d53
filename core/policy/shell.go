package policy

import (
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxCommands = 50       // in one line; more are never allowed without a person
	maxLine     = 32 << 10 // bytes that are parsed: the parser recurses
	maxOpen     = 200      // brackets that are parsed, for the same reason
	maxNested   = 32       // words that are read as command lines of their own
	maxBraces   = 8        // in one word; with more it is not judged
	maxParts    = 8        // of a word that are looked at on their own
)

// line is the meaning of a command line, as far as it can be found without running it.
type line struct {
	text   string
	parsed bool
	fault  string   // why it could not be parsed
	plain  bool     // nothing but simple commands of plain words, joined by && || | ; and newlines
	unsure bool     // which programs it runs depends on facts that only the shell knows
	veiled bool     // which paths it touches, too
	crowds bool     // a word of it has more braces than are looked into
	full   bool     // it may mean more paths than are looked at
	steps  int      // that its words have taken to be compared with rules
	count  int      // of commands
	sole   []string // the words of a line that is one plain command and nothing else
	// commands are the simple commands at any depth, also those in substitutions
	// and in the arguments of programs that run other programs.
	commands []command
	targets  []word // of redirections and of assignments
	nested   int
	paths    []mention

	vars  variables
	fed   map[*syntax.CallExpr]feed // the commands that read what the line itself gives them
	walks int                       // that were made to find them
	wrote []string                  // the files that it writes by redirections
	runs  []string                  // the files that it gives to interpreters
}

// command is one simple command, or the known part of it.
type command struct {
	words []word
	any   bool // the program that it runs may begin at any of its words
	more  bool // it gets more words that nobody knows yet
}

// readLine reads a command line. It never fails: what cannot be parsed is cut
// at everything that could separate commands. start holds variables that the shell starts with.
func readLine(text string, start map[string]string) *line {
	l := &line{text: text}
	l.fault = faultOf(text)
	if l.fault == "" {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
		if err != nil {
			l.fault = "it is not valid shell"
		} else {
			l.parsed = true
			l.vars = variablesOf(file, start)
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
	l.unsure = l.unsure || slices.ContainsFunc(l.runs, l.writes)
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
	l.feeds(node)
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if _, joins := n.Cmd.(*syntax.BinaryCmd); !joins {
				l.count++
			}
		case *syntax.Redirect:
			l.redirect(n)
		case *syntax.CallExpr:
			l.call(n)
		case *syntax.FuncDecl:
			l.unsure = true // a later command may mean it
		case *syntax.Assign:
			if n.Value != nil && n.Name != nil && n.Name.Value != "PATH" {
				w := l.vars.read(n.Value)
				w.glob = false // a value is not expanded to names of files
				l.targets = append(l.targets, w)
				l.steer(n)
			}
		}
		return true
	})
}

func (l *line) redirect(n *syntax.Redirect) {
	if n.Word == nil || n.Hdoc != nil {
		return // the word is the mark at the end of a text
	}
	w := l.vars.read(n.Word)
	l.targets = append(l.targets, w)
	switch n.Op {
	case syntax.WordHdoc:
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
		l.wrote = append(l.wrote, w.text)
		l.veiled = l.veiled || !w.known
	default:
		l.veiled = l.veiled || !w.known
	}
}

func (l *line) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	var c command
	for _, arg := range n.Args {
		w := l.vars.read(arg)
		l.crowds = l.crowds || w.braces > maxBraces
		c.words = append(c.words, w)
	}
	l.unsure = l.unsure || l.crowds
	first := c.words[0]
	if !first.known || first.glob {
		l.unsure = true
	}
	l.add(c, l.fed[n])
}

// add adds a command, and what its arguments and its input have a program run.
func (l *line) add(c command, in feed) {
	program := programOf(c.words[0].text)
	c.any = runsOthers(program) || handsOver(program, c.words[1:])
	if !slices.Contains(sayers, program) {
		l.veiled = l.veiled || slices.ContainsFunc(c.words[1:], func(w word) bool { return !w.known })
	}
	if c.any {
		l.inner(c.words[1:], c.words[0])
	} else {
		l.told(c.words[1:])
	}
	l.code(&c, in)
	l.commands = append(l.commands, c)
}

// inner reads the arguments of a program that runs others: some are command
// lines themselves, or code in another language. before are the words before them.
func (l *line) inner(args []word, before ...word) {
	foreign := slices.ContainsFunc(before, foreignWord)
	for _, w := range args {
		if !w.known || w.glob {
			l.unsure = true
		}
		if foreign {
			l.cut(w.text)
			continue
		}
		foreign = foreignWord(w)
		l.script(w.text)
		for value, n := w.text, 0; n < maxParts; n++ { // --filter=COMMAND, alias x=COMMAND
			var ok bool
			if _, value, ok = strings.Cut(value, "="); !ok || value == "" {
				break
			}
			l.runsText(value)
		}
		if _, text, ok := strings.Cut(w.text, ":"); ok && strings.ContainsAny(text, " \t\n") { // EXEC:COMMAND
			l.runsText(text)
		}
		l.attached(w.text)
	}
}

// script reads a text that may be a command line. Editors, pagers and git take one behind an
// exclamation mark.
func (l *line) script(text string) {
	text = strings.TrimLeft(text, "+!: ")
	if !strings.ContainsAny(text, " \t\n;&|<>()`$") || len(text) > maxLine {
		return
	}
	if l.nested++; l.nested > maxNested {
		l.unsure = true
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		l.unsure = l.unsure || strings.ContainsAny(text, " \t\n")
		l.cut(text)
		return
	}
	l.collect(file)
}

// cut splits text that is not parsed wherever a command could begin.
func (l *line) cut(text string) {
	text = strings.NewReplacer("\\\n", "", "'", "", `"`, "", `\`, "").Replace(text)
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n\r\v\f;&|(){}`<>", r) }) {
		if piece = strings.Join(strings.Fields(piece), " "); piece != "" {
			l.commands = append(l.commands, command{words: []word{literally(piece)}, any: true})
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

// mayMention reports whether a deny or ask pattern may match a command of the line, once the
// words are there that nobody knows yet.
func (l *line) mayMention(pattern commandPattern) bool {
	return slices.ContainsFunc(l.commands, func(c command) bool {
		n := slices.IndexFunc(c.words, func(w word) bool { return !w.known || w.glob })
		if n < 0 && !c.more {
			return false
		}
		if n >= 0 {
			c.words = c.words[:n]
		}
		text := fold(c.loose()) + " "
		return len(c.words) > 0 && (pattern.begins(text) || pattern.begins(programOf(text)))
	})
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

// matcher returns a regular expression, which is compiled at its first use: the program starts
// without most of them.
func matcher(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
