package servers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/bridge/login"
	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/confine"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/configs"
)

// Store is the MCP servers of the user's configuration, and the data about them in the data
// folder. It reads nothing before it is needed.
type Store struct {
	env     *program.Environment
	secrets *secrets.Store
}

// New returns the servers of an environment's configuration.
func New(env *program.Environment, kept *secrets.Store) *Store { return &Store{env, kept} }

const (
	pinFile    = "mcp-tools.json"
	agreedFile = "mcp-agreed.json"
	lateFile   = "mcp-late.json"
)

// PinFile returns the file that stores the first descriptions of servers' tools; empty: none
// does.
func (s *Store) PinFile() string { return s.env.DataFile(pinFile) }

// AgreedFile returns the file that stores the programs of clients that may always be started;
// empty: none does.
func (s *Store) AgreedFile() string { return s.env.DataFile(agreedFile) }

var _ login.Store = secrets.ServerLogins{}

// tokens returns the bridge's store of logins; nil: none.
func (s *Store) tokens() login.Store {
	if kept, ok := s.secrets.ServerLogins(); ok {
		return kept
	}
	return nil
}

// options returns the options of a box with the servers of a configuration; pinned compares tools
// with their first descriptions.
func (s *Store) options(c *configs.Config, pinned bool) upstream.Options {
	o := s.Options()
	places := confine.New(s.env)
	o.Servers = Of(c, nil, s.env.Lookup, secrets.NewPrograms().Run, func(name string) upstream.Confine { return places.Server(c, name, nil) })
	if !pinned {
		o.PinFile = ""
	}
	return o
}

// Options returns the options of a box without servers.
func (s *Store) Options() upstream.Options {
	return upstream.Options{
		Environ: s.env.Environ(),
		Version: s.env.Version,
		PinFile: s.PinFile(),
		// A server that has never answered is not waited for by each client.
		LateFile: s.env.DataFile(lateFile),
		Tokens:   s.tokens(),
	}
}

// Edit changes mcp.json, and returns its path.
func (s *Store) Edit(ctx context.Context, edits ...configs.Edit) (path string, err error) {
	if s.env.ServersFile() == "" {
		return "", program.ErrNoConfigPlace
	}
	return configs.EditServers(ctx, configs.Options{Path: s.env.Flags.Config, Env: s.env.Lookup}, edits...)
}

// Names lists the servers of the configuration; none if it has an error.
func (s *Store) Names() map[string]configs.MCPServer {
	c, err := s.env.LoadConfig(nil)
	if err != nil {
		return nil
	}
	all := map[string]configs.MCPServer{}
	for _, name := range c.ServerNames() {
		all[name], _ = c.Server(name)
	}
	return all
}

// listed reports whether mcp.json contains a server.
func (s *Store) listed(name string) bool {
	c, err := s.env.LoadConfig(nil)
	return err == nil && c.ServersFile != "" && c.ServerAt(name).File == c.ServersFile
}

// Find returns a server of the configuration, and the configuration. The error suggests a similar
// name.
func (s *Store) Find(name string) (*configs.Config, configs.MCPServer, error) {
	c, err := s.env.LoadConfig(nil)
	if err != nil {
		return nil, configs.MCPServer{}, program.ConfigError(err)
	}
	is, ok := c.MCPServers[name]
	if ok {
		return c, is, nil
	}
	if wrong, listed := c.Unusable[name]; listed {
		return nil, is, fmt.Errorf("the MCP server %s cannot be used:\n%w", name, wrong.Err)
	}
	names := slices.Sorted(maps.Keys(c.MCPServers))
	more := "; the configuration has none"
	if len(names) > 0 {
		more = cmp.Or(configs.DidYouMean(name, names), "; there are "+strings.Join(names, ", "))
	}
	return nil, configs.MCPServer{}, fmt.Errorf("there is no MCP server %q%s", name, more)
}
