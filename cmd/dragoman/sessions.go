package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/sessions"
)

func (a *app) sessions() *cobra.Command {
	return group(&cobra.Command{
		Use:   "sessions",
		Short: "List, show, repair and remove the sessions that are kept",
		Long: `List, show, repair and remove the sessions that are kept. A session is the log of everything
that happened in it; whichever editor it was begun in, each of them can open it again. A damaged
one opens with a note where something is missing; "repair" makes it take prompts again.`,
		Example: `  dragoman sessions list
  dragoman sessions show 7xk2 | less
  dragoman sessions repair 7xk2
  dragoman sessions rm 7xk2m5q3vy4n6c2jdh5ftwz3ae`,
	}, a.sessionsList(), a.sessionsShow(), a.sessionsRepair(), a.sessionsRemove())
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
			return sessions.List(ctx, a.Environment, asJSON)
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
			return sessions.Show(ctx, a.Environment, args[0])
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
			return sessions.Remove(ctx, a.Environment, args...)
		}),
	}
}

func (a *app) sessionsRepair() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "repair ID…",
		Short: "Repair sessions whose log is damaged",
		Long: `Repair sessions whose log is damaged: bytes of it have changed, or a part of it is lost. Such a
session can still be read, with a note where something is missing, but takes no prompts. Repairing
it writes a new log of everything that is intact, with these notes in place of what is missing,
and closes a turn whose end is lost. The damaged log is kept beside it until the session is
removed.

A session that another process has open is left alone, and so is one with nothing wrong. ID may
be cut short as long as only one session begins with it.`,
		Example:           "  dragoman sessions repair --dry-run 7xk2\n  dragoman sessions repair 7xk2",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return sessions.Repair(ctx, a.Environment, dry, args...)
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what is wrong, and change nothing")
	return cmd
}

// completeSessions offers ids to a shell, with their titles.
func (a *app) completeSessions(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return sessions.Complete(cmd.Context(), a.Environment, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
