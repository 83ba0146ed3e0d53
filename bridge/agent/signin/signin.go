// Package signin describes how users sign in to agents behind the gateway, whatever protocol an agent
// speaks.
package signin

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// Method is a way to sign in to an agent.
type Method struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Terminal says that the agent's own program asks at a terminal.
	Terminal bool `json:"terminal,omitempty"`
	// Vars are variables of the environment with which the agent signs in by itself.
	Vars []string `json:"vars,omitempty"`

	Args []string          `json:"-"` // that the agent's program gets for it at a terminal
	Env  map[string]string `json:"-"`
}

// Saying is something that an agent says while somebody signs in.
type Saying struct {
	Text string
	URL  string // a page that the agent wants opened; "": there is none
}

// Listener gets what an agent says while somebody signs in. For a page it reports whether the user
// has been shown it; it may wait for that until ctx ends. Several goroutines may call it.
type Listener func(ctx context.Context, s Saying) (shown bool)

// NoMethodError says that an agent has no method of that id to sign in.
type NoMethodError struct {
	ID  string
	Has []string // its methods
}

func (e *NoMethodError) Error() string {
	return fmt.Sprintf("it has no method %q to sign in; it has %s", e.ID, strings.Join(e.Has, ", "))
}

// LoginTerminal is the terminal of a login. In must be a file of the process, so that the agent's
// program can ask there, and so should the others be.
type LoginTerminal struct {
	In       *os.File
	Out, Err io.Writer
	// Choose asks which of several ways to take.
	Choose func([]Method) (Method, error)
	// Hear gets what the agent says during a login that it carries out itself.
	Hear Listener
}
