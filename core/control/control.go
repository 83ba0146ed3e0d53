// Package control holds the actions that a person can request on what is configured: on MCP servers
// (start, stop, add, change, remove, log in), and on the accounts of models' providers (log in, log
// out). Profiles carry both (core.Profile), and core passes them on without looking at them.
package control

import (
	"context"

	"dragoman/core"
)

// Servers are the MCP servers of the user's own configuration, for whoever sees to
// them.
type Servers interface {
	core.Servers
	// Do does something with a server for a client, which must be one that decides.
	// roots are the workspace in which a server starts. It blocks on the disk, and on a
	// person where one logs in. The board tells what becomes of the server. An error is
	// for the user.
	Do(ctx context.Context, by core.Client, roots []string, server string, what Action) error
}

// Of returns the servers of a profile; nil: nobody can do anything with them.
func Of(p *core.Profile) Servers {
	s, _ := p.Servers.(Servers)
	return s
}

// Action is what can be done with an MCP server.
//
//sumtype:decl
type Action interface{ action() }

// Start has it run, and Stop ends it until it is started again. Neither
// changes the configuration.
type Start struct{}

// Stop is the opposite of Start.
type Stop struct{}

// Enable has it used again, and starts it; Disable has it left alone.
type Enable struct{}

// Disable is the opposite of Enable.
type Disable struct{}

// Add puts a new one into the configuration, and starts it.
type Add struct {
	Spec core.ServerSpec // without its name
	// Disabled: it is only put there.
	Disabled bool
	// ClientID, ClientSecret and Port are of a client that is registered with whoever
	// gives logins to the server, and of its redirect address.
	ClientID, ClientSecret string
	Port                   int
}

// Change changes where it is, and starts it anew. What is empty stays, unless a
// program becomes an address or an address a program.
type Change struct {
	Command string
	Args    []string // nil: they stay
	URL     string
}

// Remove takes it out of the configuration, and forgets a login.
type Remove struct{}

// Login logs in to it, and starts it.
type Login struct {
	// Show tells the user of an address to be opened in a browser. It must not block.
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
