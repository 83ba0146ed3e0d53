package shell

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Shell is the program that runs command lines.
type Shell struct {
	Path string // "": not found
	Name string // bash, sh, powershell, cmd
}

// Find finds the shell: the configured one, or the system's.
func Find(configured string) Shell {
	names := []string{"bash", "sh"}
	if runtime.GOOS == "windows" {
		names = []string{"powershell", "cmd"}
	}
	if configured != "" {
		names = []string{configured}
	}
	for _, name := range names {
		// LookPath returns ErrDot for a shell in the current folder, which is not
		// used.
		if path, err := exec.LookPath(name); err == nil && filepath.IsAbs(path) {
			return Shell{path, strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")}
		}
	}
	return Shell{}
}

// Argv returns the arguments that start the shell with a command line.
func (sh Shell) Argv(line string) []string {
	switch sh.Name {
	case "powershell", "pwsh":
		return []string{sh.Path, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", line}
	case "cmd":
		return []string{sh.Path, "/d", "/c", line}
	}
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line // or the shell takes it for an option
	}
	return []string{sh.Path, "-c", line}
}
