package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/serve"
	"dragoman/core"
)

func (a *app) chat() *cobra.Command {
	var resume string
	var set core.Settings
	var plain bool
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to the agent in this terminal",
		Long: `Talk to the agent in this terminal, about the current folder. Enter sends a prompt, and Alt-Enter
begins a new line in it. When something needs your approval, answer y (yes, once), s (yes, for
this session) or n (no). Esc and Ctrl-C stop the running turn; at the prompt, Ctrl-C and Ctrl-D
leave the chat.

A line that begins with a slash may be a command: /help lists all commands and keys. Tab
completes a command, and after @ the name of a file or of a server's resource, which is sent
along. The arrow keys edit the line and recall earlier prompts, which are kept in the data
folder for you only; a prompt that begins with a blank, an answer or a secret is not kept.

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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return errors.New("chat takes no prompt; to send a single one: dragoman run 'PROMPT'")
			}
			return nil
		},
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return serve.Chat(ctx, a.profiled(), resume, set, plain)
		}),
	}
	f := cmd.Flags()
	sessionFlag(cmd, &resume)
	f.BoolVar(&plain, "plain", false, "never move the cursor, and say in words what is waited for (for screen readers)")
	f.StringVar(&set.Model, "model", "", "the model to use, as `PROVIDER/MODEL` (default: the configuration's)")
	f.StringVar(
		&set.Agent,
		"agent",
		"",
		"the `AGENT` to talk to: code, plan, or a configured one (default: default_agent of the configuration, else code)",
	)
	return cmd
}
