package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/elsewhere"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/display"
)

// HistoryFile is the name of the file in the data folder that keeps the agents' lists of sessions.
const HistoryFile = "agents.json"

// LocksFolder is the name of the folder in the data folder with the locks of sessions whose agents run.
const LocksFolder = "agent-locks"

// theirs is an agent's own session in the JSON list.
type theirs struct {
	ID      core.SessionID `json:"id"`      // here
	Session string         `json:"session"` // the agent's
	Title   string         `json:"title"`
	Cwd     string         `json:"cwd"`
	Updated time.Time      `json:"updated,omitzero"`
	Deleted bool           `json:"deleted,omitempty"` // here: it cannot be opened
}

// Sessions asks an external agent for its own sessions and prints them, the one used last first: as a
// table, or one JSON object a line. The answer is kept for the lists of editors.
func Sessions(ctx context.Context, env *program.Environment, name string, asJSON bool) error {
	c, err := env.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	if err := Check(c, name); err != nil {
		return err
	}
	ctx, stop := program.UntilSignal(ctx, true)
	defer stop()
	history := elsewhere.NewHistory(env.DataFile(HistoryFile))
	o := Options(name, c.Agents[name], env.Lookup, secrets.NewPrograms().Run, agent.Options{
		Version: env.Version, Pool: agent.NewPool(), Guards: &child.Guards{}, Environ: env.Environ, History: history,
	})
	b := Make(c.Agents[name], Checked(Records(env), c.Agents[name], asking(env), o), nil)
	limit, cancel := context.WithTimeoutCause(ctx, tryFor, fmt.Errorf("agent %s did not answer within %v", name, tryFor))
	defer cancel()
	list, err := b.List(limit)
	err = errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	var signIn *core.SignInError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &signIn):
		return fmt.Errorf("agent %s wants a login: %s; run dragoman agents login %s", name, display.Line(signIn.Text, 200), name)
	case err != nil:
		return err
	}
	shown := make([]theirs, len(list))
	for i, s := range list {
		shown[i] = theirs{history.ID(name, s.Session), s.Session, s.Title, s.Cwd, s.Updated, history.Deleted(name, s.Session)}
	}
	if asJSON {
		enc := json.NewEncoder(env.Out)
		enc.SetEscapeHTML(false)
		for _, s := range shown {
			if err := enc.Encode(s); err != nil {
				return err
			}
		}
		return nil
	}
	if len(shown) == 0 {
		_, err := fmt.Fprintf(env.Out, "Agent %s has no sessions.\n", name)
		return err
	}
	w := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "USED\tID\tAGENT'S ID\tFOLDER\tTITLE")
	for _, s := range shown {
		used := "-"
		if !s.Updated.IsZero() {
			used = display.Ago(s.Updated, time.Now())
		}
		title := display.Line(s.Title, 60)
		if s.Deleted {
			title = strings.TrimSpace(title + " (deleted here)")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", used, display.Line(string(s.ID), 100), display.Line(s.Session, 64), display.Line(s.Cwd, 40), title)
	}
	return w.Flush()
}
