package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/keys"
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
			if len(args) == 0 {
				return keys.List(ctx, a.profiled())
			}
			return keys.Give(ctx, a.profiled(), args[0])
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
			return keys.Forget(ctx, a.profiled(), args[0])
		}),
	}
}

func (a *app) completeProviders(
	_ *cobra.Command,
	args []string,
	_ string,
) ([]string, cobra.ShellCompDirective) {
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
