package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
)

// keyringCommand is the process that asks the system's keyring for another one of ours. Secrets
// pass over its standard input and output only.
func (a *app) keyringCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keyring get|set|delete ACCOUNT",
		Short: "Ask the system's keyring (for dragoman itself)",
		Long: `Ask the system's keyring for what dragoman keeps there. Secrets are read from standard input and
written to standard output. The exit code is 3 where there is none of that name.`,
		Example: "  dragoman keyring delete \"" + secrets.Account + "\"",
		Hidden:  true,
		Args: cobra.MatchAll(cobra.ExactArgs(2), func(_ *cobra.Command, args []string) error {
			if !slices.Contains([]string{"get", "set", "delete"}, args[0]) {
				return fmt.Errorf("there is no %q, only get, set and delete", args[0])
			}
			return nil
		}),
		RunE: a.begin(func(_ context.Context, args []string) error {
			secret, err := secrets.AskKeyring(args[0], args[1], a.In)
			if errors.Is(err, secrets.ErrNoSecret) {
				return program.ExitError(program.ExitNoSecret)
			}
			if err == nil {
				_, err = io.WriteString(a.Out, secret)
			}
			return err
		}),
	}
}
