package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core/display"
)

// Addition describes a server to add according to the command line, without its name and its
// command.
type Addition struct {
	Env, Headers               []string // NAME=VALUE
	EnvFiles                   []string // of variables; later ones win, and Env wins over all
	Dir, URL, Transport, Start string
	Tools, WithoutTools        []string // the tools that are offered, and those that are not
	StartTimeout, CallTimeout  string   // durations
	Replace                    bool     // an entry of the same name
}

// Add writes an entry and prints warnings about it.
func (s *Store) Add(ctx context.Context, name string, command []string, n Addition) error {
	is, err := n.entry(command)
	if err != nil {
		return program.UsageError{Err: err}
	}
	edit := configs.AddServer
	if n.Replace {
		edit = configs.PutServer
	}
	path, err := s.Edit(ctx, edit(name, is))
	if err != nil {
		if !n.Replace && s.listed(name) {
			err = fmt.Errorf("%w; --replace changes it, \"dragoman mcp-servers remove %s\" removes it", err, name)
		}
		return err
	}
	fmt.Fprintf(s.env.Out, "wrote the MCP server %s to %s\n\"dragoman mcp-servers list\" tries it.\n", name, path)
	s.Warn(name, is)
	return nil
}

// entry returns the server that the command line describes.
func (n Addition) entry(command []string) (is configs.MCPServer, err error) {
	switch {
	case n.URL == "" && len(command) == 0:
		return is, errors.New(
			"the server needs a command or an address: add NAME -- COMMAND, or add NAME --url URL",
		)
	case n.URL != "" && len(command) > 0:
		return is, errors.New("a server is either a program or a URL: leave one of them out")
	case n.URL != "" && (len(n.Env) > 0 || len(n.EnvFiles) > 0 || n.Dir != ""):
		return is, errors.New("--env, --env-file and --dir belong to a program; a URL takes --header")
	case n.URL == "" && (len(n.Headers) > 0 || n.Transport != ""):
		return is, errors.New("--header and --transport belong to a URL; a program takes --env")
	}
	is.URL, is.Transport, is.Start = configs.NewURL(n.URL), n.Transport, n.Start
	if len(command) > 0 {
		program, err := ownPath(command[0])
		if err != nil {
			return is, err
		}
		is.Command = configs.NewValue(program)
		for _, arg := range command[1:] {
			is.Args = append(is.Args, configs.NewValue(arg))
		}
	}
	if n.Dir != "" {
		dir, err := absolute(n.Dir)
		if err != nil {
			return is, err
		}
		is.Dir = configs.NewValue(dir)
	}
	if is.Env, err = n.variables(); err != nil {
		return is, err
	}
	if is.Headers, err = pairs("--header", n.Headers); err != nil {
		return is, err
	}
	return is, n.limits(&is)
}

// variables returns the program's environment.
func (n Addition) variables() (map[string]configs.Secret, error) {
	all := map[string]configs.Secret{}
	for _, path := range n.EnvFiles {
		file, err := readEnvFile(path)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, file)
	}
	given, err := pairs("--env", n.Env)
	maps.Copy(all, given)
	return all, err
}

// limits sets the tools that are offered, and how long the server may take.
func (n Addition) limits(is *configs.MCPServer) (err error) {
	for flag, list := range map[string][]string{"--tool": n.Tools, "--without-tool": n.WithoutTools} {
		if slices.Contains(list, "") {
			return fmt.Errorf("%s takes the name of a tool, and got an empty one", flag)
		}
	}
	is.Tools, is.WithoutTools = n.Tools, n.WithoutTools
	if is.StartTimeout, err = duration("--start-timeout", n.StartTimeout); err != nil {
		return err
	}
	is.CallTimeout, err = duration("--call-timeout", n.CallTimeout)
	return err
}

// duration reads the value of a flag; empty: it was not given.
func duration(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return 0, fmt.Errorf("%s takes a duration of at least 1s, such as 90s or 5m, and got %q", flag, display.Line(text, 40))
	}
	return d, nil
}

// ownPath makes the path of a program absolute from here: in a session's folder a relative path
// could mean another program, which the user has not chosen.
func ownPath(program string) (string, error) {
	if !strings.ContainsAny(program, `/\`) {
		return program, nil // it is looked up in PATH
	}
	return absolute(program)
}

func absolute(path string) (string, error) {
	if strings.HasPrefix(path, "~/") || strings.Contains(path, "${") {
		return path, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	return abs, nil
}

// pairs reads texts of the form NAME=VALUE.
func pairs(flag string, list []string) (map[string]configs.Secret, error) {
	all := map[string]configs.Secret{}
	for _, kv := range list {
		name, value, ok := strings.Cut(kv, "=")
		switch _, twice := all[name]; {
		case !ok || name == "":
			return nil, fmt.Errorf(
				"%s takes NAME=VALUE, and %q has no name in front of a =",
				flag,
				display.Line(name, 40),
			)
		case twice:
			return nil, fmt.Errorf("%s %s is given twice", flag, name)
		}
		all[name] = configs.NewSecret(value)
	}
	return all, nil
}

// Warn prints warnings about an entry that was written.
func (s *Store) Warn(name string, is configs.MCPServer) {
	s.WarnOfSecrets(name, is)
	if command := is.Command.String(); command != "" && !strings.Contains(command, "${") &&
		!strings.HasPrefix(command, "~/") {
		if _, err := exec.LookPath(command); err != nil {
			s.warn("%s cannot be started now: %s", command, program.Reason(err))
		}
	}
	c, err := s.env.LoadConfig(nil)
	if err != nil {
		return // it was checked before
	}
	for _, w := range c.WarningsOf(name) {
		s.warn("%s", w)
	}
}

// WarnOfSecrets names the secrets of an entry that are written in plain text.
func (s *Store) WarnOfSecrets(name string, is configs.MCPServer) {
	for _, key := range is.PlainSecrets() {
		s.warn("%s of %s is written out in the file; a reference keeps it elsewhere: %s", key, name, referTo(key))
	}
}

// referTo shows a form for a secret that is not plain text.
func referTo(key string) string {
	kind, name, _ := strings.Cut(key, ".")
	switch {
	case kind == "env":
		return "${env:" + name + "}"
	case strings.EqualFold(name, "Authorization"):
		return "Bearer ${env:NAME}"
	}
	return "${env:NAME}"
}

func (s *Store) warn(format string, args ...any) {
	fmt.Fprintf(s.env.Err, "warning: %s\n", display.Printable(fmt.Sprintf(format, args...)))
}
