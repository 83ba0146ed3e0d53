package main

import (
	"context"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/keys"
)

func (a *app) login() *cobra.Command {
	return &cobra.Command{
		Use:   "login [PROVIDER]",
		Short: "Store the key of a model provider, or list where keys come from",
		Long: `Store the key of a model provider. In a terminal you are asked for it, and it is not shown while
you type; otherwise it is the first line of standard input. The key is stored in auth.json in the
data folder, which only you can read, encrypted with a key from the system keyring if there is one
(DRAGOMAN_KEYRING=off disables this). It is used if neither the configuration nor the environment
has a key for the provider. Connected editors use it at once.

Without PROVIDER: list the providers and where their keys come from, never the keys.`,
		Example: `  dragoman login
  dragoman login openrouter
  pass show openrouter | dragoman login openrouter`,
		Args:              upTo(1),
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
		Short: "Remove the stored key of a provider",
		Long: `Remove the key of a provider that was stored by login. Keys in the configuration and in the
environment are not changed.`,
		Example:           "  dragoman logout openrouter",
		Args:              exactly(1),
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
