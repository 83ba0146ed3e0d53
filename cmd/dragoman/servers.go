package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"dragoman/bridge"
	"dragoman/configs"
	"dragoman/core"
)

// servers is the upstream MCP servers of the configuration. While it says the same
// of them they are the same toolbox, so that a change elsewhere ends none.
type servers struct {
	env     configs.Env
	run     configs.Run // of programs that give keys
	environ []string
	pins    string // the file that keeps what tools said at first; "": none does
	log     *zap.Logger

	mu   sync.Mutex // guards the fields below
	of   map[string]configs.MCPServer
	box  *bridge.Box   // also without any: clients bring their own; nil: nothing was read yet
	past []*bridge.Box // of earlier configurations; sessions may still hold them
	old  []string      // that were taken out of the configuration, and are still on the board
}

// pinFile is what keeps what tools of servers said at first, in the data folder.
const pinFile = "mcp-tools.json"

func (a *app) pinFile() string {
	dir, err := a.dataDir()
	if err != nil {
		return "" // nothing is kept then
	}
	return filepath.Join(dir, pinFile)
}

// toolbox is that of a configuration's servers, and of those that clients bring.
func (s *servers) toolbox(c *configs.Config) *bridge.Box {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.box == nil || !sameServers(s.of, c.MCPServers) {
		for name := range s.of {
			if _, stays := c.MCPServers[name]; !stays {
				s.old = append(s.old, name)
			}
		}
		if s.box != nil {
			s.past = append(s.past, s.box)
		}
		s.of, s.box = c.MCPServers, newServers(c, s.env, s.run, s.environ, s.pins, s.told)
	}
	return s.box
}

// sameServers reports whether two configurations say the same of their servers,
// wherever they do.
func sameServers(a, b map[string]configs.MCPServer) bool {
	return maps.EqualFunc(a, b, configs.MCPServer.Same)
}

// announce puts them on the board, before any is started.
func (s *servers) announce(board *core.Board) {
	s.mu.Lock()
	box, old := s.box, s.old
	s.old = nil
	s.mu.Unlock()
	for _, name := range old {
		board.Drop(core.Topic{Kind: "server", Name: name})
	}
	if box != nil {
		box.Announce(board)
	}
}

// close ends what belongs to no session.
func (s *servers) close() {
	s.mu.Lock()
	boxes := slices.Clone(s.past)
	if s.box != nil {
		boxes = append(boxes, s.box)
	}
	s.mu.Unlock()
	for _, box := range boxes {
		box.Close()
	}
}

// commands lists what is known of a workspace's, with the prompts of the servers.
func (p *profiles) commands(box *bridge.Box) func(context.Context, []string) []core.Command {
	return func(ctx context.Context, roots []string) []core.Command {
		return slices.Concat(p.guides.commands(ctx, roots), box.Commands())
	}
}

// told logs what servers say, and what becomes of them.
func (s *servers) told(server, level, text string) {
	l, err := parseLevel(level)
	if err != nil {
		l = zap.InfoLevel
	}
	s.log.Log(l, text, zap.String("server", server))
}

// newServers translates the servers of a configuration.
func newServers(c *configs.Config, env configs.Env, run configs.Run, environ []string, pins string, log func(server, level, text string)) *bridge.Box {
	var list []bridge.Server
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		m := c.MCPServers[name]
		list = append(list, bridge.Server{
			Name: name, Endpoint: func(ctx context.Context) (bridge.Endpoint, error) { return endpointOf(ctx, m, env, run) },
			Disabled: m.Disabled, Eager: m.Start == "session", Allow: m.Tools, Deny: m.WithoutTools,
			StartTimeout: m.StartTimeout, CallTimeout: m.CallTimeout,
		})
	}
	return bridge.New(bridge.Options{Servers: list, Environ: environ, Version: version, PinFile: pins, Log: log})
}

// endpointOf looks the references up, so that a key may change between two starts.
// The error says where in the file something is wrong.
func endpointOf(ctx context.Context, m configs.MCPServer, env configs.Env, run configs.Run) (e bridge.Endpoint, err error) {
	e.SSE = m.Transport == "sse"
	if e.Command, err = m.Command.Resolve(env); err != nil {
		return e, err
	}
	if home, ok := strings.CutPrefix(e.Command, "~/"); ok {
		e.Command = homeOf(env) + "/" + home
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
	e.Headers, err = resolved(ctx, m.Headers, env, run)
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
		Short: "See the MCP servers whose tools the agent may use",
		Long: `See the MCP servers whose tools the agent may use. They stand in the configuration, below
mcp_servers; "dragoman config path" says where that is.`,
		Example: `  dragoman mcp-servers list`,
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(a.mcpServersList())
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
			config, err := a.loadConfig(nil)
			if err != nil {
				return err
			}
			if len(config.MCPServers) == 0 {
				fmt.Fprintf(a.out, "There are no MCP servers. They are written below mcp_servers in %s.\n", a.configFile())
				return nil
			}
			cwd, err := os.Getwd()
			if err != nil {
				return fmt.Errorf("find the working folder: %w", err)
			}
			ctx, stop := untilSignal(ctx, true)
			defer stop()
			ctx, cancel := context.WithTimeoutCause(ctx, tryFor, fmt.Errorf("the servers were not all up within %v", tryFor))
			defer cancel()
			box := newServers(config, a.env, newKeyPrograms().run, os.Environ(), "", nil)
			items, err := box.Try(ctx, core.Meta{Cwd: cwd, Roots: []string{cwd}})
			a.showServers(config, items, tools)
			return err
		}),
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "name the tools as well")
	return cmd
}

func (a *app) showServers(c *configs.Config, items []core.ServerItem, tools bool) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, item := range items {
		m := c.MCPServers[item.Name]
		said := fmt.Sprintf("%d tools", len(item.Tools))
		if item.Status != "running" {
			said = oneLine(item.Why, 200)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", item.Name, item.Status, oneLine(cmp.Or(m.URL.String(), m.Command.String()), 60), said)
		if tools {
			for _, t := range item.Tools {
				fmt.Fprintf(w, "  %s\t\t\t%s\n", oneLine(t.Name, 64), oneLine(t.Description, 80))
			}
		}
	}
	w.Flush()
}
