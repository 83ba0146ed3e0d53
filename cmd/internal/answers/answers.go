package answers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"dragoman/cmd/internal/program"
	"dragoman/core/display"
	"dragoman/core/kept"
)

// List prints the answers, the oldest first: as a table, or one JSON object a line.
func List(env *program.Environment, asJSON bool) error {
	store := kept.Open(env.AnswersFile())
	list, err := store.List()
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(env.Out)
		enc.SetEscapeHTML(false)
		for _, r := range list {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(env.Out, "Nothing is allowed for good.")
		return err
	}
	w := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tALLOWS\tAGENT\tFOLDERS\tGIVEN\tIN")
	for _, r := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", display.Line(r.ID, 20), display.Line(r.Allows, 200), display.Line(r.Agent, 40),
			display.Line(strings.Join(r.Workspace, ", "), 200), r.Given.Local().Format("2006-01-02"), display.Line(r.Client, 40))
	}
	return w.Flush()
}

// Forget removes the answers of some IDs; none: all of them.
func Forget(ctx context.Context, env *program.Environment, ids ...string) error {
	store := kept.Open(env.AnswersFile())
	forget := func(ctx context.Context) ([]kept.Rule, error) { return store.Forget(ctx, ids...) }
	if len(ids) == 0 {
		forget = store.ForgetAll
	}
	gone, err := forget(ctx)
	if err != nil {
		return err
	}
	for _, r := range gone {
		if _, err := fmt.Fprintf(env.Out, "Forgotten: %s (agent %s)\n", display.Line(r.Allows, 200), display.Line(r.Agent, 40)); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		_, err = fmt.Fprintln(env.Out, "Nothing was allowed for good.")
	}
	return err
}
