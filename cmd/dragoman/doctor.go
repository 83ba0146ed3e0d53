package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/doctor"
)

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and report problems",
		Long: `Check this machine and report problems: the program itself, the configuration, keys (their
names, never their values), the model that would be used, the log file, the sessions and which
of them are damaged, the shell for commands, and the settings of editors that start an agent or
mention dragoman. Nothing is changed, and the network is not used.

The exit code is 1 if there is a problem; a warning (!) does not count.`,
		Example: "  dragoman doctor\n  dragoman doctor --config ./other.yaml",
		Args:    none,
		RunE: a.begin(func(ctx context.Context, _ []string) error {
			return doctor.New(a.Environment, a.secrets).Print(ctx)
		}),
	}
}
