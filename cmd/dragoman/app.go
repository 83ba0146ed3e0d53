package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"dragoman/configs"
	"dragoman/core/jsonl"
)

// app is one run of the program: what the system gives it, and the flags that
// every command has.
type app struct {
	env  configs.Env
	in   *os.File
	out  io.Writer
	errs io.Writer
	args []string

	browse    func(address string) error // opens a browser; nil: there is none
	ring      ring                       // the system's keyring; nil: keys are kept as they are
	vaultOnce sync.Once
	vault     *vault // of the data folder; see vaultIn

	flags   globals
	started bool // a command has begun: what fails now is no mistake in the command line
	// ownInterrupt: the command makes something of SIGINT itself.
	ownInterrupt bool
}

// globals are the flags of every command. Empty: not given.
type globals struct {
	config   string
	dataDir  string
	logLevel string
	logFile  string
}

// Exit codes. What a second signal ends has 128 and the signal's number.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// quietError fails a command that has said already what is wrong.
type quietError struct{}

func (quietError) Error() string { return "failed" }

// exitError ends the program with a code of its own, in silence.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run executes the command line and returns the exit code.
func (a *app) run(ctx context.Context) int {
	root := a.root()
	root.SetArgs(a.args)
	cmd, err := root.ExecuteContextC(ctx)
	var quiet quietError
	var code exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &quiet):
		return exitFailed
	case errors.As(err, &code):
		return int(code)
	case a.started:
		fmt.Fprintf(a.errs, "dragoman: %v\n", err)
		return exitFailed
	}
	fmt.Fprintf(a.errs, "dragoman: %v\nTry \"%s --help\".\n", err, cmp.Or(cmd, root).CommandPath())
	return exitUsage
}

// getenv is os.Getenv of the app's environment.
func (a *app) getenv(name string) string {
	v, _ := a.env(name)
	return v
}

// configFile is the file that the configuration is read from; it need not exist.
func (a *app) configFile() string { return cmp.Or(a.flags.config, configs.UserFile(a.env)) }

// loadConfig reads the configuration, over what the editor set (nil: nothing).
// With an error it returns the defaults as well.
func (a *app) loadConfig(editor *configs.Config) (*configs.Config, error) {
	return configs.Load(configs.Options{Path: a.flags.config, Env: a.env, Editor: editor})
}

// dataDir is where sessions are kept.
func (a *app) dataDir() (string, error) {
	dir := cmp.Or(a.flags.dataDir, a.getenv("DRAGOMAN_DATA"), jsonl.DefaultDir(a.getenv))
	if dir == "" {
		return "", errors.New("no folder for sessions: neither XDG_STATE_HOME nor a home folder is known; give one with --data-dir")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data folder %s: %w", dir, err)
	}
	return abs, nil
}

// homeOf is the user's home folder; empty if the environment does not tell.
func homeOf(env configs.Env) string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	home, _ := env(name)
	return home
}
