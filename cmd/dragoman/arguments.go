package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dragoman/configs"
)

// between returns a check for a number of arguments. The message names the argument as the usage
// line does.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s is missing", strings.TrimSuffix(strings.Fields(cmd.Use)[1], "…"))
		case len(args) > most && most == 0:
			return fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
		case len(args) > most:
			return fmt.Errorf("unexpected argument %q; put text with blanks in quotes", args[most])
		}
		return nil
	}
}

// none, exactly, upTo and atLeast are checks for a number of arguments.
func none(cmd *cobra.Command, args []string) error { return between(0, 0)(cmd, args) }

func exactly(n int) cobra.PositionalArgs { return between(n, n) }

func upTo(n int) cobra.PositionalArgs { return between(0, n) }

func atLeast(n int) cobra.PositionalArgs { return between(n, 1<<20) }

// subcommand is the check of a command that has only subcommands. Mistyped ones get a suggestion.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	return fmt.Errorf("unknown command %q%s", args[0], configs.DidYouMean(args[0], names))
}

// helpTopic is the check of help, whose arguments name a command.
func helpTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil {
		return err
	}
	return subcommand(found, rest)
}

// flagError words an error in the flags of a command. Mistyped flags get a suggestion.
func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if len(e.GetSpecifiedName()) == 1 {
			return errors.New("unknown flag: -" + e.GetSpecifiedName())
		}
		var names []string
		add := func(f *pflag.Flag) { names = append(names, "--"+f.Name) }
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		return fmt.Errorf("%w%s", err, configs.DidYouMean("--"+e.GetSpecifiedName(), names))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		what, _ := pflag.UnquoteUsage(e.GetFlag())
		return fmt.Errorf("--%s needs a value: --%s %s", e.GetFlag().Name, e.GetFlag().Name, what)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s %q: want %s", e.GetFlag().Name, e.GetValue(), valueWord(e.GetFlag()))
	}
	return err
}

// valueWord describes the values of a flag.
func valueWord(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int":
		return "a number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration, such as 30s or 5m"
	case "session":
		return "a session: the beginning of an ID, or latest"
	}
	return "a " + f.Value.Type()
}
