package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonl"
)

// Which says which sessions a list has.
type Which int

const (
	Shown    Which = iota // those that are not archived
	Archived              // those that are
	All
)

func (w Which) has(archived bool) bool { return w == All || archived == (w == Archived) }

// List prints the sessions, the one used last first: as a table, or one JSON object a line.
func List(ctx context.Context, env *program.Environment, which Which, asJSON bool) error {
	return with(env, func(_ *jsonl.Store, g *core.Gateway) error {
		if asJSON {
			return listJSON(ctx, env.Out, g, which)
		}
		return listTable(ctx, env.Out, g, which, time.Now())
	})
}

// Complete lists ids that begin with the typed text, with their titles, for a shell.
func Complete(ctx context.Context, env *program.Environment, begun string) (ids []string) {
	const most = 50
	_ = with(env, func(_ *jsonl.Store, g *core.Gateway) error { // a shell shows no errors during completion
		for s, err := range g.List(ctx, core.Local) {
			if err == nil && strings.HasPrefix(string(s.ID), begun) && len(ids) < most {
				ids = append(ids, string(s.ID)+"\t"+display.Line(s.Title, 60))
			}
		}
		return nil
	})
	return ids
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
	Parent   core.SessionID `json:"parent,omitempty"` // the session that delegated it
	Archived bool           `json:"archived,omitempty"`
}

func listJSON(ctx context.Context, out io.Writer, g *core.Gateway, which Which) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	var errs []error
	for s, err := range g.List(ctx, core.Local) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !which.has(s.Archived) {
			continue
		}
		if err := enc.Encode(listedSession{s.ID, s.Title, s.Cwd, s.Roots, s.Created, s.Updated, s.Model, s.Agent, s.Messages, s.Parent, s.Archived}); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

func listTable(ctx context.Context, out io.Writer, g *core.Gateway, which Which, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var errs []error
	n, left := 0, 0
	for s, err := range g.List(ctx, core.Local) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if s.Parent != "" { // a delegated task: a part of its parent
			continue
		}
		if !which.has(s.Archived) {
			left++
			continue
		}
		if n++; n == 1 {
			fmt.Fprintln(w, "USED\tMESSAGES\tID\tFOLDER\tTITLE")
		}
		title := display.Line(s.Title, 60)
		if s.Archived && which == All {
			title += " (archived)"
		}
		fmt.Fprintf(
			w,
			"%s\t%d\t%s\t%s\t%s\n",
			display.Ago(s.Updated, now),
			s.Messages,
			display.Line(string(s.ID), 64),
			display.Line(s.Cwd, 40),
			title,
		)
	}
	switch {
	case n > 0 || len(errs) > 0:
	case which == Archived:
		fmt.Fprintln(w, "There are no archived sessions.")
	case left > 0:
		fmt.Fprintln(w, "All sessions are archived; --all lists them.")
	default:
		fmt.Fprintln(w, "There are no sessions yet.")
	}
	return errors.Join(append(errs, w.Flush())...)
}
