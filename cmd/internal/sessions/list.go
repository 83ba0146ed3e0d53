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
	sharing := reaching(env)
	defer sharing.Close()
	return with(env, func(store *jsonl.Store, g *core.Gateway) error {
		live := asked(store, g, sharing)
		if asJSON {
			return listJSON(ctx, env.Out, g, which, live)
		}
		return listTable(ctx, env.Out, g, which, live, time.Now())
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

	// Of a session that a process has open:
	State   string   `json:"state,omitempty"` // running, waiting (for a person) or idle
	Owner   string   `json:"owner,omitempty"` // the process
	Clients []string `json:"clients,omitempty"`
	Waiting []string `json:"waiting,omitempty"` // what waits for a person
}

func listJSON(ctx context.Context, out io.Writer, g *core.Gateway, which Which, live liveness) error {
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
		l, _ := live(ctx, s.ID)
		if err := enc.Encode(listedSession{
			s.ID, s.Title, s.Cwd, s.Roots, s.Created, s.Updated, s.Model, s.Agent, s.Messages, s.Parent, s.Archived,
			l.state(), l.Owner, l.Clients, l.Waiting,
		}); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// listTable prints a table. It has the columns of what goes on only if something does.
func listTable(ctx context.Context, out io.Writer, g *core.Gateway, which Which, live liveness, now time.Time) error {
	type row struct{ about, title, state, in string }
	var rows []row
	var errs []error
	open, left := false, 0
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
		r := row{title: display.Line(s.Title, 60)}
		if s.Archived && which == All {
			r.title += " (archived)"
		}
		r.about = fmt.Sprintf("%s\t%d\t%s\t%s", display.Ago(s.Updated, now), s.Messages, display.Line(string(s.ID), 64), display.Line(s.Cwd, 40))
		if l, ok := live(ctx, s.ID); ok {
			open = true
			r.state, r.in = l.state(), opened(l)
		}
		rows = append(rows, r)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	switch {
	case len(rows) > 0 || len(errs) > 0:
	case which == Archived:
		fmt.Fprintln(w, "There are no archived sessions.")
	case left > 0:
		fmt.Fprintln(w, "All sessions are archived; --all lists them.")
	default:
		fmt.Fprintln(w, "There are no sessions yet.")
	}
	switch {
	case open:
		fmt.Fprintln(w, "USED\tMESSAGES\tID\tFOLDER\tSTATE\tTITLE\tOPEN IN")
		for _, r := range rows {
			fmt.Fprintln(w, strings.TrimRight(r.about+"\t"+r.state+"\t"+r.title+"\t"+r.in, "\t"))
		}
	case len(rows) > 0:
		fmt.Fprintln(w, "USED\tMESSAGES\tID\tFOLDER\tTITLE")
		for _, r := range rows {
			fmt.Fprintln(w, r.about+"\t"+r.title)
		}
	}
	return errors.Join(append(errs, w.Flush())...)
}

// opened describes who has a session open, and what waits for a person there.
func opened(l Live) string {
	text := display.Line(l.Owner, 60)
	if len(l.Clients) > 0 {
		text += ": " + display.Line(strings.Join(l.Clients, ", "), 100)
	}
	for _, w := range l.Waiting {
		text += "; waits for " + display.Line(w, 100)
	}
	return text
}
