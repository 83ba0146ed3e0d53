package core

import "context"

// Servers are the MCP servers of the user's own configuration, for whoever sees to
// them.
type Servers interface {
	// Do does something with a server for a client, which must be one that decides.
	// roots are the workspace in which a server starts. It blocks on the disk, and on a
	// person where one logs in. The board tells what becomes of the server. An error is
	// for the user.
	Do(ctx context.Context, by Client, roots []string, server string, what ServerAction) error
}

// ServerAction is what can be done with an MCP server.
//
//sumtype:decl
type ServerAction interface{ serverAction() }

// StartServer has it run, and StopServer ends it until it is started again. Neither
// changes the configuration.
type StartServer struct{}

// StopServer is the opposite of StartServer.
type StopServer struct{}

// EnableServer has it used again, and starts it; DisableServer has it left alone.
type EnableServer struct{}

// DisableServer is the opposite of EnableServer.
type DisableServer struct{}

// AddServer puts a new one into the configuration, and starts it.
type AddServer struct {
	Spec ServerSpec // without its name
	// Disabled: it is only put there.
	Disabled bool
	// ClientID, ClientSecret and Port are of a client that is registered with whoever
	// gives logins to the server, and of its redirect address.
	ClientID, ClientSecret string
	Port                   int
}

// ChangeServer changes where it is, and starts it anew. What is empty stays, unless a
// program becomes an address or an address a program.
type ChangeServer struct {
	Command string
	Args    []string // nil: they stay
	URL     string
}

// RemoveServer takes it out of the configuration, and forgets a login.
type RemoveServer struct{}

// LoginServer logs in to it, and starts it.
type LoginServer struct {
	// Show tells the user of an address to be opened in a browser. It must not block.
	Show func(address string)
}

// LogoutServer forgets the login.
type LogoutServer struct{}

func (StartServer) serverAction()   {}
func (StopServer) serverAction()    {}
func (EnableServer) serverAction()  {}
func (DisableServer) serverAction() {}
func (AddServer) serverAction()     {}
func (ChangeServer) serverAction()  {}
func (RemoveServer) serverAction()  {}
func (LoginServer) serverAction()   {}
func (LogoutServer) serverAction()  {}
