package setup

import (
	"slices"
	"strings"
	"testing"

	"dragoman/adapters/acp"
	"dragoman/configs"
	"dragoman/core/inference"
)

func TestRoutes(t *testing.T) {
	p := profilesOf(t, map[string]string{"GROQ_API_KEY": "ours"})
	r := routing{p}
	find := func(id string) acp.Provider {
		t.Helper()
		list := r.List(t.Context())
		i := slices.IndexFunc(list, func(p acp.Provider) bool { return p.ID == id })
		if i < 0 {
			t.Fatalf("%s is not listed", id)
		}
		return list[i]
	}
	if is := find("groq"); !is.Required || is.Type != "openai" || is.BaseURL != "https://api.groq.com/openai/v1" || !slices.Contains(is.Types, "_ollama") {
		t.Errorf("groq: %+v", is)
	}
	if is := find("mistral"); is.Required || is.Type != "" {
		t.Errorf("mistral: %+v", is)
	}
	if err := r.Set(t.Context(), "mistral", "anthropic", "http://localhost:1/v1", map[string]string{"Authorization": "Bearer hunter2"}); err != nil {
		t.Fatal(err)
	}
	if is := find("mistral"); is.Type != "anthropic" || is.BaseURL != "http://localhost:1/v1" {
		t.Errorf("mistral, directed: %+v", is)
	}
	made, err := p.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !made.offers("mistral/mistral-large-latest") || made.Finder.Choice.Provider != "groq" {
		t.Errorf("chosen %s of %d models", made.Finder.Choice, len(inference.ModelsOf(&made.Profile).List))
	}
	for id, want := range map[string]string{"mistrl": "no such provider", "groq": "as \"soap\""} {
		if err := r.Set(t.Context(), id, "soap", "http://localhost:1/v1", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := r.Disable(t.Context(), "groq"); err == nil || !strings.Contains(err.Error(), "choose another one") {
		t.Errorf("the required one: %v", err)
	}
	if err := r.Disable(t.Context(), "nobody"); err != nil {
		t.Errorf("an unknown one: %v", err)
	}
	if err := r.Disable(t.Context(), "mistral"); err != nil {
		t.Fatal(err)
	}
	if is := find("mistral"); is.Type != "" {
		t.Errorf("mistral, out of use: %+v", is)
	}
	if made, err = p.Load(); err != nil || made.offers("mistral/mistral-large-latest") {
		t.Errorf("its models are offered, %v", err)
	}
	if _, err := inference.ModelsOf(&made.Profile).Model(t.Context(), "mistral/x"); err == nil || !strings.Contains(err.Error(), "out of use") {
		t.Errorf("its model: %v", err)
	}
}

// A provider that a client has brought into use can be taken out again, even if it is the only
// one.
func TestRouteThatIsTheOnlyOne(t *testing.T) {
	p := profilesOf(t, nil)
	r := routing{p}
	if err := r.Set(t.Context(), "mistral", "openai", "http://localhost:1/v1", nil); err != nil {
		t.Fatal(err)
	}
	made, err := p.Load()
	if err != nil || made.Finder.Choice.Provider != "mistral" {
		t.Fatalf("chosen: %v, %v", made.Finder.Choice, err)
	}
	if err := r.Disable(t.Context(), "mistral"); err != nil {
		t.Error(err)
	}
	if made, err = p.Load(); err != nil || made.Finder.Choice.Provider != configs.OfflineProvider {
		t.Errorf("chosen afterwards: %v, %v", made.Finder.Choice, err)
	}
}
