package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/jsonl"
)

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what was found on this machine, and what is wrong",
		Long: `Say what was found on this machine, and what is wrong: the program itself, the
configuration, keys (their names, never their values), the model that would be used, where the
log is written, where sessions are kept and which of them are damaged, the shell that would run
commands, and the settings of editors that start an agent or that mention dragoman. Nothing is
changed and nobody is asked over the network.

The exit code is 1 if something is wrong; what only deserves a look (!) does not count.`,
		Example: "  dragoman doctor\n  dragoman doctor --config ./other.yaml",
		Args:    cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			r := a.examine(ctx, nil)
			r.print(a.Out, terminal.Colours(a.Out, a.Lookup))
			if r.wrong() > 0 {
				return program.ErrReported
			}
			return nil
		}),
	}
}

// mark grades a finding.
type mark string

const (
	fine  mark = "✓"
	look  mark = "!" // worth a look; nothing is broken
	wrong mark = "✗"
	plain mark = "·"
)

// painted returns the mark in its colour.
func (m mark) painted(p terminal.Palette) string {
	switch m {
	case fine:
		return p.Good(string(m))
	case look:
		return p.Warm(string(m))
	case wrong:
		return p.Bad(string(m))
	case plain:
		return p.Faint(string(m))
	}
	return string(m)
}

// finding is one line of the report; Hint says what to do.
type finding struct {
	mark mark
	text string
	hint string
}

// section is what was found about one subject.
type section struct {
	title    string
	findings []finding
}

func (s *section) add(m mark, format string, args ...any) *finding {
	s.findings = append(s.findings, finding{mark: m, text: fmt.Sprintf(format, args...)})
	return &s.findings[len(s.findings)-1]
}

// report is all that was found.
type report struct{ sections []section }

func (r *report) wrong() int {
	n := 0
	for _, s := range r.sections {
		for _, f := range s.findings {
			if f.mark == wrong {
				n++
			}
		}
	}
	return n
}

func (r *report) print(out io.Writer, c terminal.Palette) {
	for _, s := range r.sections {
		fmt.Fprintf(out, "%s\n", c.Strong(s.title))
		for _, f := range s.findings {
			fmt.Fprintf(out, "  %s %s\n", f.mark.painted(c), strings.ReplaceAll(printable(f.text), "\n", "\n    "))
			if f.hint != "" {
				fmt.Fprintf(out, "    %s\n", c.Faint("→ "+printable(f.hint)))
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, r.verdict())
}

func (r *report) verdict() string {
	switch n := r.wrong(); n {
	case 0:
		return "Nothing is wrong."
	case 1:
		return "One thing is wrong."
	default:
		return fmt.Sprintf("%d things are wrong.", n)
	}
}

// examine looks at everything. editor is what an editor set; nil: nothing.
func (a *app) examine(ctx context.Context, editor *configs.Config) *report {
	config, configErr := a.LoadConfig(editor)
	return &report{[]section{
		a.examineProgram(),
		a.examineConfig(ctx, config, configErr),
		a.examineModel(ctx, config, configErr),
		a.examineState(ctx),
		a.examineTools(ctx),
		a.examineEditors(),
	}}
}

func (a *app) examineProgram() section {
	s := section{title: "Program"}
	self, err := os.Executable()
	if err != nil {
		s.add(wrong, "the program's own path is not known: %v", err)
	}
	s.add(fine, "dragoman %s, %s, %s/%s", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	s.add(plain, "%s", self)
	if found, err := exec.LookPath("dragoman"); err != nil {
		s.add(plain, "not on PATH: give editors the path above")
	} else if !sameFile(found, self) {
		s.add(look, "PATH finds another one: %s", found).hint = "editors that are told only \"dragoman\" start that one"
	}
	return s
}

func (a *app) examineConfig(ctx context.Context, c *configs.Config, err error) section {
	s := section{title: "Configuration"}
	path := a.ConfigFile()
	var problems *configs.Error
	switch {
	case errors.As(err, &problems):
		for _, p := range problems.Problems {
			s.add(wrong, "%s", p)
		}
	case err != nil:
		s.add(wrong, "%v", err)
	case path == "":
		s.add(look, "no place for a file: the environment names no home folder").hint = "give one with --config"
	case c.Source == "":
		s.add(plain, "no file; the defaults hold (it would be %s)", path).hint = "\"dragoman config init\" writes one to begin with"
	default:
		s.add(fine, "%s", c.Source)
	}
	for _, w := range c.Warnings {
		s.add(look, "%s", w)
	}
	a.examineLog(&s, c)
	if n := len(c.MCPServers); n > 0 {
		s.add(plain, "%s, started by the sessions that use them", counted(n, "MCP server")).hint = "\"dragoman mcp-servers list\" tries them"
	}
	if kept, ok := a.secrets.ServerLogins(); ok {
		for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
			if where := kept.Where(ctx, name); where != "" {
				s.add(plain, "the login to the MCP server %s is kept %s", name, where)
			}
		}
	}
	if cwd, err := os.Getwd(); err == nil {
		if path, there := configs.WorkspaceFile(cwd); there {
			s.add(look, "%s is there, but this version does not read it", path).hint = "a workspace's file counts only once its workspace is trusted"
		}
	}
	return s
}

// examineLog tries the file that the log is to be written to.
func (a *app) examineLog(s *section, c *configs.Config) {
	path, from, bad := a.Flags.LogFile, "--log-file", wrong // nothing starts then
	if path == "" {
		from, bad = "log.file", look // the log stays on standard error then
		var err error
		if path, err = c.Log.File.ResolvePath(a.Lookup); err != nil {
			s.add(bad, "log.file: %v", err)
		}
	}
	if path == "" {
		return
	}
	if err := tryLogFile(path); err != nil {
		s.add(bad, "the log cannot be written: %v", err).hint = "name another file in " + from
		return
	}
	s.add(fine, "the log is appended to %s", path)
}

// tryLogFile reports whether a log could be appended to a file, and leaves nothing behind.
func tryLogFile(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		dir, err := os.MkdirTemp(existing(filepath.Dir(path)), "doctor-")
		if err != nil {
			return err
		}
		return os.Remove(dir)
	}
	if err != nil || info.Mode()&fs.ModeNamedPipe != 0 { // a pipe is opened when somebody reads it
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func (a *app) examineModel(ctx context.Context, c *configs.Config, configErr error) section {
	s := section{title: "Model"}
	given := a.secrets.Logins()
	choice := c.ChooseModel(a.Lookup, given)
	if configErr != nil {
		s.add(look, "until the configuration is mended no prompt is answered; without it this would be chosen:")
	}
	switch {
	case choice.Offline() && c.Model != "":
		s.add(fine, "%s, because %s", choice, choice.Reason)
	case choice.Offline():
		s.add(look, "%s, because %s", choice, choice.Reason).hint = "it is no language model: set one of the keys below, or \"model\" in the configuration"
	default:
		s.add(fine, "%s, because %s", choice, choice.Reason)
		if err := c.CheckKey(choice.Provider, a.Lookup, given); err != nil {
			s.add(wrong, "%v", err)
		}
		if address, err := choice.Settings.BaseURL.Resolve(a.Lookup); err != nil {
			s.add(wrong, "%v", err)
		} else if address != "" {
			s.add(plain, "reached at %s (not tried)", address)
		}
	}
	var missing []string
	for _, l := range choice.Looked {
		switch {
		case l.Variable == "":
			if _, err := given.Key(ctx, l.Provider); err != nil {
				s.add(wrong, "%v", err).hint = "dragoman login " + l.Provider
			} else {
				s.add(fine, "a key was given for %s; it is kept %s", l.Provider, given.Where(ctx, l.Provider))
			}
		case l.Found:
			s.add(fine, "%s is set", l.Variable)
		case l.Note != "":
			s.add(look, "%s: %s", l.Variable, l.Note)
		default:
			missing = append(missing, l.Variable)
		}
	}
	if len(missing) > 0 {
		s.add(plain, "not set: %s", strings.Join(missing, ", ")).hint = "programs started from a desktop do not see the shell's variables; \"dragoman login PROVIDER\" takes a key for everybody, and so does the configuration file"
	}
	if err := given.Check(); err != nil {
		s.add(wrong, "%v", err)
	} else if given.Shared() {
		s.add(wrong, "others can read the keys in %s", given.Path()).hint = "chmod 600 " + given.Path()
	}
	return s
}

func (a *app) examineState(ctx context.Context) section {
	s := section{title: "Sessions"}
	dir, err := a.DataDir()
	if err != nil {
		s.add(wrong, "%v", err)
		return s
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := tryStore(ctx, existing(dir)); err != nil {
			s.add(wrong, "sessions cannot be kept in %s, which is not there yet: %v", dir, err).hint = otherData
		} else {
			s.add(plain, "%s will be made with the first session", dir)
		}
		return s
	case err != nil:
		s.add(wrong, "%v", err).hint = otherData
		return s
	case !info.IsDir():
		s.add(wrong, "%s is no folder", dir).hint = otherData
		return s
	}
	s.add(fine, "%s", dir)
	if perm := info.Mode().Perm(); runtime.GOOS != "windows" && perm&0o077 != 0 {
		s.add(look, "others can look into it (%04o)", perm).hint = "chmod 700 " + dir
	}
	if free, ok := freeSpace(dir); ok {
		const little, none = 1 << 30, 64 << 20
		m := fine
		if free < none {
			m = wrong
		} else if free < little {
			m = look
		}
		s.add(m, "%s free", bytesText(free))
	}
	began := time.Now()
	if err := tryStore(ctx, dir); err != nil {
		s.add(wrong, "a session cannot be kept there: %v", err).hint = otherData
	} else {
		s.add(fine, "a session could be made, locked, written, synced and removed in %v", time.Since(began).Round(time.Millisecond))
	}
	examineLogs(ctx, &s, dir)
	if path := filepath.Join(dir, logs.AuditFile); fileThere(path) {
		s.add(plain, "what MCP clients have called through dragoman is recorded in %s", path)
	}
	return s
}

// checkedBytes limits how much of the sessions' logs the doctor reads, the last used
// first. Reading that much takes about a second.
const checkedBytes = 128 << 20

// examineLogs counts the sessions and finds those that are damaged.
func examineLogs(ctx context.Context, s *section, dir string) {
	store := jsonl.New(dir)
	count, checked, left := 0, 0, int64(checkedBytes)
	for sum, err := range store.List(ctx, core.Local) {
		if err != nil {
			s.add(look, "%v", err)
			continue
		}
		if count++; left <= 0 {
			continue
		}
		checked++
		damage, size, err := store.Check(ctx, core.Local, sum.ID)
		left -= size
		switch {
		case errors.Is(err, core.ErrNotFound): // removed meanwhile
		case err != nil:
			s.add(wrong, "%v", err)
		case damage != "":
			s.add(wrong, "session %s is damaged: %s", oneLine(string(sum.ID), 64), damage).hint = "dragoman sessions repair " + oneLine(string(sum.ID), 64)
		}
	}
	if err := store.Close(); err != nil {
		s.add(look, "%v", err)
	}
	s.add(plain, "sessions kept: %d", count)
	if checked < count {
		s.add(plain, "only the %d used last were checked for damage", checked)
	}
}

// otherData is the advice for a data folder that cannot be used.
const otherData = "name another folder with --data-dir or DRAGOMAN_DATA"

// existing returns path, or the nearest folder above it that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// tryStore keeps a session below dir for a moment, to see whether the file system
// does what the store needs.
func tryStore(ctx context.Context, dir string) (err error) {
	trial, err := os.MkdirTemp(dir, "doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(trial)) }()
	store := jsonl.New(trial)
	defer func() { err = errors.Join(err, store.Close()) }()
	j, err := store.Create(ctx, core.Meta{ID: "trial", Principal: core.Local, Cwd: trial, Created: time.Now()})
	if err != nil {
		return err
	}
	_, err = j.Claim(ctx)
	if err == nil {
		err = j.Sync(ctx)
	}
	return errors.Join(err, j.Release(), j.Close())
}

func (a *app) examineTools(ctx context.Context) section {
	s := section{title: "Commands"}
	shells := []string{"bash", "sh"}
	if runtime.GOOS == "windows" {
		shells = []string{"bash", "powershell", "cmd"}
	}
	i := slices.IndexFunc(shells, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	if i < 0 {
		s.add(wrong, "no shell: looked for %s", strings.Join(shells, ", ")).hint = "shell_command cannot run without one; look at PATH"
	} else {
		path, err := exec.LookPath(shells[i])
		if err == nil {
			err = tryProgram(ctx, path) // without input it ends at once
		}
		if err != nil {
			s.add(wrong, "shell_command would use %s, which does not work: %v", cmp.Or(path, shells[i]), err).hint = "no command can be run, and no MCP server that is a program"
		} else {
			s.add(fine, "shell_command uses %s", path)
		}
	}
	if path, err := exec.LookPath("git"); err != nil {
		s.add(look, "git is not on PATH").hint = withoutGit
	} else if err := tryProgram(ctx, path, "--version"); err != nil {
		s.add(look, "git is %s, which does not work: %v", path, err).hint = withoutGit
	} else {
		s.add(fine, "git: %s", path)
	}
	return s
}

const withoutGit = "the agent can work without it, but sees no history"

// tryProgram starts a program as commands are started, and waits until it has ended.
func tryProgram(ctx context.Context, path string, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, tryTime, fmt.Errorf("it did not end within %v", tryTime))
	defer cancel()
	how, err := child.Run(ctx, exec.Command(path, args...))
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !how.Success():
		return errors.New(how.String())
	}
	return nil
}

// tryTime is the time limit for a program that has nothing to do.
const tryTime = 10 * time.Second

func fileThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func bytesText(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// short writes a path below the home folder with a ~.
func short(path, home string) string {
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return filepath.Join("~", rel)
	}
	return path
}
