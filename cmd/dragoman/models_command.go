package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/llm"
)

func (a *app) modelsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List language models and what is known of them",
		Long: `List language models and what is known of them: context windows, prices, what they can do. It
comes from the configuration and from a catalogue within the program; nobody is asked over
the network. A model that is not listed can be used all the same.`,
		Example: `  dragoman models list
  dragoman models list sonnet --all
  dragoman models show anthropic/claude-sonnet-4-6`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return errors.New("say what to do: list or show") },
	}
	cmd.AddCommand(a.modelsList(), a.modelsShow())
	return cmd
}

func (a *app) modelsList() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "list [WORD…]",
		Short: "List the models that can be used, the chosen one first",
		Long: `List the models that can be used, the chosen one first: the configured ones, and those that are
known of each provider that has a key. With --all also those of the providers that have none.
With WORDs only models whose name holds all of them.

WINDOW and OUT are tokens: of the context, and of one answer at most. The prices are US
dollars for a million tokens in and out; ? is what is not known. With --json one object a
line, for programs.`,
		Example: "  dragoman models list\n  dragoman models list --all claude | head\n  dragoman models list --json",
		RunE: a.begin(func(_ context.Context, args []string) error {
			return a.withModels(func(k *knowledge) error {
				list := k.list(all)
				list = slices.DeleteFunc(list, func(m core.ModelInfo) bool { return !holdsAll(m.ID+" "+m.Name, args) })
				if asJSON {
					return k.printJSON(a.Out, list)
				}
				return k.printTable(a.Out, list, all || len(args) > 0)
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	cmd.Flags().BoolVar(&all, "all", false, "list the models of providers without a key as well")
	return cmd
}

func (a *app) modelsShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show PROVIDER/MODEL",
		Short: "Print all that is known of a model",
		Long: `Print all that is known of a model: how it is reached, where its key comes from, its windows,
prices and abilities. The key itself is never shown, and nobody is asked over the network.`,
		Example:           "  dragoman models show anthropic/claude-sonnet-4-6\n  dragoman models show offline/demo --json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeModels,
		RunE: a.begin(func(_ context.Context, args []string) error {
			return a.withModels(func(k *knowledge) error {
				info, err := k.find(args[0])
				switch {
				case err != nil:
					return err
				case asJSON:
					return k.printJSON(a.Out, []core.ModelInfo{info})
				}
				return k.printOne(a.Out, info)
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func (a *app) completeModels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) == 0 {
		_ = a.withModels(func(k *knowledge) error { //nolint:errcheck // then nothing is offered
			for _, m := range k.list(true) {
				ids = append(ids, m.ID)
			}
			return nil
		})
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// knowledge is what is known of models without asking anybody.
type knowledge struct {
	config *configs.Config
	env    configs.Env
	given  configs.Logins
	models *models
}

// withModels looks at the configuration, and at nothing else.
func (a *app) withModels(f func(*knowledge) error) error {
	c, err := a.LoadConfig(nil)
	if err != nil {
		return fmt.Errorf("the configuration is wrong:\n%w", err)
	}
	given := a.secrets.Logins()
	k := &knowledge{c, a.Lookup, given, newModels(c, surroundings{env: a.Lookup, given: given, keyFile: a.ConfigFile()})}
	defer k.models.registry.Close()
	return f(k)
}

// list lists models, the chosen one first; all says that a key does not matter.
func (k *knowledge) list(all bool) []core.ModelInfo {
	list := k.models.infos()
	if !all {
		return list
	}
	have := map[string]bool{}
	for _, m := range list {
		have[m.ID] = true
	}
	for _, name := range k.config.ProviderNames() {
		for _, known := range llm.Catalogue(name) {
			if id := name + "/" + known.ID; known.Tools && !have[id] {
				known.ID, known.Provider = id, name
				list = append(list, known)
			}
		}
	}
	return list
}

// find describes one model, which nobody need know.
func (k *knowledge) find(id string) (core.ModelInfo, error) {
	m, err := k.models.named(id)
	if err != nil {
		return core.ModelInfo{}, err
	}
	return m.Info(), nil
}

// key says where the key of a provider comes from; "": there is none.
func (k *knowledge) key(provider string) string {
	source, variable := k.config.KeySource(provider, k.env, k.given)
	switch source {
	case configs.KeyInEnv:
		return "from " + variable + " in the environment"
	case configs.KeyConfigured:
		return "from the configuration"
	case configs.KeyGiven:
		return "given with dragoman login"
	}
	return ""
}

func holdsAll(s string, words []string) bool {
	s = strings.ToLower(s)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s, strings.ToLower(w)) })
}

func (k *knowledge) printTable(out io.Writer, list []core.ModelInfo, asked bool) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "No model is known by that name; it can be used all the same. --all lists those of every provider.")
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tWINDOW\tOUT\t$ IN\t$ OUT\tCAN") //nolint:errcheck // Flush tells
	for _, m := range list {
		in, outgoing := "?", "?"
		switch {
		case m.Offline:
			in, outgoing = "0", "0"
		case m.Price != nil:
			in, outgoing = dollars(m.Price.In), dollars(m.Price.Out)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", oneLine(m.ID, 100), count(m.Window), count(m.MaxOut), in, outgoing, strings.Join(abilities(m), ", ")) //nolint:errcheck // Flush tells
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(list) == 1 && list[0].Offline && !asked {
		_, err := fmt.Fprintln(out, "\nNo provider has a key: \"dragoman login PROVIDER\" gives one, \"dragoman models list --all\" lists what there is.")
		return err
	}
	return nil
}

// abilities are what a model can do, in a word each.
func abilities(m core.ModelInfo) []string {
	var can []string
	for _, a := range []struct {
		does bool
		word string
	}{{m.Tools, "tools"}, {m.Images, "images"}, {m.Thinks, "thinks"}} {
		if a.does {
			can = append(can, a.word)
		}
	}
	return can
}

// count writes a number of tokens as people do.
func count(n int) string {
	switch {
	case n <= 0:
		return "?"
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n/10_000)/100, 'f', -1, 64) + "M"
	case n >= 1000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

func dollars(d float64) string { return strconv.FormatFloat(d, 'f', -1, 64) }

func (k *knowledge) printOne(out io.Writer, m core.ModelInfo) error {
	var rows [][2]string
	row := func(name, value string) {
		if value != "" {
			rows = append(rows, [2]string{name, value})
		}
	}
	row("model", oneLine(m.ID, 200))
	if m.Name != strings.TrimPrefix(m.ID, m.Provider+"/") {
		row("name", oneLine(m.Name, 200))
	}
	if m.Offline {
		row("provider", "this program itself: no network, no key, and no language model")
	} else {
		p, _ := k.config.Provider(m.Provider)
		row("reached at", p.BaseURL.String())
		row("wire format", p.Kind)
		row("key", k.keyText(m.Provider))
	}
	row("window", tokenText(m.Window))
	row("most of an answer", tokenText(m.MaxOut))
	row("can", orNothing(strings.Join(abilities(m), ", ")))
	row("efforts", strings.Join(m.Efforts, ", "))
	if !m.Offline {
		row("price", priceText(m.Price))
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "%s:\t%s\n", r[0], r[1]) //nolint:errcheck // Flush tells
	}
	return t.Flush()
}

func (k *knowledge) keyText(provider string) string {
	if s := k.key(provider); s != "" {
		return s
	}
	if known, ok := configs.KnownProvider(provider); ok && !known.Local() {
		return "none; set " + strings.Join(known.Keys, " or ") + ", or run dragoman login " + provider
	}
	return "none is needed, or none is known"
}

func tokenText(n int) string {
	if n <= 0 {
		return "unknown"
	}
	return strconv.Itoa(n) + " tokens"
}

func orNothing(s string) string {
	if s == "" {
		return "nothing but text"
	}
	return s
}

func priceText(p *core.Price) string {
	if p == nil {
		return "unknown"
	}
	s := "$" + dollars(p.In) + " in, $" + dollars(p.Out) + " out"
	if p.CacheRead > 0 {
		s += ", $" + dollars(p.CacheRead) + " read from a cache"
	}
	if p.CacheWrite > 0 {
		s += ", $" + dollars(p.CacheWrite) + " written to one"
	}
	return s + ", for a million tokens"
}

// modelJSON is what is known of a model, for programs. What is left out is not
// known.
type modelJSON struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Provider string     `json:"provider"`
	Kind     string     `json:"kind,omitempty"`
	Key      bool       `json:"key"` // there is one, or none is needed
	Chosen   bool       `json:"chosen,omitempty"`
	Window   int        `json:"window,omitempty"`
	MaxOut   int        `json:"max_out,omitempty"`
	Tools    bool       `json:"tools"`
	Images   bool       `json:"images"`
	Thinks   bool       `json:"thinks"`
	Offline  bool       `json:"offline,omitempty"`
	Efforts  []string   `json:"efforts,omitempty"`
	Price    *priceJSON `json:"price,omitempty"`
}

// priceJSON is in US dollars for a million tokens.
type priceJSON struct {
	In         float64 `json:"in"`
	Out        float64 `json:"out"`
	CacheRead  float64 `json:"cache_read,omitempty"`
	CacheWrite float64 `json:"cache_write,omitempty"`
}

func (k *knowledge) printJSON(out io.Writer, list []core.ModelInfo) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, m := range list {
		p, _ := k.config.Provider(m.Provider)
		j := modelJSON{
			ID: m.ID, Name: m.Name, Provider: m.Provider, Kind: p.Kind, Chosen: m.ID == k.models.choice.String(),
			Window: m.Window, MaxOut: m.MaxOut, Tools: m.Tools, Images: m.Images, Thinks: m.Thinks, Offline: m.Offline, Efforts: m.Efforts,
		}
		known, ok := configs.KnownProvider(m.Provider)
		j.Key = m.Offline || k.key(m.Provider) != "" || !ok || known.Local()
		if m.Offline {
			j.Kind = ""
		}
		if m.Price != nil {
			j.Price = &priceJSON{m.Price.In, m.Price.Out, m.Price.CacheRead, m.Price.CacheWrite}
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return nil
}
