package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/servers"
	"dragoman/cmd/internal/setup"
)

// app is one run of the command line.
type app struct {
	*program.Environment
	args    []string
	secrets *secrets.Store
	servers *servers.Store

	started bool // a command has started: later errors are not mistakes in the command line
}

// newApp prepares a run in an environment. ring is the system's keyring; nil: none.
func newApp(env *program.Environment, ring secrets.Ring, args ...string) *app {
	kept := secrets.New(env, ring)
	return &app{Environment: env, args: args, secrets: kept, servers: servers.New(env, kept)}
}

// run executes the command line and returns the exit code.
func (a *app) run(ctx context.Context) int {
	root := a.root(a.args...)
	root.SetArgs(a.args)
	cmd, err := root.ExecuteContextC(ctx)
	var code program.ExitError
	var usage program.UsageError
	switch {
	case err == nil:
		return program.ExitOK
	case errors.Is(err, program.ErrReported):
		return program.ExitFailed
	case errors.As(err, &code):
		return int(code)
	case unread(err):
		return program.ExitUnread
	case a.started && !errors.As(err, &usage):
		fmt.Fprintf(a.Err, "dragoman: %v\n", err)
		return program.ExitFailed
	}
	fmt.Fprintf(a.Err, "dragoman: %v\nTry \"%s --help\".\n", err, cmp.Or(cmd, root).CommandPath())
	return program.ExitUsage
}

// unread reports whether nobody reads standard output any more, as after "| head": no failure to report.
func unread(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Path == os.Stdout.Name() && wire.PeerLeft(err)
}

// profiled returns the options of the profiles.
func (a *app) profiled() setup.Options {
	return setup.Options{Env: a.Environment, Secrets: a.secrets, Servers: a.servers}
}

// profiledFor is profiled with another default agent; empty: the configuration's.
func (a *app) profiledFor(agent string) setup.Options {
	o := a.profiled()
	o.Agent = agent
	return o
}

// servingFlags adds the flags of every command that serves clients.
func (a *app) servingFlags(cmd *cobra.Command, agent *string) {
	agentFlag(cmd, agent)
	cmd.Flags().StringVar(&a.Flags.Pprof, "pprof", "", "serve profiles of this process for go tool pprof at `unix:PATH`, a socket that only you can connect to (default: off)")
}

// agentFlag adds the flag --agent.
func agentFlag(cmd *cobra.Command, agent *string) {
	cmd.Flags().StringVar(agent, "agent", "", "the `AGENT` of sessions for which nobody chooses one (default: default_agent of the configuration, else code)")
}
