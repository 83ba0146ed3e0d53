package servers

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/logs"
	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
)

// tryFor limits the time until the servers show their state.
const tryFor = 30 * time.Second

// List starts each server once, prints its state, and ends it again; tools also lists the names
// of the tools. It returns program.ErrReported if a server does not start.
func (s *Store) List(ctx context.Context, tools bool) error {
	config, err := s.env.LoadConfig(nil)
	if err != nil {
		return err
	}
	if len(config.MCPServers)+len(config.Unusable) == 0 {
		fmt.Fprintf(
			s.env.Out,
			"There are no MCP servers. \"dragoman mcp-servers add\" writes one to %s,\n\"dragoman mcp-servers import\" takes over those of other programs.\n",
			s.env.ServersFile(),
		)
		return nil
	}
	t, err := s.try(ctx, config)
	defer t.close()
	s.show(config, t.items, tools)
	if err == nil && slices.ContainsFunc(t.items, func(item upstream.Trial) bool { return item.Status == "failed" }) {
		return program.ErrReported // the list shows the reason
	}
	return err
}

func (s *Store) show(c *configs.Config, items []upstream.Trial, tools bool) {
	w := tabwriter.NewWriter(s.env.Out, 0, 0, 2, ' ', 0)
	for _, item := range items {
		m, _ := c.Server(item.Name)
		said := display.Counted(len(item.Tools), "tool")
		if n := len(item.Changes); n > 0 {
			said += fmt.Sprintf(
				", %d of them changed or new and held back: dragoman mcp-servers approve %s",
				n,
				item.Name,
			)
		}
		if item.Status != "running" {
			said = display.Line(item.Why, 200)
		}
		fmt.Fprintf(
			w,
			"%s\t%s\t%s\t%s\t%s\n",
			item.Name,
			item.Status,
			display.Line(cmp.Or(m.URL.String(), m.Command.String()), 60),
			display.Line(filepath.Base(c.ServerAt(item.Name).File), 40),
			said,
		)
		if tools {
			width := 0
			for _, t := range item.Tools {
				width = max(width, utf8.RuneCountInString(display.Line(t.Name, 64)))
			}
			for _, t := range item.Tools {
				fmt.Fprintf(w, "  %-*s  %s\n", width, display.Line(t.Name, 64), display.Line(t.Description, 80))
			}
		}
	}
	w.Flush()
}

// trial is an attempt to start servers.
type trial struct {
	box   *upstream.Box
	logs  *logs.Servers // of their messages
	items []upstream.Trial
}

// try starts the servers of a configuration once. The trial must be closed.
func (s *Store) try(ctx context.Context, c *configs.Config) (t trial, err error) {
	cwd, err := os.Getwd()
	if err != nil {
		return t, fmt.Errorf("find the working folder: %w", err)
	}
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		tryFor,
		fmt.Errorf("the servers were not all up within %v", tryFor),
	)
	defer cancel()
	t.logs = logs.OpenServers(s.env.DataFile(""))
	o := s.options(c, true)
	o.Log = t.logs.Add
	t.box = upstream.New(o)
	t.items, err = t.box.Try(ctx, core.Meta{Cwd: cwd, Roots: []string{cwd}})
	return t, err
}

// close ends the servers and writes the rest of their logs.
func (t trial) close() {
	if t.box != nil {
		t.box.Close()
		t.logs.Close()
	}
}
