package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// feed is what a line gives a command to read as its input.
type feed struct {
	on    bool
	texts []string // of here-documents and here-strings
}

// maxWalks limits the visits of nodes by which the commands that are fed are found.
const maxWalks = 100_000

// feeds finds the commands below a node that read what the line gives them: through a pipe, from
// a text in it, from another command or an open file.
func (l *line) feeds(node syntax.Node) {
	if l.fed == nil {
		l.fed = map[*syntax.CallExpr]feed{}
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				l.feed(n.Y)
			}
		case *syntax.Stmt:
			for _, r := range n.Redirs {
				l.feedBy(n, r, node)
			}
		case *syntax.ProcSubst:
			if n.Op == syntax.CmdOut {
				for _, s := range n.Stmts {
					l.feed(s)
				}
			}
		case *syntax.CoprocClause:
			l.unsure = true // what it reads comes from anywhere
			if n.Name != nil {
				l.commands = append(l.commands, command{words: []word{l.vars.read(n.Name)}, any: true})
			}
		}
		return true
	})
}

// feedBy notes what a redirection feeds: the statement, or with exec everything.
func (l *line) feedBy(s *syntax.Stmt, r *syntax.Redirect, all syntax.Node) {
	var texts []string
	switch {
	case r.Hdoc != nil:
		texts = []string{l.vars.read(r.Hdoc).text}
	case r.Word == nil:
		return
	case r.Op == syntax.WordHdoc:
		texts = []string{l.vars.read(r.Word).text}
	case r.Op == syntax.RdrIn, r.Op == syntax.RdrInOut:
		if w := l.vars.read(r.Word); w.known && !w.glob && !device(w.text) {
			l.runs = append(l.runs, w.text)
			return
		}
	case r.Op != syntax.DplIn:
		return
	}
	var to syntax.Node = s.Cmd
	if slices.Contains(wordsOf(s.Cmd), "exec") {
		to = all
	}
	if s.Cmd != nil {
		l.feed(to, texts...)
	}
}

// feed marks the commands below a node as fed.
func (l *line) feed(node syntax.Node, texts ...string) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if l.walks++; l.walks > maxWalks {
			l.unsure = true
			return false
		}
		if c, ok := n.(*syntax.CallExpr); ok {
			l.fed[c] = feed{on: true, texts: append(l.fed[c].texts, texts...)}
		}
		return true
	})
}

// device reports whether a path is that of an open file, and not of a stored one.
func device(p string) bool {
	p = path.Clean(p)
	return p == "-" || strings.HasPrefix(p, "/dev/") || strings.HasPrefix(p, "/proc/")
}

// sayers are commands whose arguments are no paths.
var sayers = []string{"echo", "printf", "test", "[", "true", "false", ":", "exit", "return", "break", "continue", "kill", "wait", "sleep", "basename", "dirname", "seq", "shift", "umask", "expr"}

// commanding matches variables by which programs are told what to run.
var commanding = matcher(`^(GIT_.*|.*PAGER|.*EDITOR|VISUAL|BROWSER|BASH_ENV|ENV|PROMPT_COMMAND|LESSOPEN|LESSCLOSE|SHELL|RSYNC_RSH|.*_COMMAND|.*_WRAPPER|PS[0-4]|CC|CXX|GOFLAGS|MAKEFLAGS|NODE_OPTIONS|PERL5OPT|PERL5DB|RUBYOPT|PYTHONSTARTUP)$`)

// steer reads the value of a variable by which a program is told what to run.
func (l *line) steer(a *syntax.Assign) {
	if a.Name != nil && commanding().MatchString(a.Name.Value) {
		w := l.vars.read(a.Value)
		l.inner([]word{w})
		l.commands = append(l.commands, command{words: []word{w}, any: true})
	}
}

// writes reports whether the line writes a file that it runs. Names of files are compared without
// their folders.
func (l *line) writes(ran string) bool {
	return slices.ContainsFunc(l.wrote, func(w string) bool { return path.Base(w) == path.Base(ran) })
}

// copiers are programs that make files of the names in their arguments.
var copiers = []string{"tee", "cp", "mv", "ln", "link", "install"}

// code notes which code a command runs that cannot be known: what an interpreter reads, or gets as
// an argument in another language than that of the shell.
func (l *line) code(c *command, in feed) {
	program := programOf(c.words[0].text)
	if strings.ContainsRune(c.words[0].text, '/') {
		l.runs = append(l.runs, c.words[0].text)
	}
	if program == "git" {
		l.git(c)
	}
	for i, w := range c.words {
		if i > 0 && !c.any {
			break
		}
		if slices.Contains(copiers, programOf(w.text)) {
			for _, to := range c.words[i+1:] {
				l.wrote = append(l.wrote, to.text)
			}
		}
		r, ok := readers()[language(programOf(w.text))]
		if !ok {
			continue
		}
		args := c.words[i+1:]
		if r.rest {
			l.spread(c, args)
		}
		if r.flags.args(args) || r.text != nil && slices.ContainsFunc(args, func(w word) bool { return r.text(w.text) }) {
			l.unsure = true
		}
		switch {
		case len(args) > 0 && args[0].known && !args[0].glob && !optional(args[0].text) && !device(args[0].text) && !r.rest:
			l.runs = append(l.runs, args[0].text)
			if !r.always {
				continue
			}
			fallthrough
		default:
			l.reads(in, r)
		}
	}
}

// reads notes that an interpreter runs what it is given to read.
func (l *line) reads(in feed, r reader) {
	if !in.on {
		return
	}
	l.unsure = l.unsure || !r.rest
	for _, text := range in.texts {
		l.script(text)
		l.commands = append(l.commands, command{words: []word{literally(text)}, any: true})
	}
}

// spread notes that a program gets arguments that are read from its input, like that of xargs.
func (l *line) spread(c *command, args []word) {
	l.veiled = true
	for i := range min(len(args), maxParts) {
		l.commands = append(l.commands, command{words: args[i:], more: true})
		l.unsure = l.unsure || runsOthers(programOf(args[i].text))
	}
}

// reader is a program that runs code.
type reader struct {
	flags   flags             // options whose argument is code
	foreign bool              // in another language than that of the shell
	text    func(string) bool // reports whether an argument is code that runs programs
	rest    bool              // what it reads are not commands but their arguments
	always  bool              // it runs what it reads even if it is given a file
}

// flags is a regular expression for options.
type flags struct{ *regexp.Regexp }

// args reports whether one of the options before the first operand has code.
func (f flags) args(words []word) bool {
	if f.Regexp == nil {
		return false
	}
	for _, w := range words {
		if !optional(w.text) {
			return false
		}
		if f.MatchString(w.text) {
			return true
		}
	}
	return false
}

// awkRuns and sedRuns match what runs a program in the languages of awk and sed.
var (
	awkRuns = matcher(`system|\||getline|@load|@include`)
	sedRuns = matcher(`(^|[^A-Za-z])e( |$)|[^A-Za-z\s][gpimIM0-9]*e[gpimIM0-9]*\s*($|[;}\n])`)
)

// sedRunsOthers reports whether an argument of sed is a script that runs programs.
func sedRunsOthers(arg string) bool {
	arg = strings.TrimPrefix(strings.TrimPrefix(arg, "-e"), "--expression=")
	return !optional(arg) && !printing(arg) && sedRuns().MatchString(arg)
}

// foreignWord reports whether a word is a program whose arguments are code in another language than
// that of the shell.
func foreignWord(w word) bool {
	r := readers()[language(programOf(w.text))]
	return r.text != nil || r.foreign
}

// readers are the programs that run code from their arguments or their input, by the name of
// their language.
var readers = sync.OnceValue(func() map[string]reader {
	return readersOf(map[string]reader{
		"sh bash dash ash zsh ksh mksh fish csh tcsh rbash source . cmd": {},
		"python pypy node nodejs bun ruby perl php lua luajit tclsh rscript r julia ghci irb erl groovy scala osascript jshell expect emacs pwsh powershell": {
			foreign: true,
			flags:   flags{regexp.MustCompile(`^(-[A-Za-z0-9]*[ceErpR]|--(eval|exec|print|run|command|execute|batch|require|import|loader)\b)`)},
		},
		"deno":                       {foreign: true, text: func(arg string) bool { return arg == "eval" }},
		"vi vim nvim ex ed gdb lldb": {always: true, flags: flags{regexp.MustCompile(`^(-c|\+|--cmd|-S|-s|-e)`)}},
		"make gmake":                 {always: true, flags: flags{regexp.MustCompile(`^(--eval|-E)`)}},
		"ssh m4 ftp sftp telnet dc sqlite3 psql mysql mariadb docker podman kubectl nsenter chroot at batch crontab su sudo doas busybox toybox": {always: true},
		"xargs parallel":     {rest: true, always: true},
		"awk gawk mawk nawk": {text: awkRuns().MatchString},
		"sed gsed":           {text: sedRunsOthers},
	})
})

func readersOf(groups map[string]reader) map[string]reader {
	all := map[string]reader{}
	for names, r := range groups {
		for name := range strings.FieldsSeq(names) {
			all[name] = r
		}
	}
	return all
}

// language returns the name of a program without its version: python3.12 is python.
func language(program string) string {
	program, _, _ = strings.Cut(program, " ")
	if short := strings.TrimRight(program, "0123456789.-"); short != "" && program != "sqlite3" && program != "m4" {
		return short
	}
	return program
}

// harmlessKeys are settings that git takes with -c and that run nothing.
var harmlessKeys = matcher(`(?i)^(user\.(name|email)|author\..*|committer\..*|color\..*|advice\..*|core\.(quotepath|autocrlf|eol|abbrev|longpaths|filemode|ignorecase)|commit\.gpgsign|tag\.gpgsign|init\.defaultbranch|log\..*|merge\.conflictstyle|pull\..*|push\.default|safe\.directory|protocol\.version)=[^!]*$`)

// runningGit are the sub-commands of git that run a program which they are given.
var runningGit = []string{"bisect", "rebase", "submodule", "filter-branch", "difftool", "mergetool", "for-each-repo", "send-email", "archive", "instaweb", "daemon"}

// git notes what git is told to run.
func (l *line) git(c *command) {
	for i, w := range c.words[1:] {
		value := ""
		switch {
		case w.text == "-c" && i+2 < len(c.words):
			value = c.words[i+2].text
		case strings.HasPrefix(w.text, "-c") && strings.Contains(w.text, "="):
			value = w.text[2:]
		case strings.HasPrefix(w.text, "--config-env"), strings.HasPrefix(w.text, "--exec-path="):
			l.unsure = true
			continue
		default:
			continue
		}
		if !harmlessKeys().MatchString(value) {
			l.unsure = true
			_, told, _ := strings.Cut(value, "=")
			l.script(strings.TrimLeft(told, "!"))
			l.commands = append(l.commands, command{words: []word{literally(strings.TrimLeft(told, "!"))}, any: true})
		}
	}
	clones := slices.ContainsFunc(c.words, func(w word) bool { return w.text == "clone" })
	for _, w := range c.words[1:] {
		if slices.Contains(runningGit, w.text) {
			c.any = true
			l.inner(c.words[1:])
			return
		}
		if strings.HasPrefix(w.text, "--upload-pack") || strings.HasPrefix(w.text, "--receive-pack") || strings.HasPrefix(w.text, "ext::") ||
			strings.HasPrefix(w.text, "--extcmd") || strings.HasPrefix(w.text, "--open-files-in-pager") || strings.HasPrefix(w.text, "-O") ||
			strings.HasPrefix(w.text, "-u") && clones {
			l.unsure = true
			l.inner(c.words[1:])
		}
	}
}
