package llm

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dragoman/core/inference"
)

// catalogueText has a line for each model, sorted, so that those of a provider follow one
// another. The file names its source. catalogue.mjs generates it.
//
//go:embed catalogue.tsv
var catalogueText string

// catalogue are the descriptions that the program comes with.
var catalogue = descriptions{text: catalogueText}

// descriptions describe models. Those of a provider are read when they are first needed: few
// users have keys for many providers.
type descriptions struct {
	text string

	mu   sync.Mutex                       // guards read
	read map[string][]inference.ModelInfo // by the catalogue's names of providers
}

// of returns the models of a provider. The caller must not change them.
func (d *descriptions) of(provider string) []inference.ModelInfo {
	if name, other := catalogueNames[provider]; other {
		provider = name
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	list, read := d.read[provider]
	if read {
		return list
	}
	if at := strings.Index(d.text, "\n"+provider+"\t"); at >= 0 {
		for line := range strings.Lines(d.text[at+1:]) {
			name, info, ok := catalogued(strings.TrimSuffix(line, "\n"))
			if name != provider || !ok {
				break
			}
			list = append(list, info)
		}
	}
	if d.read == nil {
		d.read = map[string][]inference.ModelInfo{}
	}
	d.read[provider] = list
	return list
}

// catalogued reads a line; ok is false for a comment.
func catalogued(line string) (provider string, info inference.ModelInfo, ok bool) {
	f := strings.Split(line, "\t")
	if strings.HasPrefix(line, "#") || len(f) != 10 {
		return "", info, false
	}
	number := func(s string) float64 {
		n, _ := strconv.ParseFloat(s, 64) //nolint:errcheck // a test checks the file
		return n
	}
	info = inference.ModelInfo{
		ID: f[1], Name: f[2], Window: int(number(f[3])), MaxOut: int(number(f[4])),
		Tools: true, Thinks: strings.Contains(f[5], "r"), Images: strings.Contains(f[5], "i"),
	}
	if info.Thinks {
		info.Efforts = []string{"low", "medium", "high"}
	}
	price := inference.Price{
		In:         number(f[6]),
		Out:        number(f[7]),
		CacheRead:  number(f[8]),
		CacheWrite: number(f[9]),
	}
	if price.In > 0 || price.Out > 0 { // zeros may mean a subscription or an unknown price
		info.Price = &price
	}
	return f[0], info, true
}

// catalogueNames maps providers to their names in the catalogue, where they differ.
var catalogueNames = map[string]string{"gemini": "google", "bedrock": "amazon-bedrock"}

// Catalogue lists the known models of a provider, by their ids there, without a
// request. It returns none for a provider that is not in the catalogue.
func Catalogue(provider string) []inference.ModelInfo {
	return slices.Clone(catalogue.of(provider))
}

// unknown describes a model that is not in the catalogue.
var unknown = inference.ModelInfo{Tools: true, Images: true}

// Known returns the catalogue's description of a model, or the one of unknown models.
func Known(provider, model string) inference.ModelInfo {
	info, found := known(provider, model)
	if !found {
		info = unknown
	}
	info.ID = provider + "/" + model
	return info
}

// known finds a model in the catalogue.
func known(provider, model string) (inference.ModelInfo, bool) {
	list := catalogue.of(provider)
	i := slices.IndexFunc(list, func(m inference.ModelInfo) bool { return m.ID == model })
	if i < 0 {
		return inference.ModelInfo{}, false
	}
	return list[i], true
}
