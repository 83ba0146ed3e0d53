package configs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// fileName is the configuration's name in the user's directory and in a
// workspace's .dragoman.
const fileName = "config.yaml"

// Options say where the configuration is looked for.
type Options struct {
	// Path is a file that must exist (the --config flag). Empty: the user's
	// file, which need not.
	Path string
	// Env is the environment, os.LookupEnv.
	Env Env
	// ConfigDir replaces the user's configuration directory, the folder that
	// config.yaml is in. Empty: the one of the environment.
	ConfigDir string
	// Editor is what the editor set, the lowest layer; nil: nothing.
	Editor *Config
}

// Load reads the configuration. Without a file it returns the defaults. With
// an error, which is an *Error with every problem of the file, it returns the
// defaults as well, so that the program can go on and say what is wrong.
// References are not looked up.
func Load(o Options) (*Config, error) {
	path, required := o.Path, o.Path != ""
	if !required {
		if path = userFile(o.ConfigDir, o.Env); path == "" {
			return withoutFile(o.Editor, nil)
		}
	}
	layer, problems := readLayer(path)
	switch {
	case layer == nil && !required:
		return withoutFile(o.Editor, otherNames(path))
	case layer == nil:
		problems = []Problem{{Position: Position{File: path}, Message: "no such file"}}
	default:
		c, err := resolve(o.Editor, layer, nil, nil)
		var whole *Error
		if errors.As(err, &whole) {
			problems = append(problems, whole.Problems...)
		}
		if len(problems) == 0 {
			return c, nil
		}
	}
	c := Defaults()
	c.Source = path
	return c, asError(problems)
}

// withoutFile is what holds where there is no file.
func withoutFile(editor *Config, noted []Problem) (*Config, error) {
	if editor != nil {
		return resolve(editor, &Config{noted: noted}, nil, nil)
	}
	c := Defaults()
	c.noted, c.Warnings = noted, noted
	return c, nil
}

// readLayer reads a file. It returns no layer when there is no file.
func readLayer(path string) (*Config, []Problem) {
	failed := func(err error) (*Config, []Problem) {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		unread := Problem{Position: Position{File: path}, Message: "cannot be read: " + err.Error()}
		return &Config{Source: path}, []Problem{unread}
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return failed(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return failed(err)
	}
	if info.IsDir() {
		return failed(errors.New("it is a directory"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return failed(err)
	}
	c, problems := decodeFile(path, data, true)
	if runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		c.shared = map[string]bool{path: true}
	}
	return c, problems
}

// UserFile returns the path of the user's configuration file, which need not
// exist: dragoman/config.yaml in $XDG_CONFIG_HOME, else in the platform's own
// directory ($HOME/.config, ~/Library/Application Support, %AppData%). It is
// empty when the environment does not tell.
func UserFile(env Env) string { return userFile("", env) }

func userFile(dir string, env Env) string {
	if dir == "" {
		base := configHome(env)
		if base == "" {
			return ""
		}
		dir = filepath.Join(base, "dragoman")
	}
	return filepath.Join(dir, fileName)
}

// configHome is os.UserConfigDir with $XDG_CONFIG_HOME on every platform and
// with an environment that is handed in.
func configHome(env Env) string {
	if dir, _ := env.lookup("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if runtime.GOOS == "windows" {
		dir, _ := env.lookup("AppData")
		return dir
	}
	home, err := homeDir(env)
	switch {
	case err != nil:
		return ""
	case runtime.GOOS == "darwin" || runtime.GOOS == "ios":
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(home, ".config")
}

func homeDir(env Env) (string, error) {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home, _ := env.lookup(name); home != "" {
		return home, nil
	}
	return "", errors.New("the home directory is not known: " + name + " is not set")
}

// WorkspaceFile returns the path of a workspace's configuration file and
// whether there is one. Reading it is for those who know that the workspace is
// trusted: Parse, then Resolve.
func WorkspaceFile(root string) (path string, exists bool) {
	path = filepath.Join(root, ".dragoman", fileName)
	_, err := os.Lstat(path)
	return path, err == nil
}

// otherNames warns of files that were most likely meant to be the missing one.
func otherNames(path string) []Problem {
	var warnings []Problem
	for _, name := range []string{"config.yml", "config.json"} {
		other := filepath.Join(filepath.Dir(path), name)
		if _, err := os.Lstat(other); err == nil {
			warnings = append(
				warnings,
				Problem{Position: Position{File: other}, Message: "is not read; the configuration is " + path},
			)
		}
	}
	return warnings
}
