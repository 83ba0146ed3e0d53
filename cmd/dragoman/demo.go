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
		Short: "Play all three protocols, without key, network or editor",
		Long: `Play all three protocols: for each, this very program is started as an editor or another
agent would start it, and is driven over its standard input and output through one prompt
that reads a file and, after an approval, runs a command. The demo plays the user, answers
the approval and shows what the editor gets to see, side by side. At the end it prints the
settings that make your editor do the same.

Nothing is mocked but the model: the offline demo follows plain instructions and is no
language model. Everything happens in a folder of its own, which is removed at the end. No
key is looked for, no configuration is read, and nobody is asked over the network.`,
		Example: "  dragoman demo\n  NO_COLOR=1 dragoman demo | less",
		Args:    cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			ctx, stop := program.UntilSignal(ctx, true)
			defer stop()
			return demo.Play(ctx, a.Environment)
		}),
	}
}
