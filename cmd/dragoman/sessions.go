package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/sessions"
)

func (a *app) sessions() *cobra.Command {
	return group(&cobra.Command{
		Use:   "sessions",
		Short: "List, show, copy, archive, repair and remove stored sessions",
		Long: `List, show, copy, archive, repair and remove stored sessions. A session is the log of everything
that happened in it, and any editor can open it, whichever one it was started in. A damaged session
opens with a note where something is missing; "repair" makes it accept prompts again.

A session is named by its ID, by the beginning of the ID, or by "latest": the session of the current
folder that was used last. "rm" takes whole IDs only.`,
		Example: `  dragoman sessions list
  dragoman sessions show 7xk2 | less
  dragoman sessions export 7xk2
  dragoman sessions archive 7xk2
  dragoman sessions repair 7xk2
  dragoman sessions rm 7xk2m5q3vy4n6c2jdh5ftwz3ae`,
	}, a.sessionsList(), a.sessionsShow(), a.sessionsExport(), a.sessionsImport(), a.sessionsArchive(), a.sessionsPrune(), a.sessionsRepair(), a.sessionsRemove())
}

func (a *app) sessionsList() *cobra.Command {
	var asJSON, archived, all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, most recently used first",
		Long: `List the sessions, most recently used first: the time of last use, the number of messages, the
id, the folder and the title. If a process has a session open the list also has its state
(running, waiting for a person, or idle), the process, the clients that are attached, and what
waits; "dragoman attach" joins it. --json prints one object per line, also for the sessions of
tasks. Archived sessions are left out, as in editors, unless --archived or --all asks for them.
Sessions that exist only in an external agent are listed by "dragoman agents sessions".`,
		Example: "  dragoman sessions list\n  dragoman sessions list --archived\n  dragoman sessions list --json | head -n 1",
		Args:    none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			which := sessions.Shown
			if archived {
				which = sessions.Archived
			}
			if all {
				which = sessions.All
			}
			return sessions.List(ctx, a.Environment, which, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&archived, "archived", false, "list the archived sessions instead")
	cmd.Flags().BoolVar(&all, "all", false, "list the archived sessions as well")
	cmd.MarkFlagsMutuallyExclusive("archived", "all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func (a *app) sessionsShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Print a session as text",
		Long: `Print a session as text (Markdown): messages, tool calls, and approvals with who gave them. The
beginning of an ID is enough if no other session's begins with it.`,
		Example:           "  dragoman sessions show 7xk2\n  dragoman sessions show 7xk2 > session.md",
		Args:              exactly(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return sessions.Show(ctx, a.Environment, args[0])
		}),
	}
}

func (a *app) sessionsRemove() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "rm ID…",
		Short: "Remove sessions permanently",
		Long: `Remove sessions permanently, with everything that belongs to them. IDs must be complete. A session
to which editors or other clients are attached is removed only with --force: what runs in it ends.`,
		Example:           "  dragoman sessions rm 7xk2m5q3vy4n6c2jdh5ftwz3ae\n  dragoman sessions rm --force 7xk2m5q3vy4n6c2jdh5ftwz3ae",
		Args:              atLeast(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return sessions.Remove(ctx, a.Environment, force, args...)
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove sessions that clients are attached to as well")
	return cmd
}

func (a *app) sessionsRepair() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "repair ID…",
		Short: "Repair sessions whose log is damaged",
		Long: `Repair sessions whose log is damaged: bytes have changed, or a part is lost. Such a session can
still be read, with a note where something is missing, but accepts no prompts. The repair writes a
new log of everything that is intact, with notes in place of the missing parts, and closes a turn
whose end is lost. The damaged log is kept next to it until the session is removed.

A session that is intact, or that another process has open, is not changed. The beginning of an ID
is enough if no other session's begins with it.`,
		Example:           "  dragoman sessions repair --dry-run 7xk2\n  dragoman sessions repair 7xk2",
		Args:              atLeast(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return sessions.Repair(ctx, a.Environment, dry, args...)
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "report the damage and change nothing")
	return cmd
}

// sessionFlag adds the flag --session.
func sessionFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().Var((*sessionName)(name), "session", "continue the session `ID` (its beginning is enough), or the latest one of this folder (latest)")
}

// sessionName is the name of a session on the command line. An empty one is a mistake, such as a variable that
// is not set, and no new session.
type sessionName string

func (n *sessionName) Set(typed string) error {
	if typed == "" {
		return sessions.ErrUnnamed
	}
	*n = sessionName(typed)
	return nil
}

func (n *sessionName) String() string { return string(*n) }
func (*sessionName) Type() string     { return "session" }

// completeSessions offers ids to a shell, with their titles.
func (a *app) completeSessions(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return sessions.Complete(cmd.Context(), a.Environment, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
