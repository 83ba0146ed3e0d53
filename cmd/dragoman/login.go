package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/terminal"
	"dragoman/core"
	"dragoman/core/commands"
	"dragoman/core/display"
)

func (a *app) login() *cobra.Command {
	return &cobra.Command{
		Use:   "login [PROVIDER]",
		Short: "Give the key of a provider of models, or list where keys come from",
		Long: `Give the key of a provider of models. In a terminal it is asked for and does not show while
you type; else it is the first line of standard input. It is kept in auth.json in the data
folder, which only you can read, encrypted with a key of the system's keyring where there is one
(DRAGOMAN_KEYRING=off leaves that alone). It is used where neither the configuration nor the
environment has a key for that provider. Editors that are connected use it at once.

Without PROVIDER: list the providers and where their keys come from, never the keys.`,
		Example: `  dragoman login
  dragoman login openrouter
  pass show openrouter | dragoman login openrouter`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeProviders,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.withAccounts(func(acc secrets.Accounts) error {
				if len(args) == 0 {
					return listAccounts(a.Out, acc.List(ctx))
				}
				return a.logIn(ctx, acc, args[0])
			})
		}),
	}
}

func (a *app) logout() *cobra.Command {
	return &cobra.Command{
		Use:   "logout PROVIDER",
		Short: "Forget the key of a provider that was given with login",
		Long: `Forget the key of a provider that was given with login. Keys of the configuration and of the
environment stay as they are.`,
		Example:           "  dragoman logout openrouter",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeLogins,
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.withAccounts(func(acc secrets.Accounts) error {
				if !acc.Logins.Has(args[0]) {
					if err := acc.Logins.Check(); err != nil {
						return err
					}
					_, err := fmt.Fprintf(a.Out, "No key of %s is kept.\n", display.Line(args[0], 60))
					return err
				}
				if err := acc.Logout(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.Out, "The key of %s is forgotten.\n", display.Line(args[0], 60))
				return err
			})
		}),
	}
}

// withAccounts lets f look after the keys, without a gateway.
func (a *app) withAccounts(f func(secrets.Accounts) error) error {
	a.patient()
	l, err := a.openLog()
	if err != nil {
		return err
	}
	defer l.Close()
	p := a.newProfiles(l)
	defer p.Close()
	if _, err := p.Load(); err != nil {
		return fmt.Errorf("the configuration is wrong:\n%w", err)
	}
	return f(p.Accounts())
}

// patient lets the keyring wait for a person who is there to unlock it.
func (a *app) patient() {
	if terminal.Is(a.In) {
		a.secrets.Patient()
	}
}

// logIn asks for a key and keeps it.
func (a *app) logIn(ctx context.Context, acc secrets.Accounts, provider string) error {
	step, err := acc.Login(ctx, provider, "", nil)
	if err != nil {
		return err
	}
	key, err := a.readKey(step)
	if err != nil {
		return err
	}
	if step, err = acc.Login(ctx, provider, "", map[string]string{step.Fields[0].Key: key}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Out, step.Message)
	return err
}

// readKey reads a key from the terminal, where it does not show, or from a pipe.
func (a *app) readKey(step core.LoginStep) (string, error) {
	if !terminal.Is(a.In) {
		return firstLine(a.In)
	}
	fmt.Fprintf(a.Err, "%s\n%s: ", step.Message, step.Fields[0].Label)
	defer fmt.Fprintln(a.Err)
	return terminal.ReadHidden(a.In, "key")
}

// firstLine returns the first line of a pipe, without the blanks around it.
func firstLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, secrets.MaxKey+2)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the key: %w", err)
	}
	return strings.TrimSpace(line), nil
}

func listAccounts(out io.Writer, list []core.Account) error {
	for _, acc := range list {
		if _, err := fmt.Fprintf(out, "%-12s %s\n", acc.Provider, commands.KeySource(acc)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) completeProviders(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if c, err := a.LoadConfig(nil); err == nil && len(args) == 0 {
		names = c.ProviderNames()
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeLogins(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		names = a.secrets.Logins().Names()
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
