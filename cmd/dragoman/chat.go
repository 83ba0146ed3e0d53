package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/serve"
	"dragoman/core"
)

func (a *app) chat() *cobra.Command {
	var resume string
	var set core.Settings
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to the agent in this terminal",
		Long: `Talk to the agent in this terminal, line by line, about the current folder. Each line is a
prompt. When something needs your approval, answer y (yes, once), s (yes, for this session)
or n (no). Ctrl-C stops the running turn; at the prompt, Ctrl-C and Ctrl-D leave the chat.
A line that begins with a slash may be a command: /model, /login, /fork, /resume, /compact,
/export, /doctor, /costs, and your own and the workspace's.

What you type or paste before a question appears is never taken as its answer: it becomes
your next prompt or is dropped, and the chat says which. A paste is one prompt, sent with
Enter, and never an approval.

Standard input may be a pipe: each line is a prompt, the line after a question is its answer,
and at the end of the input every answer is no. Errors go to standard error, and the exit
code is 1 if any turn failed.`,
		Example: `  dragoman chat
  dragoman chat --agent plan
  dragoman chat --session 7xk2
  echo 'read README.md' | dragoman chat`,
		Args: cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return serve.Chat(ctx, a.profiled(), resume, set)
		}),
	}
	f := cmd.Flags()
	f.StringVar(
		&resume,
		"session",
		"",
		"continue the session `ID`; its beginning is enough (see dragoman sessions list)",
	)
	f.StringVar(&set.Model, "model", "", "the model to use, as `PROVIDER/MODEL` (default: the configuration's)")
	f.StringVar(
		&set.Agent,
		"agent",
		"",
		"the `AGENT` to talk to: code, plan, or a configured one (default: code)",
	)
	return cmd
}
