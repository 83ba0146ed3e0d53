package program

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"dragoman/configs"
	"dragoman/core/jsonl"
)

// Environment is the input of one run of the program from the system and the command line.
type Environment struct {
	Version string // of the program
	Lookup  configs.Env
	In      *os.File
	Out     io.Writer // for the protocol, or the requested output of a command
	Err     io.Writer
	Browse  func(address string) error // opens a browser; nil: none

	Flags Flags // filled in after the command line is read
}

// Flags are the flags of every command. Empty: not given.
type Flags struct {
	Config   string // the configuration file
	DataDir  string // the folder that stores sessions
	LogLevel string
	LogFile  string
	Pprof    string // where a command that serves clients serves profiles of itself: unix:PATH
}

// Getenv returns a variable of the environment; empty: unset.
func (e *Environment) Getenv(name string) string {
	v, _ := e.Lookup(name)
	return v
}

// Home returns the user's home folder; empty: the environment does not name it.
func (e *Environment) Home() string { return Home(e.Lookup) }

// Home returns the home folder that an environment names; empty: none.
func Home(env configs.Env) string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	home, _ := env(name)
	return home
}

// ConfigFile returns the path of the configuration. The file need not exist. Empty: the
// environment names no place for it.
func (e *Environment) ConfigFile() string {
	return cmp.Or(e.Flags.Config, configs.UserFile(e.Lookup))
}

// ConfigPlace returns the absolute path of the configuration, which tells processes with different ones
// apart.
func (e *Environment) ConfigPlace() string {
	path := e.ConfigFile()
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// ServersFile returns the path of mcp.json, in which the program stores MCP servers. The file
// need not exist. Empty: the environment names no place for it.
func (e *Environment) ServersFile() string { return configs.ServersFile(e.Flags.Config, e.Lookup) }

// AgentsFile returns the path of agents.json, in which the program stores agents. The file need not
// exist. Empty: the environment names no place for it.
func (e *Environment) AgentsFile() string { return configs.AgentsFile(e.Flags.Config, e.Lookup) }

// AnswersFile returns the path of policy.json, in which answers are kept that people gave for good.
// The file need not exist. Empty: the environment names no place for it.
func (e *Environment) AnswersFile() string { return configs.AnswersFile(e.Flags.Config, e.Lookup) }

// ErrNoConfigPlace means that there is no home folder, and no flag.
var ErrNoConfigPlace = errors.New(
	"HOME is not set, so the configuration file has no default path; name one with --config",
)

// LoadConfig reads the configuration, over the editor's settings (nil: none). With an error it
// returns the defaults as well.
func (e *Environment) LoadConfig(editor *configs.Config) (*configs.Config, error) {
	return configs.Load(configs.Options{Path: e.Flags.Config, Env: e.Lookup, Editor: editor})
}

// ConfigError marks an error as one of the configuration, for a command that needs it.
func ConfigError(err error) error { return fmt.Errorf("the configuration is wrong:\n%w", err) }

// DataDir returns the absolute path of the folder that stores sessions, which need not exist.
func (e *Environment) DataDir() (string, error) {
	dir := cmp.Or(e.Flags.DataDir, e.Getenv("DRAGOMAN_DATA"), jsonl.DefaultDir(e.Getenv))
	if dir == "" {
		return "", errors.New(
			"no folder for sessions: neither XDG_STATE_HOME nor HOME is set; choose one with --data-dir",
		)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data folder %s: %w", dir, err)
	}
	return abs, nil
}

// AgentsDir returns the absolute path of the folder with the installed agents, which need not exist;
// empty: the environment names no place for it. It is not in the usual data folder, which programs in a
// sandbox do not see: agents may run in one.
func (e *Environment) AgentsDir() string {
	if data, err := e.DataDir(); err == nil && (e.Flags.DataDir != "" || e.Getenv("DRAGOMAN_DATA") != "") {
		return filepath.Join(data, "agents")
	}
	base := e.Getenv("XDG_DATA_HOME")
	switch {
	case filepath.IsAbs(base):
	case runtime.GOOS == "windows":
		base = e.Getenv("LocalAppData")
	case e.Home() != "":
		base = filepath.Join(e.Home(), ".local", "share")
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "dragoman", "agents")
}

// OtherData is the advice for a data folder that cannot be used.
const OtherData = "name another folder with --data-dir or DRAGOMAN_DATA"

// DataFile returns the path of a file in the data folder; empty: there is no such folder, and
// nothing is stored.
func (e *Environment) DataFile(name string) string {
	dir, err := e.DataDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, name)
}
