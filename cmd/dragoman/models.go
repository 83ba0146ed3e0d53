package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/models"
	"dragoman/cmd/internal/program"
	"dragoman/core/display"
	"dragoman/core/inference"
)

func (a *app) modelsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "models",
		Short: "List language models and their properties",
		Long: `List language models and their properties: context windows, prices and abilities. They come from
the configuration, from a built-in catalogue, and from what configured servers such as Ollama, LM
Studio or vLLM say they have. Models that are not listed can be used too.`,
		Example: `  dragoman models list
  dragoman models list sonnet --all
  dragoman models show anthropic/claude-sonnet-4-6`,
	}, a.modelsList(), a.modelsShow())
}

func (a *app) modelsList() *cobra.Command {
	var asJSON, all bool
	which := models.Asking{Runs: true}
	cmd := &cobra.Command{
		Use:   "list [WORD…]",
		Short: "List the available models, the chosen one first",
		Long: `List the available models, the chosen one first: the configured ones, and the known models of each
provider that has a key. With --all, also those of providers without a key. With WORDs, only models
whose names contain all of them.

A provider with a base_url of your own, or a local one (ollama, lmstudio) that the configuration
names, is asked for its models. It has two seconds; its list is kept for a day, and --refresh asks
for it again. No other provider is asked.

WINDOW is the size of the context and OUT the most that one answer can have, in tokens. Prices are
in US dollars for a million tokens in and out; ? means unknown. --json prints one object per line.`,
		Example: "  dragoman models list\n  dragoman models list --all claude | head\n  dragoman models list --json",
		RunE: a.begin(func(ctx context.Context, args []string) error {
			return a.withModels(func(k *models.Overview) error {
				if err := k.Ask(ctx, which); err != nil {
					fmt.Fprintf(a.Err, "note: %s\n", strings.ReplaceAll(display.Printable(err.Error()), "\n", "\nnote: "))
				}
				list := k.List(all, args...)
				if asJSON {
					return k.PrintJSON(a.Out, list)
				}
				return k.PrintTable(a.Out, list, all || len(args) > 0)
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	cmd.Flags().BoolVar(&all, "all", false, "also list the models of providers without a key")
	cmd.Flags().BoolVar(&which.Anew, "refresh", false, "ask servers for their models again, even if they were asked today")
	return cmd
}

func (a *app) modelsShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show PROVIDER/MODEL",
		Short: "Print everything known about a model",
		Long: `Print everything known about a model: its address, where its key comes from, its windows, prices
and abilities. The key itself is never shown, and the network is not used.`,
		Example:           "  dragoman models show anthropic/claude-sonnet-4-6\n  dragoman models show offline/demo --json",
		Args:              exactly(1),
		ValidArgsFunction: a.completeModels,
		RunE: a.begin(func(_ context.Context, args []string) error {
			return a.withModels(func(k *models.Overview) error {
				info, err := k.Find(args[0])
				switch {
				case err != nil:
					return err
				case asJSON:
					return k.PrintJSON(a.Out, []inference.ModelInfo{info})
				}
				return k.PrintOne(a.Out, info)
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func (a *app) completeModels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) == 0 {
		_ = a.withModels(func(k *models.Overview) error { //nolint:errcheck // without a configuration nothing is offered
			for _, m := range k.List(true) {
				ids = append(ids, m.ID)
			}
			return nil
		})
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// withModels calls f with the models of the configuration, and reads nothing else.
func (a *app) withModels(f func(*models.Overview) error) error {
	c, err := a.LoadConfig(nil)
	if err != nil {
		return program.ConfigError(err)
	}
	given := a.secrets.Logins()
	k := models.NewOverview(c, models.Options{
		Env: a.Lookup, Given: given, GivenRev: given.Rev, KeyFile: a.ConfigFile(), Offers: models.NewOffers(a.DataFile),
	})
	defer k.Close()
	return f(k)
}
