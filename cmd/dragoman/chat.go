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
		Long: `Talk to the agent in this terminal, line by line, about the folder that you are in. Each
line is a prompt. When something needs your approval, answer y (yes, once), s (yes, for this
session) or n (no). Ctrl-C stops what runs; at the prompt it leaves, and so does Ctrl-D.
A line that begins with a slash may be a command: /model, /login, /fork, /resume, /compact,
/export, /doctor, /costs, and what the workspace and you add.

What you type or paste before a question is on the screen is never its answer: it is your
next prompt, or dropped, and the chat says which. A paste is one prompt, sent with Enter, and
approves nothing.

Standard input may be a pipe: each line is a prompt, the line behind a question is its
answer, and at the end of the input every answer is no. What fails is written to standard
error then, and the exit code is 1 if any turn failed.`,
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
		"go on with the session `ID`, which may be cut short (see dragoman sessions list)",
	)
	f.StringVar(&set.Model, "model", "", "the model to use, as `PROVIDER/MODEL` (default: the configuration's)")
	f.StringVar(
		&set.Agent,
		"agent",
		"",
		"the `AGENT` to talk to: code, plan, or one of the configuration's (default: code)",
	)
	return cmd
}
