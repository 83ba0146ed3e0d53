package servers

import (
	"context"
	"fmt"
	"io"
	"slices"

	"dragoman/bridge/upstream"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/display"
)

// Approve shows the changes of a server's tools, and stores the user's agreement.
func (s *Store) Approve(ctx context.Context, server string, tools []string, yes bool) error {
	c, is, err := s.Find(server)
	switch {
	case err != nil:
		return err
	case is.Disabled:
		return fmt.Errorf(
			"the MCP server %s is disabled; \"dragoman mcp-servers enable %s\" has it used",
			server,
			server,
		)
	case s.PinFile() == "":
		_, err := s.env.DataDir()
		return err
	}
	only := *c
	only.MCPServers = map[string]configs.MCPServer{server: is}
	t, err := s.try(ctx, &only)
	defer t.close()
	if err != nil {
		return err
	}
	tried := t.items
	if tried[0].Status != "running" {
		return fmt.Errorf("the MCP server %s does not run: %s", server, tried[0].Why)
	}
	offered := len(tried[0].Tools)
	if unused := tried[0].Unused; len(unused) > 0 { // its first use would keep them, too
		kept, err := chosen(tried[0], unused, tools)
		if err != nil {
			return err
		}
		return t.keep(s.env.Out, server, kept, offered)
	}
	changes, err := chosen(tried[0], tried[0].Changes, tools)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		fmt.Fprintf(s.env.Out, "Nothing has changed: %s\n", display.Counted(offered, "tool"))
		return nil
	}
	col := terminal.Colours(s.env.Out, s.env.Lookup)
	for _, ch := range changes {
		fmt.Fprintf(
			s.env.Out,
			"%s\n%s\n",
			col.Strong(server+": "+display.Line(ch.Tool, 100)),
			display.Indented(display.Printable(ch.Text), "  "),
		)
	}
	if !yes {
		agreed, err := terminal.Confirm(
			s.env,
			fmt.Sprintf("Use %s of %s as shown?", display.Counted(len(changes), "tool"), server),
		)
		if err != nil {
			return err
		}
		if !agreed {
			fmt.Fprintln(s.env.Out, "Nothing was changed.")
			return program.ErrReported
		}
	}
	if err := t.box.Agree(server, changes); err != nil {
		return err
	}
	fmt.Fprintf(s.env.Out, "agreed to %s of %s\n", display.Counted(len(changes), "tool"), server)
	return nil
}

// keep stores the tools of a server that was not used yet. There is nothing that they differ from,
// so nothing is asked. offered is the number of the server's tools.
func (t trial) keep(out io.Writer, server string, kept []upstream.Change, offered int) error {
	if err := t.box.Agree(server, kept); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s was not used yet: agreed to %s as offered now", server, display.Counted(len(kept), "tool"))
	if held := offered - len(kept); held > 0 {
		fmt.Fprintf(out, ", %d held back", held)
	}
	fmt.Fprintln(out)
	return nil
}

// chosen returns those of a server's tools that the user has named; without names, all of them.
func chosen(t upstream.Trial, all []upstream.Change, tools []string) ([]upstream.Change, error) {
	if len(tools) == 0 {
		return all, nil
	}
	for _, name := range tools {
		if slices.ContainsFunc(t.Tools, func(s core.Spec) bool { return s.Name == name }) {
			continue
		}
		var names []string
		for _, s := range t.Tools {
			names = append(names, s.Name)
		}
		return nil, fmt.Errorf(
			"the MCP server %s has no tool %q%s",
			t.Name,
			name,
			configs.DidYouMean(name, names),
		)
	}
	return slices.DeleteFunc(slices.Clone(all), func(c upstream.Change) bool { return !slices.Contains(tools, c.Tool) }), nil
}
