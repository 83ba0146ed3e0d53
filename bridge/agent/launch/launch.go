// Package launch starts the programs of agents behind the gateway, whatever protocol they speak: their
// environment, the guard or the sandbox that they run in, a place among the programs that run at once
// (Pool), the delay after a failure (Attempts), and the wait for the program that a dead process had
// started for the same session (Locks).
package launch

import (
	"context"
	"os"
	"slices"
	"time"

	"dragoman/bridge/agent/elsewhere"
	"dragoman/bridge/agent/known"
	"dragoman/bridge/agent/signin"
	"dragoman/bridge/toolserver"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/child/piped"
	"dragoman/core/display"
	"dragoman/core/shell"
)

// Program is the program of an agent as it is started.
type Program struct {
	Path string // a name to look up in PATH, or an absolute path
	Args []string
	Env  map[string]string // the configured variables
	// Hide removes the values of secrets from a text; nil: there are none.
	Hide func(string) string
}

// Options configure the back end of one agent. Name, Program, Pool and Guards must be set.
type Options struct {
	Name string
	// Program is called before each start. It may run programs that print secrets, and ask the session's
	// host (nil: there is no session) whether the program may be started.
	Program func(context.Context, core.Host) (Program, error)
	Known   known.Agent       // what is known about the agent (known.Of)
	Choices map[string]string // configured values of the agent's own options, by id
	Paths   map[string]string // folders here and where the agent runs; nil: the same
	// Direct passes the MCP servers that clients bring along on to the agent, instead of our own
	// server with all of the session's tools.
	Direct bool
	// Idle is the time after which a program that is not used ends; 0: it does not.
	Idle time.Duration
	// Shared has sessions with the same folder share a program.
	Shared  bool
	Version string // ours
	Pool    *Pool
	History *elsewhere.History // keeps the agent's list of sessions; nil: nothing does
	Tools   *toolserver.Pool   // serves the session's tools to the agent; nil: nothing does
	Notes   *signin.Notes      // keep how to sign in; nil: nothing does
	Guards  *child.Guards      // of sessions, by principal and id
	Locks   *Locks             // of sessions, which other processes may continue; nil: none can
	// Sandbox holds the sandbox in which a session's terminals run, of which the host is asked what
	// they may reach; nil: they run as the user.
	Sandbox func(core.Meta, core.Host) (s Sandbox, release func())
	// Confine makes a sandbox for the program itself, which works in the folders of a session and asks
	// its host what it may reach (nil: nobody is asked); nil: it runs as the user.
	Confine func(core.Meta, core.Host) (Confined, error)
	Keep    []string        // variables that the agent's terminals get besides the harmless ones
	Environ func() []string // nil: os.Environ
	Log     func(level, text string)
	Now     func() time.Time // nil: time.Now
}

// Confined holds the guard that starts an agent's program, and what the program needs to work in a sandbox.
type Confined struct {
	Guard   *child.Guard
	Release func()   // ends the sandbox
	Args    []string // that the program gets in addition
	// Tools is HOST:PORT at which the program reaches Options.Tools; "": as it does without a sandbox.
	Tools string
}

// Sandbox starts commands, and says how far they are confined. Notes returns what has happened to them
// that they do not know, such as connections that were refused, and forgets it.
type Sandbox interface {
	shell.Starter
	Level() child.Level
	Notes() []string
}

// Time returns the current time.
func (o Options) Time() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// Say logs a text.
func (o Options) Say(level, text string) {
	if o.Log != nil {
		o.Log(level, text)
	}
}

// Env returns the environment of the program: the part of ours that every program gets, the
// variables by which this agent finds its credentials and settings, and the configured ones.
func (o Options) Env(given map[string]string) []string {
	ours := os.Environ
	if o.Environ != nil {
		ours = o.Environ
	}
	env := piped.Env(ours(), slices.Concat(known.Common, o.Known.Env), given)
	kept := env[:0]
	for _, kv := range env {
		if !child.Named(known.Barred, nameOf(kv)) {
			kept = append(kept, kv)
		}
	}
	return kept
}

func nameOf(kv string) string {
	for i := range len(kv) {
		if kv[i] == '=' {
			return kv[:i]
		}
	}
	return kv
}

// Confined returns a sandbox for the program of a session, or else a guard that is held.
func (o Options) Confined(m core.Meta, h core.Host, hold func() (*child.Guard, func())) (Confined, error) {
	if o.Confine != nil {
		return o.Confine(m, h)
	}
	g, release := hold()
	return Confined{Guard: g, Release: release}, nil
}

// Process is the program of an agent that was started.
type Process struct {
	*piped.Process
	Env  []string            // its environment
	Hide func(string) string // as in Program
}

// Start starts the agent's program in a folder. line gets what it prints to its standard error, without secrets
// and for people.
func (o Options) Start(is Program, dir string, in Confined, line func(string)) (*Process, error) {
	env := o.Env(is.Env)
	proc, err := piped.Command{
		Path: is.Path, Args: slices.Concat(is.Args, in.Args), Env: env, Dir: dir, Guard: in.Guard, Hide: is.Hide,
		Line: func(text string) {
			if is.Hide != nil {
				text = is.Hide(text)
			}
			text = display.Plain(text)
			o.Say("info", text)
			line(text)
		},
	}.Start()
	if err != nil {
		return nil, err
	}
	return &Process{Process: proc, Env: env, Hide: is.Hide}, nil
}
