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

// keyringCommand runs in a child process of ours that uses the system keyring, which may hang.
// Secrets pass only over its standard input and output.
func (a *app) keyringCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keyring get|set|delete ACCOUNT",
		Short: "Use the system keyring (for dragoman itself)",
		Long: `Read, write or delete a secret of dragoman in the system keyring. Secrets are read from standard
input and written to standard output. The exit code is 3 if there is no secret of that name.`,
		Example: "  dragoman keyring delete \"" + secrets.Account + "\"",
		Hidden:  true,
		Args: cobra.MatchAll(exactly(2), func(_ *cobra.Command, args []string) error {
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
