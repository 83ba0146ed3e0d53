package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/sessions"
	"dragoman/cmd/internal/setup"
	"dragoman/cmd/internal/terminal"
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
			a.ownInterrupt = true
			return a.inHouse(ctx, func(ctx context.Context, h *house) error { return a.chatInHouse(ctx, h, resume, set) })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&resume, "session", "", "go on with the session `ID`, which may be cut short (see dragoman sessions list)")
	f.StringVar(&set.Model, "model", "", "the model to use, as `PROVIDER/MODEL` (default: the configuration's)")
	f.StringVar(&set.Agent, "agent", "", "the `AGENT` to talk to: code, plan, or one of the configuration's (default: code)")
	return cmd
}

func (a *app) chatInHouse(ctx context.Context, h *house, resume string, set core.Settings) error {
	h.profiles.People = true
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	profile, err := h.profiles.In(ctx, []string{cwd})
	if err != nil {
		return fmt.Errorf("the configuration is wrong:\n%w", err)
	}
	if _, ok := profile.Agent(set.Agent); !ok {
		return fmt.Errorf("there is no agent %q; there are %s", set.Agent, setup.AgentNames(profile.Agents))
	}
	session, err := h.chatSession(ctx, resume, cwd)
	if err != nil {
		return err
	}
	err = terminal.Chat(ctx, terminal.ChatOptions{
		Program: a.Environment, Gateway: h.gateway, Session: session, Settings: set,
		Model: profile.DefaultModel, Offline: profile.Finder.Choice.Offline(),
	})
	if resume == "" && session.State().Messages == 0 { // nobody will miss it
		err = errors.Join(err, h.gateway.Delete(context.WithoutCancel(ctx), core.Local, session.Meta().ID))
	}
	return err
}

// chatSession opens a session by its id, or makes one for the working folder.
func (h *house) chatSession(ctx context.Context, id, cwd string) (*core.Session, error) {
	if id != "" {
		return sessions.Find(ctx, h.gateway, id)
	}
	s, err := h.gateway.Create(ctx, core.Meta{Cwd: cwd})
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, program.OtherData)
	}
	return s, nil
}
