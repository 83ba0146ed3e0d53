package policy

import (
	"slices"
	"strings"
)

// handing are programs that run others by one of their sub-commands.
var handing = map[string][]string{
	"npm":       {"exec", "x"},
	"pnpm":      {"exec", "dlx"},
	"yarn":      {"exec", "dlx"},
	"lerna":     {"exec"},
	"poetry":    {"run"},
	"pipenv":    {"run"},
	"pdm":       {"run"},
	"rye":       {"run"},
	"hatch":     {"run"},
	"conda":     {"run"},
	"mamba":     {"run"},
	"bundle":    {"exec"},
	"rbenv":     {"exec"},
	"pyenv":     {"exec"},
	"opam":      {"exec"},
	"op":        {"run"},
	"doppler":   {"run"},
	"dotenv":    {"run"},
	"dotenvx":   {"run"},
	"devbox":    {"run"},
	"aws-vault": {"exec"},
	"sops":      {"exec-env", "exec-file"},
}

// handsOver reports whether the arguments of a program have it run another one.
func handsOver(program string, args []word) bool {
	by := handing[program]
	return slices.ContainsFunc(args, func(w word) bool { return slices.Contains(by, w.text) })
}

// runningOptions are options of programs that run nothing else, whose values are command lines.
var runningOptions = []string{
	"-exec",
	"--exec",
	"-toolexec",
	"--toolexec",
	"-vettool",
	"--vettool",
	"--pre",
	"--hostname-bin",
	"--compress-program",
	"--use-compress-program",
	"--preview",
	"--filter",
	"--rsh",
	"--pager",
	"--editor",
	"--browser",
}

// runsText adds a text that a program takes for a command line.
func (l *line) runsText(text string) {
	l.commands = append(l.commands, command{words: []word{literally(text)}, any: true})
	l.script(text)
}

// attached reads what follows the letter of an option in the same word, as in -xCOMMAND, or the
// letters of several.
func (l *line) attached(text string) {
	if len(text) < 3 || text[0] != '-' || text[1] == '-' {
		return
	}
	l.runsText(text[2:])
	if strings.ContainsAny(text, " \t\n") {
		for i := 3; i < min(len(text), maxParts); i++ {
			l.runsText(text[i:])
		}
	}
}

// told reads the values of options by which programs are told what to run.
func (l *line) told(args []word) {
	for i, w := range args {
		name, value, with := strings.Cut(w.text, "=")
		switch {
		case !slices.Contains(runningOptions, name):
		case with:
			l.inner([]word{{text: value, static: w.static, known: w.known}})
			l.runsText(value)
		case i+1 < len(args):
			l.inner(args[i+1 : i+2])
			l.runsText(args[i+1].text)
		}
	}
}
