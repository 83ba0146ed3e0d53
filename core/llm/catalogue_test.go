package llm

import (
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/inference"
)

// Every line of the catalogue is a model with a window, and the file names its source
// and its licence.
func TestCatalogue(t *testing.T) {
	n := 0
	for line := range strings.Lines(catalogueText) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		provider, info, ok := catalogued(line)
		if !ok || provider == "" || info.ID == "" || info.Name == "" || info.Window <= 0 || info.MaxOut <= 0 {
			t.Errorf("%q is read as %q, %+v", line, provider, info)
		}
		n++
	}
	if n < 900 || !strings.Contains(catalogueText, "Generated on 20") || !strings.Contains(catalogueText, "MIT License") {
		t.Errorf("%d models, head %.300s", n, catalogueText)
	}
	if len(Catalogue("gemini")) == 0 || len(Catalogue("anthropic")) == 0 || len(Catalogue("nobody")) != 0 {
		t.Error("a provider is not found, or one that is not there")
	}
}

// A provider's models are read alone, all of them, in the order of the file.
func TestCatalogueReadsTheModelsOfTheProviderAskedFor(t *testing.T) {
	all := &descriptions{text: catalogueText}
	if list := all.of("anthropic"); len(list) == 0 || len(all.read) != 1 {
		t.Errorf("%d models of anthropic, and %d providers are read", len(list), len(all.read))
	}
	next := map[string]int{}
	for line := range strings.Lines(all.text) {
		provider, want, ok := catalogued(strings.TrimSuffix(line, "\n"))
		if !ok {
			continue
		}
		list, i := all.of(provider), next[provider]
		if i >= len(list) || list[i].ID != want.ID || list[i].Window != want.Window {
			t.Fatalf("model %d of %s is not %s", i, provider, want.ID)
		}
		next[provider]++
	}
	for provider, n := range next {
		if got := len(all.of(provider)); got != n {
			t.Errorf("%s has %d models, want %d", provider, got, n)
		}
	}
}

// The configuration wins over the catalogue, and that over assumptions.
func TestInfo(t *testing.T) {
	p := &provider{Provider: Provider{Name: "anthropic", Models: []inference.ModelInfo{
		{ID: "anthropic/claude-sonnet-4-6", Tools: true, Images: true, Window: 200_000}, {ID: "own", Tools: false, Window: 4096},
	}, Own: []inference.ModelInfo{{ID: "anthropic/claude-haiku-4-5", Window: 9, Images: true}}}}
	for _, tt := range []struct {
		model          string
		window, maxOut int
		tools, priced  bool
		name           string
	}{
		{"claude-sonnet-4-6", 200_000, 64_000, true, true, "Claude Sonnet 4.6"},
		{"claude-opus-4-5", 200_000, 64_000, true, true, "Claude Opus 4.5 (latest)"},
		{"own", 4096, 0, false, false, "own"},
		{"other", 0, 0, true, false, "other"},
		{"claude-haiku-4-5", 9, 0, false, false, "claude-haiku-4-5"},
	} {
		got := p.info(tt.model)
		if got.ID != "anthropic/"+tt.model || got.Window != tt.window || got.MaxOut != tt.maxOut || got.Tools != tt.tools || (got.Price != nil) != tt.priced || got.Name != tt.name {
			t.Errorf("%s: %+v", tt.model, got)
		}
	}
}

func TestPrice(t *testing.T) {
	p := inference.Price{In: 3, Out: 15, CacheRead: 0.3, CacheWrite: 3.75}
	u := core.Usage{In: 1_000_000, Out: 100_000, CacheRead: 500_000, CacheWrite: 100_000}
	if got := p.Cost(u); got < 3.2249 || got > 3.2251 { // 0.4·3 + 0.5·0.3 + 0.1·3.75 + 0.1·15
		t.Errorf("cost %v", got)
	}
}

// BenchmarkCatalogue reads the models of one provider.
func BenchmarkCatalogue(b *testing.B) {
	for b.Loop() {
		if all := (&descriptions{text: catalogueText}); len(all.of("openrouter")) == 0 {
			b.Fatal("there are none")
		}
	}
}
