// Package signin describes how users sign in to agents behind the gateway, whatever protocol an agent
// speaks.
package signin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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

// Find finds a way to sign in; the empty id is the first.
func Find(list []Method, id string) (Method, error) {
	if len(list) == 0 {
		return Method{}, errors.New("it offers no way to sign in; it may need none, or a key in its environment")
	}
	if id == "" {
		return list[0], nil
	}
	i := slices.IndexFunc(list, func(m Method) bool { return m.ID == id })
	if i < 0 {
		var ids []string
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		return Method{}, &NoMethodError{ID: id, Has: ids}
	}
	return list[i], nil
}

// LoginTerminal is the terminal of a login. In must be a file of the process, so that the agent's
// program can ask there, and so should the others be.
type LoginTerminal struct {
	In       *os.File
	Out, Err io.Writer
	// Input asks for a text, which is not shown if it is secret.
	Input func(label string, secret bool) (string, error)
	// Choose asks which of several ways to take.
	Choose func([]Method) (Method, error)
	// Hear gets what the agent says during a login that it carries out itself.
	Hear Listener
}
