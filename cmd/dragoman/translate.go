package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/translate"
	"dragoman/configs"
)

func (a *app) translate() *cobra.Command {
	var table bool
	var to string
	cmd := &cobra.Command{
		Use:   "translate --table | translate --to PROTOCOL SESSION",
		Short: "Show what a protocol carries, and a session as its messages",
		Long: `Show what each pair of an agent's and an editor's protocol carries, as a table in Markdown, with the
reasons for what is lost (--table); or print a stored session as the messages that a client of a
protocol gets for it, one a line (--to). The beginning of the session's ID is enough if no other
session's begins with it. Nothing is run, and nothing is sent anywhere.`,
		Example:           "  dragoman translate --table\n  dragoman translate --to acp 7xk2 | head",
		Args:              upTo(1),
		ValidArgsFunction: a.completeSessions,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			switch {
			case table && (to != "" || len(args) > 0):
				return program.UsageError{Err: errors.New("--table is about all protocols and no session: leave out --to and SESSION")}
			case table:
				return translate.WriteTable(a.Out)
			case to == "" || len(args) == 0:
				return program.UsageError{Err: errors.New("give --table, or --to PROTOCOL and the ID of a session")}
			case !slices.Contains(translate.Protocols(), to):
				return program.UsageError{Err: fmt.Errorf(
					"--to %q: want %s%s", to, strings.Join(translate.Protocols(), ", "), configs.DidYouMean(to, translate.Protocols()),
				)}
			}
			return translate.WriteSession(ctx, a.Environment, to, args[0])
		}),
	}
	cmd.Flags().BoolVar(&table, "table", false, "print what is lost between the protocols")
	cmd.Flags().StringVar(&to, "to", "", "print a session as messages of `PROTOCOL`: acp, eca or mcp")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(translate.Protocols(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
