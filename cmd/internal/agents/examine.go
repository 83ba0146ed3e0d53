package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/known"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/ecaserver"
	"dragoman/cmd/internal/confine"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/display"
)

// Trial describes what an agent did when it was tried.
type Trial = agent.Trial

const (
	// tryFor limits the time of a trial. Agents that update themselves first took 20 s.
	tryFor = time.Minute
	// versionFor limits the time for the version of an interpreter.
	versionFor = 5 * time.Second
)

// Examination looks at one external agent.
type Examination struct {
	env    *program.Environment
	run    configs.Run
	name   string
	of     configs.Agent
	known  known.Agent
	config *configs.Config
}

// New returns the examination of a configured external agent.
func New(env *program.Environment, kept *secrets.Store, c *configs.Config, name string) *Examination {
	a := c.Agents[name]
	return &Examination{env: env, run: secrets.NewPrograms().Run, name: name, of: a, known: known.Of(Words(a)), config: c}
}

// started returns the program of the agent.
func (x *Examination) started() configs.AgentProgram {
	p, _ := x.of.Program()
	return p
}

// Find returns where the program is installed.
func (x *Examination) Find(ctx context.Context) (string, error) {
	path, err := Find(ctx, x.of, x.env)
	if err != nil {
		return "", findError{err}
	}
	return path, nil
}

// findError is an error of Find in short words.
type findError struct{ error }

func (e findError) Error() string { return reason(e.error) }

func (e findError) Unwrap() error { return e.error }

// Missing returns advice for an error of Find.
func (x *Examination) Missing(err error) string {
	word := Words(x.of)[0]
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "make it executable: chmod +x " + word
	case errors.Is(err, syscall.EISDIR):
		return "write the path of the program in it"
	case len(Words(x.of)) == 1 && strings.ContainsAny(word, " \t"):
		return "an element of a list is one word, with its blanks; write the line without brackets, or each word as an element"
	}
	return missing(word)
}

// Hint returns advice for an agent that does not start, for the error that says so. path is where its
// program is installed.
func (x *Examination) Hint(path string, err error) string {
	return cmp.Or(unrunnable(path, err), x.known.Hint)
}

// Credentials lists the variables of our environment by which the agent finds its login, without
// their values. Those that its entry sets are not among them.
func (x *Examination) Credentials() (names []string) {
	for _, kv := range x.env.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if _, own := x.started().Env[name]; !own && value != "" && child.Named(x.known.Env, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Installed compares what was installed with its manifest. what describes it, and is empty for a
// command of the user's own; problem says what differs.
func (x *Examination) Installed(ctx context.Context) (what, problem string) {
	f, ok := InstalledIn(x.env, x.of)
	if !ok {
		return "", ""
	}
	m, d, err := f.Check(ctx)
	switch {
	case err != nil:
		return f.Path, err.Error()
	case !d.None():
		problem = "it is not as it was installed: " + display.Line(d.String(), 600)
	}
	return fmt.Sprintf("%s %s from the registry, %s as installed at %s", m.ID, m.Version, display.Counted(len(m.Files), "file"), m.Installed.Local().Format(time.DateTime)), problem
}

// Interpreter describes the program that runs the agent's, with its version.
func (x *Examination) Interpreter(ctx context.Context, path string) []string {
	name := interpreter(path)
	if filepath.Base(name) != "node" {
		return nil
	}
	found, err := child.Find(name, []string{"PATH=" + x.env.Getenv("PATH")}, filepath.Dir(path))
	if err != nil {
		return []string{"it needs node, which is not in PATH"}
	}
	ctx, cancel := context.WithTimeout(ctx, versionFor)
	defer cancel()
	cmd := exec.Command(found, "--version")
	var out strings.Builder
	cmd.Stdout = &out
	if _, err := child.Run(ctx, cmd); err != nil {
		return []string{fmt.Sprintf("it needs node: %s does not work: %v", found, err)}
	}
	return []string{"node " + strings.TrimSpace(out.String()) + ": " + found}
}

// desktopPath is the PATH of programs that are started from a desktop, where no shell has extended
// it; "": it is the same.
func desktopPath() string {
	switch runtime.GOOS {
	case "windows":
		return ""
	case "darwin":
		return "/usr/bin:/bin:/usr/sbin:/sbin"
	}
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

// NotOnDesktop names what an editor that was started from a desktop may not find of the agent: its
// program, or the one that runs it. path is a PATH with which it would. "": nothing.
func (x *Examination) NotOnDesktop(program string) (problem, path string) {
	desktop := desktopPath()
	if _, own := x.started().Env["PATH"]; own || desktop == "" {
		return "", ""
	}
	var lost, dirs []string
	for _, name := range []string{Words(x.of)[0], interpreter(program)} {
		if name == "" || isPath(name) || strings.Contains(name, "${") {
			continue
		}
		found, err := child.Find(name, []string{"PATH=" + x.env.Getenv("PATH")}, "")
		if err != nil {
			continue // that is a problem of its own
		}
		if _, err := child.Find(name, []string{"PATH=" + desktop}, ""); err != nil {
			lost, dirs = append(lost, name), append(dirs, filepath.Dir(found))
		}
	}
	if len(lost) == 0 {
		return "", ""
	}
	problem = "an editor that is started from a desktop may not find " + strings.Join(lost, " and ") + "; its PATH is often " + desktop
	return problem, strings.Join(append(slices.Compact(dirs), desktop), ":")
}

// Try starts the agent in a folder of its own, opens a session and ends it.
func (x *Examination) Try(ctx context.Context) (t Trial, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tryFor, fmt.Errorf("it did not answer within %v", tryFor))
	defer cancel()
	dir, remove, err := x.folder()
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	guards := &child.Guards{}
	o := agent.Options{Version: x.env.Version, Guards: guards, Environ: x.env.Environ}
	if x.of.Confined() {
		places := confine.New(x.env)
		o.Confine = func(m core.Meta, _ core.Host) (launch.Confined, error) {
			return places.Agent(x.name, m, x.config, x.known, nil, nil)
		}
	}
	o = Checked(Records(x.env), x.of, asking(x.env), Options(x.name, x.of, x.env.Lookup, x.run, o))
	if ServesECA(x.of) {
		return ecaserver.Try(ctx, ecaserver.Options{Options: o}, dir)
	}
	return agent.Try(ctx, o, dir)
}

// Sandbox describes how the program is confined, with advice; "": it is not.
func (x *Examination) Sandbox() (how, advice string) {
	if !x.of.Confined() {
		return "", ""
	}
	how = "it runs in a sandbox (" + x.of.Sandbox + ")"
	if len(x.known.Bare) > 0 {
		return how + ", and its own is switched off: " + strings.Join(x.known.Bare, " "), ""
	}
	return how, "a sandbox of its own cannot be made in this one: if it has one, switch it off in its settings"
}

// folder returns a folder for a session. One that the agent does not have must be one of its paths.
func (x *Examination) folder() (dir string, remove func() error, err error) {
	for _, dir := range slices.Sorted(maps.Keys(x.of.Paths)) {
		return dir, func() error { return nil }, nil
	}
	dir, err = os.MkdirTemp("", "dragoman-trial-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// WrongOptions lists the configured options that an agent does not have, and values that it does
// not know.
func WrongOptions(a configs.Agent, t Trial) (list []string) {
	if t.Session == 0 {
		return nil
	}
	offered := core.Offered{Choices: t.Choices}
	for _, id := range slices.Sorted(maps.Keys(a.Options)) {
		value := string(a.Options[id])
		o := offered.Choice(id)
		switch {
		case o == nil:
			var ids []string
			for _, c := range t.Choices {
				ids = append(ids, c.ID)
			}
			list = append(list, fmt.Sprintf("options.%s: it has no such option%s", id, configs.DidYouMean(id, ids)))
		case !o.Takes(value):
			var values []string
			for _, v := range o.Values {
				values = append(values, v.ID)
			}
			list = append(list, fmt.Sprintf("options.%s: it has no value %q%s", id, value, configs.DidYouMean(value, values)))
		}
	}
	return list
}
