package models

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"dragoman/configs"
	"dragoman/core/display"
	"dragoman/core/inference"
	"dragoman/core/llm"
)

// Overview is the knowledge about models.
type Overview struct {
	config  *configs.Config
	options Options
	models  *Finder
}

// NewOverview reads only the configuration and the options, and does not use the network.
func NewOverview(c *configs.Config, o Options) *Overview { return &Overview{c, o, New(c, o)} }

// Ask asks services for their models (see Finder.Ask).
func (k *Overview) Ask(ctx context.Context, which Asking) error {
	news, err := k.models.Ask(ctx, which)
	if news {
		k.models.Close()
		k.models = New(k.config, k.options)
	}
	return err
}

// Close releases the overview's resources.
func (k *Overview) Close() { k.models.Close() }

// List lists the models whose names contain all of the words, the chosen one first; all includes
// models without a key.
func (k *Overview) List(all bool, words ...string) []inference.ModelInfo {
	list := k.models.Infos()
	if all {
		list = append(list, k.others(list)...)
	}
	return slices.DeleteFunc(list, func(m inference.ModelInfo) bool { return !holdsAll(m.ID+" "+m.Name, words) })
}

// others lists the known models of every provider that are not in listed.
func (k *Overview) others(listed []inference.ModelInfo) (list []inference.ModelInfo) {
	have := map[string]bool{}
	for _, m := range listed {
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

// Find describes one model, even an unknown one.
func (k *Overview) Find(id string) (inference.ModelInfo, error) {
	m, err := k.models.named(id)
	if err != nil {
		return inference.ModelInfo{}, err
	}
	return m.Info(), nil
}

// key describes the source of a provider's key; "": none.
func (k *Overview) key(provider string) string {
	source, variable := k.config.KeySource(provider, k.options.Env, k.options.Given)
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

// PrintTable prints models for people; asked is set if they were requested by name.
func (k *Overview) PrintTable(out io.Writer, list []inference.ModelInfo, asked bool) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(
			out,
			"No model is known by that name; it can be used all the same. --all lists those of every provider.",
		)
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tWINDOW\tOUT\t$ IN\t$ OUT\tCAN") //nolint:errcheck // Flush returns the error
	for _, m := range list {
		in, outgoing := "?", "?"
		switch {
		case m.Offline:
			in, outgoing = "0", "0"
		case m.Price != nil:
			in, outgoing = dollars(m.Price.In), dollars(m.Price.Out)
		}
		//nolint:errcheck // Flush returns the error
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", display.Line(m.ID, 100),
			count(m.Window), count(m.MaxOut), in, outgoing, strings.Join(abilities(m), ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(list) == 1 && list[0].Offline && !asked {
		_, err := fmt.Fprintln(
			out,
			"\nNo provider has a key: \"dragoman login PROVIDER\" gives one, \"dragoman models list --all\" lists what there is.",
		)
		return err
	}
	return nil
}

// abilities lists the features of a model, one word each.
func abilities(m inference.ModelInfo) []string {
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

// count formats a number of tokens for people.
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

// PrintOne prints everything known of a model.
func (k *Overview) PrintOne(out io.Writer, m inference.ModelInfo) error {
	var rows [][2]string
	row := func(name, value string) {
		if value != "" {
			rows = append(rows, [2]string{name, value})
		}
	}
	row("model", display.Line(m.ID, 200))
	if m.Name != strings.TrimPrefix(m.ID, m.Provider+"/") {
		row("name", display.Line(m.Name, 200))
	}
	if m.Offline {
		row("provider", "this program itself; it needs no network and no key, and is not a language model")
	} else {
		p, _ := k.config.Provider(m.Provider)
		row("reached at", p.BaseURL.String())
		row("wire format", p.Kind)
		row("key", k.keyText(m.Provider))
	}
	row("window", tokenText(m.Window))
	row("most of an answer", tokenText(m.MaxOut))
	row("can", cmp.Or(strings.Join(abilities(m), ", "), "nothing but text"))
	row("efforts", strings.Join(m.Efforts, ", "))
	if !m.Offline {
		row("price", priceText(m.Price))
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "%s:\t%s\n", r[0], r[1]) //nolint:errcheck // Flush returns the error
	}
	return t.Flush()
}

func (k *Overview) keyText(provider string) string {
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

func priceText(p *inference.Price) string {
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

// modelJSON describes a model for programs. Missing members are unknown.
type modelJSON struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Provider string     `json:"provider"`
	Kind     string     `json:"kind,omitempty"`
	Key      bool       `json:"key"` // a key exists, or none is needed
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

// PrintJSON prints one JSON object a line.
func (k *Overview) PrintJSON(out io.Writer, list []inference.ModelInfo) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, m := range list {
		p, _ := k.config.Provider(m.Provider)
		j := modelJSON{
			ID:       m.ID,
			Name:     m.Name,
			Provider: m.Provider,
			Kind:     p.Kind,
			Chosen:   m.ID == k.models.Choice.String(),
			Window:   m.Window,
			MaxOut:   m.MaxOut,
			Tools:    m.Tools,
			Images:   m.Images,
			Thinks:   m.Thinks,
			Offline:  m.Offline,
			Efforts:  m.Efforts,
			Price:    (*priceJSON)(m.Price),
		}
		known, ok := configs.KnownProvider(m.Provider)
		j.Key = m.Offline || k.key(m.Provider) != "" || !ok || known.Local()
		if m.Offline {
			j.Kind = ""
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return nil
}
