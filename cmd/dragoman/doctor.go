package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/doctor"
)

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what was found on this machine, and what is wrong",
		Long: `Say what was found on this machine, and what is wrong: the program itself, the
configuration, keys (their names, never their values), the model that would be used, where the
log is written, where sessions are kept and which of them are damaged, the shell that would run
commands, and the settings of editors that start an agent or that mention dragoman. Nothing is
changed and nobody is asked over the network.

The exit code is 1 if something is wrong; what only deserves a look (!) does not count.`,
		Example: "  dragoman doctor\n  dragoman doctor --config ./other.yaml",
		Args:    cobra.NoArgs,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return doctor.New(a.Environment, a.secrets).Print(ctx)
		}),
	}
}
