package shell

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core/child"
	"dragoman/core/display"
)

// Request is a command as an agent asks for it.
type Request struct {
	// Command is a program for Args. Without Args it is a command line, which the shell runs: many
	// agents write one there.
	Command string
	Args    []string
	Env     map[string]string // in addition to the environment that every command gets
	Dir     string            // absolute
	// Limit is the number of bytes of output that are kept, of its end; 0, or more: 1 MiB.
	Limit int
	// Output receives the output as it arrives, in pieces of whole characters, from one goroutine.
	// The command waits for it. nil: it is only kept.
	Output func(string)
	// Remarks returns what the command does not know of what happened to it. It is asked once, when the
	// command has ended, and the text is added to the output. nil: there is nothing to add.
	Remarks func() string
	// Ended receives how the command has ended and all of its output that is kept, before anybody else
	// learns that it has. The others wait for it. nil: nobody wants to know first.
	Ended func(Output)
}

// check returns an error for what no system can start.
func (r Request) check() error {
	size, nul := len(r.Command), strings.ContainsRune(r.Command+r.Dir, 0)
	for _, arg := range r.Args {
		size, nul = size+len(arg), nul || strings.ContainsRune(arg, 0)
	}
	for name, value := range r.Env {
		if name == "" || strings.ContainsRune(name, '=') {
			return fmt.Errorf("%s is no name of a variable", display.Visible(fmt.Sprintf("%q", name)))
		}
		size, nul = size+len(name)+len(value), nul || strings.ContainsRune(name+value, 0)
	}
	switch {
	case strings.TrimSpace(r.Command) == "":
		return errors.New("the command is empty")
	case nul:
		return errors.New("the command contains a NUL character")
	case size > MaxLine:
		return fmt.Errorf("the command is larger than %d KB", MaxLine>>10)
	case !filepath.IsAbs(r.Dir):
		return fmt.Errorf("the folder %s is not an absolute path", display.Visible(r.Dir))
	}
	return nil
}

// MaxLine limits a command with all of its arguments, in bytes; systems accept at most 128 KiB in
// one argument.
const MaxLine = 100 << 10

// plain are variables that change only how a command looks and not what it does, written like
// child.Safe.
var plain = []string{"TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "LANG", "LANGUAGE", "LC_*", "TZ"}

// Line returns the request as one line of a shell that does the same: for people, and for a
// policy that judges command lines. Variables that change what a command does, such as
// LD_PRELOAD, are assignments before it; base is the environment without them.
func (r Request) Line(base []string) string {
	line := r.Command
	if len(r.Args) > 0 {
		line = Quote(append([]string{r.Command}, r.Args...)...)
	}
	var set []string
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		value := r.Env[name]
		if child.Named(plain, name) || slices.Contains(base, name+"="+value) {
			continue
		}
		if display.SecretName(name) {
			value = "…"
		}
		set = append(set, word(name)+"="+word(value))
	}
	if len(set) == 0 {
		return line
	}
	if len(r.Args) == 0 {
		return "export " + strings.Join(set, " ") + "; " + line
	}
	return strings.Join(set, " ") + " " + line
}

// Quote returns words as a command line of a Unix shell.
func Quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if before, after, ok := strings.Cut(w, "="); i > 0 && ok && word(before+after) == before+after {
			quoted[i] = w // only the first word can be an assignment
			continue
		}
		quoted[i] = word(w)
	}
	return strings.Join(quoted, " ")
}

// word quotes a word that a shell would take for something else.
func word(w string) string {
	if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./,:@%") == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// unix reports whether the shell reads its lines as Unix shells do.
func (sh Shell) unix() bool {
	return !slices.Contains([]string{"", "powershell", "pwsh", "cmd"}, sh.Name)
}

// command returns the command to run. A name that is no program may be something that the shell
// has itself, or an error that the shell words.
func (r Request) command(sh Shell, base []string) (Command, error) {
	if err := r.check(); err != nil {
		return Command{}, err
	}
	c := Command{Dir: r.Dir, Env: slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, given := r.Env[name]
		return given
	})}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		c.Env = append(c.Env, name+"="+r.Env[name])
	}
	c.Env = append(c.Env, "PWD="+r.Dir)
	line := r.Command
	if len(r.Args) > 0 {
		path, err := child.Find(r.Command, c.Env, r.Dir)
		if err == nil {
			c.Argv = append([]string{path}, r.Args...)
			return c, nil
		}
		if !errors.Is(err, child.ErrNotFound) || !sh.unix() {
			return Command{}, fmt.Errorf("start %w", err)
		}
		line = Quote(append([]string{r.Command}, r.Args...)...)
	}
	if sh.Path == "" {
		return Command{}, errors.New("there is no shell here to run a command line")
	}
	c.Argv = sh.Argv(line)
	return c, nil
}

// environ returns the environment of commands: ours without secrets.
func environ(ours func() []string, keep []string) []string {
	if ours == nil {
		ours = os.Environ
	}
	return Env(ours(), keep)
}
