package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"dragoman/bridge"
	"dragoman/bridge/login"
	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/child"
)

// servers is the upstream MCP servers of the configuration: one toolbox for as long
// as the process lives, whose servers change with the configuration. One of which it
// says the same as before goes on.
type servers struct {
	env     configs.Env
	run     configs.Run // of programs that give keys
	environ []string
	pins    string // the file that keeps what tools said at first; "": none does
	agreed  string // the file that keeps which programs may always be started; "": none does
	tokens  login.Store
	log     *zap.Logger
	logs    *logs.Servers
	audit   *logs.Audit
	guards  *child.Guards

	mu  sync.Mutex // guards the fields below
	of  *configs.Config
	rev map[string]int // how often each has changed
	box *bridge.Box    // also without any: clients bring their own; nil: nothing was read yet
}

// pinFile is what keeps what tools of servers said at first, in the data folder.
const pinFile = "mcp-tools.json"

func (a *app) pinFile() string { return a.DataFile(pinFile) }

// agreedFile is what keeps which programs of those that editors pass along may always
// be started, in the data folder.
const agreedFile = "mcp-agreed.json"

func (a *app) agreedFile() string { return a.DataFile(agreedFile) }

var _ login.Store = secrets.ServerLogins{}

// tokens are where the bridge keeps logins; nil: nowhere.
func (a *app) tokens() login.Store {
	if kept, ok := a.secrets.ServerLogins(); ok {
		return kept
	}
	return nil
}

// toolbox has the servers be those of a configuration, and the board tell of them. It
// is called by one goroutine at a time.
func (s *servers) toolbox(c *configs.Config, board *core.Board) *bridge.Box {
	s.mu.Lock()
	old, box, rev := s.of, s.box, maps.Clone(s.rev)
	s.mu.Unlock()
	if rev == nil {
		rev = map[string]int{}
	}
	changed := old != nil && len(old.MCPServers) != len(c.MCPServers)
	for name := range c.MCPServers {
		if old == nil || !sameServer(old, c, name) {
			rev[name]++
			changed = true
		}
	}
	list := serversOf(c, rev, s.env, s.run)
	switch {
	case box == nil:
		box = bridge.New(bridge.Options{Servers: list, Board: board, Environ: s.environ, Version: version, PinFile: s.pins, AgreedFile: s.agreed, Tokens: s.tokens, Log: s.told, Audit: s.audit.Add, Guards: s.guards})
		box.Announce()
	case changed:
		box.Set(list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of, s.rev, s.box = c, rev, box
	return box
}

// sameServer reports whether two configurations say the same of a server, and whether
// it is the user's in both.
func sameServer(a, b *configs.Config, name string) bool {
	was, ok := a.MCPServers[name]
	return ok && was.Same(b.MCPServers[name]) && a.FromEditor(serverKey(name)) == b.FromEditor(serverKey(name))
}

func serverKey(name string) string { return "mcp_servers." + name }

// close ends what belongs to no session.
func (s *servers) close() {
	if box := s.current(); box != nil {
		box.Close()
	}
	s.logs.Close()
	s.audit.Close()
}

// commands lists what is known of a workspace's, with the prompts of the servers.
func (p *profiles) commands(box *bridge.Box) func(context.Context, core.Meta) []core.Command {
	return func(ctx context.Context, m core.Meta) []core.Command {
		return slices.Concat(p.guides.commands(ctx, m.Roots), box.Commands(m.ID))
	}
}

// told logs what servers say, and what becomes of them.
func (s *servers) told(server, level, text string) {
	s.logs.Add(server, level, text)
	l, err := logs.ParseLevel(level)
	if err != nil {
		l = zap.InfoLevel
	}
	s.log.Log(l, text, zap.String("server", server))
}

// serversOf translates the servers of a configuration.
func serversOf(c *configs.Config, rev map[string]int, env configs.Env, run configs.Run) []bridge.Server {
	var list []bridge.Server
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		m := c.MCPServers[name]
		s := bridge.Server{
			Name: name, Rev: rev[name], Endpoint: func(ctx context.Context) (bridge.Endpoint, error) { return endpointOf(ctx, m, env, run) },
			Disabled: m.Disabled, Eager: m.Start == "session", Allow: m.Tools, Deny: m.WithoutTools,
			Confirm: c.FromEditor(serverKey(name)), StartTimeout: m.StartTimeout, CallTimeout: m.CallTimeout,
			Shown: bridge.Shown{Command: m.Command.String(), URL: m.URL.String()},
		}
		for _, arg := range m.Args {
			s.Shown.Args = append(s.Shown.Args, arg.String())
		}
		list = append(list, s)
	}
	return list
}

// endpointOf looks the references up, so that a key may change between two starts.
// The error says where in the file something is wrong.
func endpointOf(ctx context.Context, m configs.MCPServer, env configs.Env, run configs.Run) (e bridge.Endpoint, err error) {
	e.SSE = m.Transport == "sse"
	if e.Command, err = m.Command.Resolve(env); err != nil {
		return e, err
	}
	if home, ok := strings.CutPrefix(e.Command, "~/"); ok {
		e.Command = program.Home(env) + "/" + home
	}
	if e.URL, err = m.URL.Resolve(env); err != nil {
		return e, err
	}
	if e.Dir, err = m.Dir.ResolvePath(env); err != nil {
		return e, err
	}
	for _, arg := range m.Args {
		s, err := arg.Resolve(env)
		if err != nil {
			return e, err
		}
		e.Args = append(e.Args, s)
	}
	if e.Env, err = resolved(ctx, m.Env, env, run); err != nil {
		return e, err
	}
	if e.Headers, err = resolved(ctx, m.Headers, env, run); err != nil {
		return e, err
	}
	e.OAuth = login.Config{Scopes: m.OAuth.Scopes, Port: m.OAuth.RedirectPort}
	if e.OAuth.ClientID, err = m.OAuth.ClientID.Resolve(env); err != nil {
		return e, err
	}
	if e.OAuth.Issuer, err = m.OAuth.Issuer.Resolve(env); err != nil {
		return e, err
	}
	e.OAuth.ClientSecret, err = m.OAuth.ClientSecret.ResolveWith(ctx, env, run)
	return e, err
}

func resolved(ctx context.Context, of map[string]configs.Secret, env configs.Env, run configs.Run) (map[string]string, error) {
	values := make(map[string]string, len(of))
	for name, secret := range of {
		value, err := secret.ResolveWith(ctx, env, run)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

func (a *app) mcpServers() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp-servers",
		Short: "See and change the MCP servers whose tools the agent may use",
		Long: `See and change the MCP servers whose tools the agent may use. They stand in the configuration,
below mcp_servers; "dragoman config path" says where that is. Editors that are connected follow
what changes there.`,
		Example: `  dragoman mcp-servers add files -- npx -y @modelcontextprotocol/server-filesystem .
  dragoman mcp-servers list`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to do: list, add, remove, enable, disable, import, approve, logs, login or logout")
		},
	}
	cmd.AddCommand(a.mcpServersList(), a.mcpServersAdd(), a.mcpServersRemove(), a.mcpServersDisable(false), a.mcpServersDisable(true), a.mcpServersImport(), a.mcpServersApprove(), a.mcpServersLogs(), a.mcpServersLogin(), a.mcpServersLogout())
	return cmd
}

// tryFor is how long the servers have to show how they are.
const tryFor = 30 * time.Second

func (a *app) mcpServersList() *cobra.Command {
	var tools bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Start each server, say how it is, and end it again",
		Long: `Start each server in the folder that you are in, say how it is and how many tools it has,
and end it again. Of one that fails the end of what it printed is told.`,
		Example: `  dragoman mcp-servers list
  dragoman mcp-servers list --tools`,
		Args: cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			config, err := a.LoadConfig(nil)
			if err != nil {
				return err
			}
			if len(config.MCPServers) == 0 {
				fmt.Fprintf(a.Out, "There are no MCP servers. \"dragoman mcp-servers add\" writes one into %s,\n\"dragoman mcp-servers import\" takes over those of other programs.\n", a.ConfigFile())
				return nil
			}
			box, items, err := a.tryServers(ctx, config)
			if box != nil {
				defer box.Close()
			}
			a.showServers(config, items, tools)
			return err
		}),
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "name the tools as well")
	return cmd
}

func (a *app) showServers(c *configs.Config, items []bridge.Tried, tools bool) {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, item := range items {
		m := c.MCPServers[item.Name]
		said := counted(len(item.Tools), "tool")
		if n := len(item.Changes); n > 0 {
			said += fmt.Sprintf(", %d of them changed or new and held back: dragoman mcp-servers approve %s", n, item.Name)
		}
		if item.Status != "running" {
			said = oneLine(item.Why, 200)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", item.Name, item.Status, oneLine(cmp.Or(m.URL.String(), m.Command.String()), 60), said)
		if tools {
			width := 0
			for _, t := range item.Tools {
				width = max(width, utf8.RuneCountInString(oneLine(t.Name, 64)))
			}
			for _, t := range item.Tools {
				fmt.Fprintf(w, "  %-*s  %s\n", width, oneLine(t.Name, 64), oneLine(t.Description, 80))
			}
		}
	}
	w.Flush()
}
