package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/secrets"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/llm"
)

// ClientOptions describe a connection.
type ClientOptions struct {
	Principal core.Principal // the one its clients act for
	// People is set if people write the prompts, rather than other agents.
	People bool
	// Quiet is set if the adapter itself shows the errors of the configuration.
	Quiet bool
	// Allow are allow rules of the user in addition to those of the configuration.
	Allow []configs.Rule
}

// Client is one connection: its overlay on the configuration, and its principal.
// It makes the profiles of the turns that are prompted over it (core.Profiles).
type Client struct {
	process   *Process
	name      string // as Topic.Layer: of the MCP servers that its client brings along
	principal core.Principal

	mu      sync.Mutex // guards the fields below
	layer   overlay
	options json.RawMessage // of the editor, as received last
	wider   *pendingOptions // the editor's settings that wait for the user; nil: none
	in      *edition        // of the layer; nil: no profile was requested yet
	left    bool
}

var _ core.Profiles = (*Client)(nil)

// overlay is a connection's layer on the configuration, with everything else that its profiles
// depend on.
type overlay struct {
	editor *configs.Config // nil: nothing
	// text is the editor's options as received, and servers those of its MCP servers, in a
	// canonical form. They contain secrets.
	text, servers string
	routes        map[string]route // addresses of providers
	people, quiet bool
	allow         []configs.Rule // in addition to those of the configuration
	lends         llm.Sampler    // clients that lend their models; nil: none
}

// overlayKey is equal for equal overlays.
type overlayKey struct {
	text, routes  string
	people, quiet bool
	allow         string
	lends         llm.Sampler
}

func (l overlay) key() overlayKey {
	k := overlayKey{text: l.text, people: l.people, quiet: l.quiet, lends: l.lends}
	if len(l.routes) > 0 {
		k.routes = fmt.Sprintf("%q", l.routes)
	}
	if len(l.allow) > 0 {
		k.allow = fmt.Sprintf("%q", l.allow)
	}
	return k
}

// setText sets the editor's options. narrowed: some of them wait for the user's consent.
func (l *overlay) setText(raw json.RawMessage, narrowed bool) {
	l.text, l.servers = "", ""
	var keys map[string]any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if d.Decode(&keys) != nil || len(keys) == 0 {
		return
	}
	l.text = fmt.Sprintf("%t %q", narrowed, keys)
	if s, ok := keys["mcp_servers"]; ok && s != nil {
		l.servers = fmt.Sprintf("%t %q", narrowed, s)
	}
}

// edition returns the edition of the client's layer.
func (c *Client) edition() *edition {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in == nil {
		c.in, _ = c.process.choose(c.layer, nil)
	}
	return c.in
}

// layLocked changes the overlay. Later requests get a profile of the new overlay. The caller must
// end the returned edition, without the lock.
func (c *Client) layLocked(change func(*overlay)) (over *edition) {
	change(&c.layer)
	if c.in != nil && !c.left {
		c.in, over = c.process.choose(c.layer, c.in)
	}
	return over
}

// Lend makes the models of clients available. It is called before the first profile is requested.
func (c *Client) Lend(s llm.Sampler) {
	c.mu.Lock()
	over := c.layLocked(func(l *overlay) { l.lends = s })
	c.mu.Unlock()
	over.end()
}

// Close ends the connection. Running turns keep their profiles until they end.
func (c *Client) Close() {
	c.mu.Lock()
	in, left := c.in, c.left
	c.left = true
	c.mu.Unlock()
	if in != nil && !left {
		c.process.leave(in)
	}
}

// Profile implements core.Profiles. Its error is the configuration's own: file, line, column,
// key, and advice.
func (c *Client) Profile(ctx context.Context, roots []string) (*core.Profile, error) {
	made, err := c.In(ctx, roots)
	if err != nil {
		return nil, err
	}
	return &made.Profile, nil
}

// Rules implements core.Profiles: it looks at the configuration's files, with the guide that the
// turn has seen.
func (c *Client) Rules(ctx context.Context, roots []string) (*core.Profile, error) {
	return c.edition().rules(ctx, roots)
}

// In returns the profile of a workspace after a look at the configuration's files and at the
// guide's. It returns the same one as long as nothing has changed.
func (c *Client) In(ctx context.Context, roots []string) (*Profile, error) {
	return c.edition().In(ctx, roots)
}

// Load returns the profile without any workspace after a look at the files that it comes from.
func (c *Client) Load() (*Profile, error) { return c.edition().Load() }

// ReadAhead reads the configuration for whatever asks for it next, which reports an error too.
func (c *Client) ReadAhead() { _, _ = c.edition().configured() }

// LoadRules is Load after a look only at the files that rules and MCP servers come from.
func (c *Client) LoadRules() (*Profile, error) { return c.edition().LoadRules() }

// Last returns the profile without any workspace as of the last look.
func (c *Client) Last() (*Profile, error) { return c.edition().Last() }

// Servers returns the running MCP servers of the client's configuration; nil before the first
// load.
func (c *Client) Servers() *upstream.Box { return c.process.servers.of(c.edition()) }

// Accounts returns the keys of the providers of the client's configuration.
func (c *Client) Accounts() secrets.Accounts { return c.edition().Accounts() }

// Expand returns the text of a command, with arguments given by name. ok is false for an
// unknown name, and for a command that only the agent can carry out.
func (c *Client) Expand(
	ctx context.Context, roots []string, name string, args map[string]string,
) (text string, ok bool, err error) {
	return c.edition().expand(ctx, roots, name, args)
}

// Board returns the client's view of the board: the postings of its principal's sessions, and
// the models, agents and servers of its own configuration.
func (c *Client) Board() *board.View { return c.process.board.For(c.sees) }

// nameOf returns the name of a connection; empty: not one of ours.
func nameOf(of core.Profiles) string {
	if c, ok := of.(*Client); ok {
		return c.name
	}
	return ""
}

// sees reports whether a topic is visible to the client.
func (c *Client) sees(t board.Topic) bool {
	if t.Principal != "" {
		return t.Principal == c.principal && (t.Layer == "" || t.Layer == c.name)
	}
	e := c.edition()
	if t.Kind == "server" {
		return t.Layer == c.process.servers.layer(e)
	}
	return t.Layer == e.name
}

// route sets the address of a provider.
func (c *Client) route(id string, to route) {
	c.mu.Lock()
	over := c.layLocked(func(l *overlay) {
		routes := maps.Clone(l.routes)
		if routes == nil {
			routes = map[string]route{}
		}
		routes[id] = to
		l.routes = routes
	})
	c.mu.Unlock()
	over.end()
}
