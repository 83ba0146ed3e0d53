package configs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// fileName is the configuration's name in the user's directory and in a workspace's .dragoman.
const fileName = "config.yaml"

// Options determine the places of the configuration.
type Options struct {
	// Path is a file that must exist (the --config flag). Empty: the user's file, which is
	// optional.
	Path string
	// Env is the environment, os.LookupEnv.
	Env Env
	// ConfigDir replaces the user's configuration directory, the folder of config.yaml. Empty:
	// the one of the environment.
	ConfigDir string
	// Editor has the options of the editor, the lowest layer; nil: none.
	Editor *Config
}

// Load reads the configuration: the user's file and its mcp.json and agents.json (ServersFile,
// AgentsFile). Without them it returns the defaults. With an error, which is an *Error with every
// problem of the files, it returns the defaults as well, so that the program can continue and report
// it. A mistake in an entry of mcp.json or agents.json is not an error but a warning, and the entry
// is Unusable. References are not looked up.
func Load(o Options) (*Config, error) {
	path, required := o.Path, o.Path != ""
	if !required {
		path = userFile(o.ConfigDir, o.Env)
	}
	user, problems := readLayer(path)
	servers, more := serverFile().load(o)
	agents, most := agentFile().load(o)
	problems = slices.Concat(problems, more, most)
	switch {
	case user != nil:
	case required && servers == nil && agents == nil:
		problems = append(problems, Problem{Position: Position{File: path}, Message: "no such file"})
	case required || path == "":
		user = &Config{}
	default:
		user = &Config{noted: otherNames(path)}
	}
	if user != nil {
		user.Unusable, user.UnusableAgents = map[string]UnusableServer{}, map[string]UnusableAgent{}
		if servers != nil {
			servers.lay(user)
			user.disabled = servers.disabled
		}
		if agents != nil {
			agents.lay(user)
		}
		if user.Source == "" && servers == nil && agents == nil && o.Editor == nil && len(problems) == 0 { // there is no layer at all
			c := Defaults()
			c.noted, c.Warnings = user.noted, user.noted
			return c, nil
		}
		c, err := resolveWith(o.Editor, user)
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

// beside returns the path of a file next to the user's configuration; empty: the environment names no
// place for it.
func (o Options) beside(file string) string {
	own := userFile(o.ConfigDir, o.Env)
	switch {
	case o.Path == "" && own == "":
		return ""
	case o.Path == "" || own != "" && filepath.Clean(o.Path) == own:
		return filepath.Join(filepath.Dir(own), file)
	}
	name := o.Path
	switch ext := filepath.Ext(name); ext {
	case ".yaml", ".yml", ".json":
		name = strings.TrimSuffix(name, ext)
	}
	return name + "." + file
}

// ServersFile returns the path of the file for MCP servers, which need not exist: mcp.json in
// the folder of the user's configuration file; with a path (the --config flag), say
// DIR/NAME.yaml, it is DIR/NAME.mcp.json, so that no repository's mcp.json is read. It is empty
// if HOME is not set.
func ServersFile(path string, env Env) string {
	return Options{Path: path, Env: env}.beside(serverFile().file)
}

// AgentsFile returns the path of the file for agents that commands have added: agents.json, named and
// placed as ServersFile. It is empty if HOME is not set.
func AgentsFile(path string, env Env) string {
	return Options{Path: path, Env: env}.beside(agentFile().file)
}

// AnswersFile returns the path of the file for answers that are kept for good, which need not
// exist: policy.json, named and placed as ServersFile. It is empty if HOME is not set.
func AnswersFile(path string, env Env) string {
	return Options{Path: path, Env: env}.beside("policy.json")
}

// load reads the file that belongs to a configuration. It returns nil if there is none.
func (f *listing[T]) load(o Options) (*entryList[T], []Problem) {
	path := o.beside(f.file)
	if path == "" {
		return nil, nil
	}
	unread := func(err error) []Problem {
		return []Problem{{Position: Position{File: path}, Message: "cannot be read: " + err.Error()}}
	}
	data, info, err := readWhole(path)
	if err != nil {
		return nil, unread(err)
	}
	if info == nil {
		return nil, nil
	}
	l, problem := f.parse(path, data)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	l.open = canOthersRead(info)
	return l, nil
}

// readWhole reads an optional file; info is nil if it does not exist.
func readWhole(path string) (data []byte, info fs.FileInfo, err error) {
	info, err = os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil, nil
	case err != nil:
		return nil, nil, reason(err)
	case !info.Mode().IsRegular(): // opening a pipe could block for ever
		return nil, nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, reason(err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	return data, info, reason(err)
}

// reason returns an error without the path of the file.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// canOthersRead reports whether other users can read a file.
func canOthersRead(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0
}

// readLayer reads a file. It returns no layer if there is no file.
func readLayer(path string) (*Config, []Problem) {
	if path == "" {
		return nil, nil
	}
	failed := func(err error) (*Config, []Problem) {
		unread := Problem{
			Position: Position{File: path},
			Message:  "cannot be read: " + reason(err).Error(),
		}
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
	if canOthersRead(info) {
		c.shared = map[string]bool{path: true}
	}
	return c, problems
}

// UserFile returns the path of the user's configuration file, which need not exist:
// dragoman/config.yaml in $XDG_CONFIG_HOME, else in the platform's own directory ($HOME/.config,
// ~/Library/Application Support, %AppData%). It is empty if the environment names neither.
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

// configHome is os.UserConfigDir with $XDG_CONFIG_HOME on every platform, for a given
// environment.
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

// WorkspaceFile returns the path of a workspace's configuration file and whether it exists. Only
// callers that know that the workspace is trusted may read it: Parse, then Resolve.
func WorkspaceFile(root string) (path string, exists bool) {
	path = filepath.Join(root, ".dragoman", fileName)
	_, err := os.Lstat(path)
	return path, err == nil
}

// otherNames warns of files whose names are most likely misspellings of the missing one.
func otherNames(path string) []Problem {
	var warnings []Problem
	for _, name := range []string{"config.yml", "config.json"} {
		other := filepath.Join(filepath.Dir(path), name)
		if _, err := os.Lstat(other); err == nil {
			warnings = append(
				warnings,
				Problem{
					Position: Position{File: other},
					Message:  "is not read; the configuration is " + path,
				},
			)
		}
	}
	return warnings
}
