package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"dragoman/configs"
	"dragoman/core/child"
	"dragoman/core/sandbox"
)

func (d *Doctor) examineTools(ctx context.Context, config *configs.Config) section {
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
	examineSandbox(&s, config)
	if path, err := exec.LookPath("git"); err != nil {
		s.add(look, "git is not on PATH").hint = withoutGit
	} else if err := tryProgram(ctx, path, "--version"); err != nil {
		s.add(look, "git is %s, which does not work: %v", path, err).hint = withoutGit
	} else {
		s.add(fine, "git: %s", path)
	}
	return s
}

// examineSandbox says how far commands are confined here.
func examineSandbox(s *section, config *configs.Config) {
	most, anywhere := child.Full, false
	if config != nil {
		most, anywhere = child.Level(config.Policy.Sandbox), config.Policy.Unattended == "anywhere"
	}
	system := sandbox.New()
	switch level, why := system.Level(most); level {
	case child.Full:
		by := ""
		if program := system.Through(); program != "" {
			by = ", made by " + program
		}
		s.add(fine, "commands run in the sandbox (full%s): only the workspace can be changed, and hosts are reached when you allow them", by)
	case child.Files:
		s.add(look, "commands run in the sandbox (files): %s", why).hint = "only the workspace can be changed, without a network, but other processes are seen"
	case child.None:
		s.add(look, "commands run without a sandbox: %s", why).hint = "a command that you allow can do all that you can"
	}
	if anywhere {
		s.add(look, "policy.unattended is anywhere").hint = "commands that nobody looks at run even without a sandbox"
	}
}

const withoutGit = "the agent can work without it, but sees no history"

// tryProgram starts a program in the same way as commands, and waits until it has ended.
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

// tryTime is the time limit for a program without work.
const tryTime = 10 * time.Second
