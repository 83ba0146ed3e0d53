package agents

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"dragoman/configs"
)

// Program is the program of an external agent with its own part of the environment, without
// references.
type Program struct {
	Path string // a name to look up in PATH, or an absolute path
	Args []string
	Env  map[string]string
}

// Resolve looks up the references in the settings of an external agent's program, so that a key may
// change between two starts. It blocks while programs for keys run. The error names the place of a
// mistake in the file.
func Resolve(ctx context.Context, a configs.AgentProgram, env configs.Env, run configs.Run) (p Program, err error) {
	for i, word := range a.Command {
		s, err := word.Resolve(env)
		if err == nil && i == 0 && isPath(s) {
			s, err = word.ResolvePath(env)
		}
		if err != nil {
			return Program{}, err
		}
		if i == 0 {
			p.Path = s
		} else {
			p.Args = append(p.Args, s)
		}
	}
	p.Env, err = configs.ResolveSecrets(ctx, a.Env, env, run)
	return p, err
}

// isPath reports whether a program is named by its path, which may start at the configuration's
// folder or at the home folder.
func isPath(program string) bool {
	return strings.ContainsAny(program, "/"+string(filepath.Separator))
}

// Description returns the line that describes an external agent where agents are chosen.
func Description(a configs.Agent) string {
	program := ""
	if len(a.ACP.Command) > 0 {
		program = filepath.Base(a.ACP.Command[0].String())
	}
	return cmp.Or(a.Description, "External agent ("+program+")")
}
