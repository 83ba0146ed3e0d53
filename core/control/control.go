// Package control holds the actions that a person can request on what is configured: on MCP servers
// (start, stop, add, change, remove, log in), and on the accounts of models' providers (log in, log
// out). Profiles carry both (core.Profile), and core passes them on without looking at them.
package control

import (
	"context"

	"dragoman/core"
)

// Servers are the MCP servers of the user's own configuration.
type Servers interface {
	core.Servers
	// Do carries out an action on a server for a client, which must have the role Decide.
	// roots are the workspace in which the server starts. It blocks on the disk, and on the
	// person in a login. The board shows the new state of the server. An error is for the user.
	Do(ctx context.Context, by core.Client, roots []string, server string, what Action) error
	// Warm starts the servers that need no consent for a client that has just come, so that
	// their tools, prompts and resources are known early. It waits for none: the channel is
	// closed when each runs or has failed; nil: nothing is being started.
	Warm(by core.Client, roots []string) <-chan struct{}
	// Moved tells the servers that run that the folders of their sessions (core.Client.Folders) may
	// have changed. It waits for none.
	Moved()
}

// Of returns the servers of a profile; nil: they cannot be controlled here.
func Of(p *core.Profile) Servers {
	s, _ := p.Servers.(Servers)
	return s
}

// Action is an action on an MCP server.
//
//sumtype:decl
type Action interface{ action() }

// Start starts it, and Stop ends it until it is started again. Neither changes the configuration.
type Start struct{}

// Stop is the opposite of Start.
type Stop struct{}

// Enable allows its use again, and starts it. Disable ends it, and it is not used any more.
type Enable struct{}

// Disable is the opposite of Enable.
type Disable struct{}

// Add adds a server to the configuration, and starts it.
type Add struct {
	Spec core.ServerSpec // without its name
	// Disabled adds it without starting it.
	Disabled bool
	// ClientID and ClientSecret identify a client that is registered with the server's
	// authority for logins. Port is that of its redirect address.
	ClientID, ClientSecret string
	Port                   int
}

// Change changes the program or the address, and starts the server again. Empty fields stay
// unchanged, unless a program becomes an address or an address a program.
type Change struct {
	Command string
	Args    []string // nil: unchanged
	URL     string
}

// Remove removes it from the configuration, and forgets its login.
type Remove struct{}

// Login logs in to it, and starts it.
type Login struct {
	// Show shows the user an address to open in a browser. It must not block.
	Show func(address string)
}

// Logout forgets the login.
type Logout struct{}

func (Start) action()   {}
func (Stop) action()    {}
func (Enable) action()  {}
func (Disable) action() {}
func (Add) action()     {}
func (Change) action()  {}
func (Remove) action()  {}
func (Login) action()   {}
func (Logout) action()  {}
