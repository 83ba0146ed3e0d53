package configs

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// Run runs a program for a reference ${cmd:…} and returns its output. args[0] is the
// program: a name on the PATH, or an absolute path. It runs in dir, the folder of the
// configuration file. It blocks until the program or ctx ends. Its error contains no
// output of the program.
type Run func(ctx context.Context, dir string, args []string) (string, error)

// runReferenced returns the first line that a program prints.
func runReferenced(ctx context.Context, t text, command string, env Env, run Run) (string, error) {
	from := t.from()
	switch {
	case from == nil || !from.own:
		return "", errors.New(notOwn)
	case run == nil:
		return "", errors.New("no program can be run for this setting")
	}
	args, err := words(command)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(args[0], `/\`) && !filepath.IsAbs(args[0]) {
		if args[0], err = t.path(args[0], env); err != nil {
			return "", err
		}
	}
	out, err := run(ctx, from.dir, args)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(out, "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", errors.New("the first line that the program printed is empty")
	}
	return line, nil
}

// shortCommand names a command in a message; its arguments may be secret.
func shortCommand(command string) string {
	args, err := words(command)
	if err != nil || len(args) < 2 {
		return "${cmd:" + cut(command) + "}"
	}
	return "${cmd:" + cut(args[0]) + " …}"
}

const (
	notOwn     = "only your own configuration file may have programs run"
	notASecret = "a program is run only for api_key, headers and env"
)

// words splits the command of a reference.
func words(command string) ([]string, error) {
	all, closed := splitWords(command)
	switch {
	case !closed:
		return nil, errors.New("a quote of ${cmd:…} is not closed")
	case len(all) == 0 || all[0] == "":
		return nil, errors.New("${cmd:…} names no program")
	}
	return all, nil
}

// splitWords splits a command as a shell does, but without the shell's other features: no variable,
// no glob, no pipe. Quotes of both kinds keep words together; a backslash is an ordinary character.
// closed is false if a quote is open at the end.
func splitWords(command string) (all []string, closed bool) {
	var word strings.Builder
	var quoted rune // 0: outside of quotes
	begun := false
	for _, r := range command {
		switch {
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted == 0 && (r == '\'' || r == '"'):
			quoted, begun = r, true
		case quoted == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		all = append(all, word.String())
	}
	return all, quoted == 0
}
