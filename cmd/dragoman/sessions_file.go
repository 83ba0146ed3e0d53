package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/sessions"
	"dragoman/core"
	"dragoman/core/bundle"
)

func (a *app) sessionsExport() *cobra.Command {
	var output string
	var force bool
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session into a file, with all that belongs to it",
		Long: `Write a session into a file, with all that belongs to it: its log, large contents, tool output that
was cut, and the sessions of its tasks. "dragoman sessions import" makes a session of it again, here
or on another machine. The file is compressed, has a checksum, and is readable only by you: it holds
everything that was said, and the files that were read. (/export in a session writes it as text.)

A session that another process has open is written as far as it has come. The beginning of an ID is
enough if no other session's begins with it.`,
		Example: `  dragoman sessions export 7xk2
  dragoman sessions export 7xk2 --output backup/parser.dragoman
  dragoman sessions export 7xk2 --output - | ssh laptop dragoman sessions import -`,
		Args:              exactly(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return sessions.Export(ctx, a.Environment, args[0], output, force)
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the `FILE` to write; -: standard output (default: ID.dragoman in this folder)")
	cmd.Flags().BoolVar(&force, "force", false, "replace the file if it exists")
	return cmd
}

func (a *app) sessionsArchive() *cobra.Command {
	var restore bool
	cmd := &cobra.Command{
		Use:   "archive ID…",
		Short: "Hide sessions from lists, or show them there again",
		Long: `Hide sessions from lists, here and in editors; nothing is removed. --restore shows them again, and
so does a new prompt. "dragoman sessions list --archived" lists them.

A session that another process has open is not changed. The beginning of an ID is enough if no
other session's begins with it.`,
		Example:           "  dragoman sessions archive 7xk2 b3ma\n  dragoman sessions archive --restore 7xk2",
		Args:              atLeast(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return sessions.Archive(ctx, a.Environment, !restore, args...)
		}),
	}
	cmd.Flags().BoolVar(&restore, "restore", false, "show them in lists again")
	return cmd
}

func (a *app) sessionsPrune() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Archive and remove sessions that nobody uses any more",
		Long: `Archive and remove sessions that nobody has used for as long as the configuration says
(sessions.archive_after and sessions.delete_after), and list them. A program that serves an editor
does the same once a day. Without such a setting, sessions stay until you remove them.

A session is used by each of its turns and of those of its tasks, and when it is imported or taken
out of the archive. The sessions of tasks go with theirs. One that a process has open is left alone.`,
		Example: "  dragoman sessions prune --dry-run\n  dragoman sessions prune",
		Args:    none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return sessions.Prune(ctx, a.Environment, dry)
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "list what would go, and change nothing")
	return cmd
}

func (a *app) sessionsImport() *cobra.Command {
	var o sessions.ImportOptions
	var id string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a session of a file of \"sessions export\"",
		Long: `Make a session of a file of "dragoman sessions export" (-: standard input), with the sessions of its
tasks. The whole file is checked first; then all of it is there, or nothing.

The file may be somebody else's, so it grants nothing here: the session continues with the default
agent and model and without trust, earlier approvals do not count, questions that were open cannot
be answered any more, changes of files cannot be undone, and an external agent is told what was
said, because it does not have that session. A turn that was running ends as interrupted.

The session works in the folder that the file names, unless that is a whole home folder or more;
--folder names another one. If there is a session of the same ID, --as-copy or --id is needed.`,
		Example: `  dragoman sessions import parser.dragoman
  dragoman sessions import parser.dragoman --dry-run
  dragoman sessions import parser.dragoman --as-copy --folder ~/src/parser`,
		Args: exactly(1),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			o.File, o.ID = args[0], core.SessionID(id)
			return sessions.Import(ctx, a.Environment, o)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&o.AsCopy, "as-copy", false, "import it under a new ID")
	f.StringVar(&id, "id", "", "import it under this `ID`")
	f.StringVar(&o.Folder, "folder", "", "the `FOLDER` in which the session works (default: those that the file names)")
	f.BoolVar(&o.Dry, "dry-run", false, "check the file and import nothing")
	f.IntVar(&o.MaxMiB, "max-mib", bundle.MaxSize>>20, "refuse a file that unpacks to more than this many `MIB`")
	return cmd
}
