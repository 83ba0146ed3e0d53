package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/demo"
	"dragoman/cmd/internal/program"
)

func (a *app) demo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Play all three protocols, without a key, network or editor",
		Long: `Play all three protocols. For each one, this program is started as an editor or another agent
would start it, and gets one prompt over its standard input: read a file and, after an
approval, run a command. The demo plays the user, answers the approval and shows what each
editor sees, side by side. Then it does the same with an external agent, which runs behind
dragoman and speaks ACP. At the end it prints the settings for your own editor.

Everything is real except the model: the offline demo model follows plain instructions and is
not a language model. The demo works in a folder of its own, which it removes at the end. It
looks for no keys, reads no configuration and does not use the network.`,
		Example: "  dragoman demo\n  NO_COLOR=1 dragoman demo | less",
		Args:    none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return demo.Play(ctx, a.Environment)
		}),
	}
}
