package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonl"
)

func (a *app) sessions() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, repair and remove the sessions that are kept",
		Long: `List, show, repair and remove the sessions that are kept. A session is the log of everything
that happened in it; whichever editor it was begun in, each of them can open it again. A damaged
one opens with a note where something is missing; "repair" makes it take prompts again.`,
		Example: `  dragoman sessions list
  dragoman sessions show 7xk2 | less
  dragoman sessions repair 7xk2
  dragoman sessions rm 7xk2m5q3vy4n6c2jdh5ftwz3ae`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return errors.New("say what to do: list, show, repair or rm") },
	}
	cmd.AddCommand(a.sessionsList(), a.sessionsShow(), a.sessionsRepair(), a.sessionsRemove())
	return cmd
}

func (a *app) sessionsList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, the one used last first",
		Long: `List the sessions, the one used last first: when it was used, how many messages it has, its
id, its folder and its title. With --json one object a line, for programs.`,
		Example: "  dragoman sessions list\n  dragoman sessions list --json | head -n 1",
		Args:    cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return a.withSessions(func(g *core.Gateway) error {
				if asJSON {
					return listJSON(ctx, a.Out, g)
				}
				return listTable(ctx, a.Out, g, time.Now())
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func (a *app) sessionsShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Print a session as text",
		Long: `Print a session as text (Markdown): what was said, what was called, what was approved and by
whom. ID may be cut short as long as only one session begins with it.`,
		Example:           "  dragoman sessions show 7xk2\n  dragoman sessions show 7xk2 > session.md",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.withSessions(func(g *core.Gateway) error {
				s, err := findSession(ctx, g, args[0])
				if err != nil {
					return err
				}
				return terminal.PrintTranscript(ctx, a.Out, s)
			})
		}),
	}
}

func (a *app) sessionsRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID…",
		Short: "Remove sessions for good",
		Long: `Remove sessions for good, with everything that belongs to them. Ids must be written out. A
session that another process has open is left alone.`,
		Example:           "  dragoman sessions rm 7xk2m5q3vy4n6c2jdh5ftwz3ae",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.withSessions(func(g *core.Gateway) error {
				var errs []error
				for _, id := range args {
					errs = append(errs, removeSession(ctx, g, core.SessionID(id)))
				}
				return errors.Join(errs...)
			})
		}),
	}
}

// errNoTurns is what keeps a gateway that only looks from running anything.
var errNoTurns = errors.New("nothing is run here")

// withSessions opens the store for a command that only looks or removes.
func (a *app) withSessions(f func(*core.Gateway) error) error {
	return a.withStore(func(_ *jsonl.Store, g *core.Gateway) error { return f(g) })
}

// withStore is withSessions for a command that needs the store itself.
func (a *app) withStore(f func(*jsonl.Store, *core.Gateway) error) error {
	dir, err := a.DataDir()
	if err != nil {
		return err
	}
	store := jsonl.New(dir)
	g := core.New(core.Config{
		Store: store, Node: node(),
		Profile: func(context.Context, []string) (*core.Profile, error) { return nil, errNoTurns },
	})
	err = f(store, g)
	last, done := context.WithTimeout(context.Background(), shutdownFor)
	defer done()
	return errors.Join(err, g.Close(last), store.Close())
}

// findSession opens a session by its id, or by the beginning of it.
func findSession(ctx context.Context, g *core.Gateway, id string) (*core.Session, error) {
	s, err := g.Open(ctx, core.Local, core.SessionID(id))
	if !errors.Is(err, core.ErrNotFound) {
		return s, err
	}
	found, err := beginningWith(ctx, g, id)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, noSession(id)
	case len(found) > 1:
		return nil, tooShort(len(found), id)
	}
	return g.Open(ctx, core.Local, found[0])
}

// beginningWith lists the sessions whose ids begin with what was typed. A session whose whole
// id was typed is listed alone.
func beginningWith(ctx context.Context, g *core.Gateway, typed string) (found []core.SessionID, err error) {
	for sum, err := range g.List(ctx, core.Local) {
		if err == nil && string(sum.ID) == typed {
			return []core.SessionID{sum.ID}, nil
		}
		if err == nil && strings.HasPrefix(string(sum.ID), typed) {
			found = append(found, sum.ID)
		}
	}
	return found, context.Cause(ctx)
}

func noSession(typed string) error {
	return fmt.Errorf("there is no session %q; \"dragoman sessions list\" lists them all", typed)
}

func tooShort(n int, typed string) error {
	return fmt.Errorf("%d sessions begin with %q; write more of the id", n, typed)
}

func removeSession(ctx context.Context, g *core.Gateway, id core.SessionID) error {
	if _, err := g.Open(ctx, core.Local, id); errors.Is(err, core.ErrNotFound) {
		return noSession(string(id))
	}
	// One that cannot be opened can be removed all the same.
	if err := g.Delete(ctx, core.Local, id); err != nil {
		return fmt.Errorf("remove session %s: %w", id, err)
	}
	return nil
}

// listedSession is a session in the JSON list.
type listedSession struct {
	ID       core.SessionID `json:"id"`
	Title    string         `json:"title"`
	Cwd      string         `json:"cwd"`
	Roots    []string       `json:"roots,omitempty"`
	Created  time.Time      `json:"created"`
	Updated  time.Time      `json:"updated"`
	Model    string         `json:"model,omitempty"`
	Agent    string         `json:"agent,omitempty"`
	Messages int            `json:"messages"`
	Parent   core.SessionID `json:"parent,omitempty"` // that has handed it over
}

func listJSON(ctx context.Context, out io.Writer, g *core.Gateway) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	var errs []error
	for s, err := range g.List(ctx, core.Local) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := enc.Encode(listedSession{s.ID, s.Title, s.Cwd, s.Roots, s.Created, s.Updated, s.Model, s.Agent, s.Messages, s.Parent}); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

func listTable(ctx context.Context, out io.Writer, g *core.Gateway, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var errs []error
	n := 0
	for s, err := range g.List(ctx, core.Local) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if s.Parent != "" { // handed over: a part of its parent
			continue
		}
		if n++; n == 1 {
			fmt.Fprintln(w, "USED\tMESSAGES\tID\tFOLDER\tTITLE")
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", display.Ago(s.Updated, now), s.Messages, oneLine(string(s.ID), 64), oneLine(s.Cwd, 40), oneLine(s.Title, 60))
	}
	if n == 0 && len(errs) == 0 {
		fmt.Fprintln(w, "There are no sessions yet.")
	}
	return errors.Join(append(errs, w.Flush())...)
}

// completeSessions offers ids to a shell, with their titles.
func (a *app) completeSessions(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const most = 50
	var ids []string
	_ = a.withSessions(func(g *core.Gateway) error { // a shell shows no errors while it completes
		for s, err := range g.List(cmd.Context(), core.Local) {
			if err == nil && strings.HasPrefix(string(s.ID), begun) && len(ids) < most {
				ids = append(ids, string(s.ID)+"\t"+oneLine(s.Title, 60))
			}
		}
		return nil
	})
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
