package llm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dragoman/core"
)

// The file names its source. catalogue.mjs generates it.
//
//go:embed catalogue.tsv.gz
var catalogueFile []byte

// catalogue returns the built-in descriptions of models, by the catalogue's names of
// providers. It is read at the first call.
var catalogue = sync.OnceValue(func() map[string][]core.ModelInfo {
	all := map[string][]core.ModelInfo{}
	z, err := gzip.NewReader(bytes.NewReader(catalogueFile))
	if err != nil {
		return all // it is a part of the program: a test reads it
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		if provider, info, ok := catalogued(lines.Text()); ok {
			all[provider] = append(all[provider], info)
		}
	}
	return all
})

// catalogued reads a line; ok is false for a comment.
func catalogued(line string) (provider string, info core.ModelInfo, ok bool) {
	f := strings.Split(line, "\t")
	if strings.HasPrefix(line, "#") || len(f) != 10 {
		return "", info, false
	}
	number := func(s string) float64 {
		n, _ := strconv.ParseFloat(s, 64) //nolint:errcheck // a test has read the file
		return n
	}
	info = core.ModelInfo{
		ID: f[1], Name: f[2], Window: int(number(f[3])), MaxOut: int(number(f[4])),
		Tools: true, Thinks: strings.Contains(f[5], "r"), Images: strings.Contains(f[5], "i"),
	}
	if info.Thinks {
		info.Efforts = []string{"low", "medium", "high"}
	}
	price := core.Price{In: number(f[6]), Out: number(f[7]), CacheRead: number(f[8]), CacheWrite: number(f[9])}
	if price.In > 0 || price.Out > 0 { // zeros may mean a subscription or nothing at all
		info.Price = &price
	}
	return f[0], info, true
}

// catalogueNames are the names of providers that the catalogue has under another.
var catalogueNames = map[string]string{"gemini": "google", "bedrock": "amazon-bedrock"}

// Catalogue lists the known models of a provider, by their ids there, without a
// request. It returns none for a provider that is not in the catalogue.
func Catalogue(provider string) []core.ModelInfo {
	if name, other := catalogueNames[provider]; other {
		provider = name
	}
	return slices.Clone(catalogue()[provider])
}

// unknown describes a model that is not in the catalogue.
var unknown = core.ModelInfo{Tools: true, Images: true}

// Known returns the catalogue's description of a model, or the one of unknown models.
func Known(provider, model string) core.ModelInfo {
	info, found := known(provider, model)
	if !found {
		info = unknown
	}
	info.ID = provider + "/" + model
	return info
}

// known finds a model in the catalogue.
func known(provider, model string) (core.ModelInfo, bool) {
	if name, other := catalogueNames[provider]; other {
		provider = name
	}
	list := catalogue()[provider]
	i := slices.IndexFunc(list, func(m core.ModelInfo) bool { return m.ID == model })
	if i < 0 {
		return core.ModelInfo{}, false
	}
	return list[i], true
}
