package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/serve"
	"dragoman/cmd/internal/sessions"
)

func (a *app) attach() *cobra.Command {
	var o serve.AttachOptions
	cmd := &cobra.Command{
		Use:   "attach [SESSION]",
		Short: "Follow and answer a session that is in use elsewhere",
		Long: `Follow a session in this terminal while an editor or another program uses it, and take part in it.
Everything is shown as it happens, with the name of the client that prompts: answers, tool calls
and questions. Without SESSION it is the session of the current folder that is in use, or else
the one that was used last. The beginning of an id is enough; "dragoman sessions list" lists them.

Enter sends what you type to the turn that runs, if it takes it, and otherwise as a prompt of its
own, which waits its turn; the screen says which. A question can be answered here or in the
editor, and the first answer counts. A line that you have begun is never taken as its answer: the
question waits until the line is sent or erased.

Esc and Ctrl-C stop a turn that was prompted here. Otherwise Ctrl-C leaves, and what others have
prompted goes on; /stop stops that, too. /help lists all commands and keys.

--read-only only watches: nothing is sent or answered. Over a pipe it prints what happens until it
is ended, or nobody reads it any more (exit code 141). Without it standard input may be a pipe, as
for "dragoman chat": each line is a prompt.`,
		Example: `  dragoman attach
  dragoman attach 7xk2
  dragoman attach --read-only 7xk2 > session.log`,
		Args:              upTo(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				if o.Session = args[0]; o.Session == "" {
					return sessions.ErrUnnamed
				}
			}
			return serve.Attach(ctx, a.profiled(), o)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&o.ReadOnly, "read-only", false, "only watch: send nothing and answer nothing")
	f.BoolVar(&o.Plain, "plain", false, "never move the cursor, and say in words what is waited for (for screen readers)")
	return cmd
}
