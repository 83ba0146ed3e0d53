package llm

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"dragoman/core/inference"
	"dragoman/core/llm/offline"
)

func TestRegistry(t *testing.T) {
	known := inference.ModelInfo{ID: "svc/known", Name: "Known", Window: 1000, MaxOut: 100, Tools: true}
	keys := 0
	r := New(Config{Offline: offline.New(offline.Config{}), Providers: []Provider{
		{Name: "svc", Kind: "later replaced"},
		{
			Name: "svc", Kind: KindOpenAIChat, BaseURL: "https://svc.test/v1", Models: []inference.ModelInfo{known, {ID: "short"}},
			Key: func(context.Context) (string, error) { keys++; return "", nil },
		},
		{Name: "old", Kind: "soap", BaseURL: "https://old.test"},
		{Name: "odd", Kind: KindOpenAIChat, BaseURL: "svc.test/v1"},
		{Name: "none", Kind: KindOpenAIChat},
	}})
	defer r.Close()

	tests := []struct {
		id   string
		want string // Info in short, or a part of the error
	}{
		{"offline/demo", "offline/demo Offline demo (not a language model) window 0"},
		{"svc/known", "svc/known Known window 1000"},
		{"svc/short", "svc/short short window 0"},
		{"svc/maker/other", "svc/maker/other maker/other window 0"},
		{"nowhere/x", `there is no provider "nowhere"; there are none, odd, offline, old, svc`},
		{"offline/x", `there is no provider "offline"`},
		{"gpt-5", `want PROVIDER/MODEL, with one of the providers none, odd, offline, old, svc`},
		{"/x", "want PROVIDER/MODEL"},
		{"svc/", "want PROVIDER/MODEL"},
		{"", "want PROVIDER/MODEL"},
		{"old/x", `provider "old" is of the kind "soap"; known are openai-chat, openai-responses, anthropic, azure, ollama`},
		{"odd/x", `base_url of provider "odd"`},
		{"none/x", `base_url of provider "none"`},
	}
	for _, tt := range tests {
		m, err := r.Model(tt.id)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			i := m.Info()
			got = i.ID + " " + i.Name + " window " + strconv.Itoa(i.Window)
			if provider, _, _ := strings.Cut(tt.id, "/"); i.Provider != provider {
				t.Errorf("%s: provider %q", tt.id, i.Provider)
			}
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%q is %s, want %s", tt.id, got, tt.want)
		}
	}
	var ids []string
	for _, i := range r.Infos() {
		ids = append(ids, i.ID)
	}
	if got := strings.Join(ids, " "); got != "svc/known svc/short offline/demo" {
		t.Errorf("infos are %s", got)
	}
	if keys != 0 {
		t.Error("a key was asked for before the first request")
	}
}

// TestRegistryOffline: the demo is distinguished from a provider with that name.
func TestRegistryOffline(t *testing.T) {
	r := New(Config{Offline: offline.New(offline.Config{}), Providers: []Provider{{Name: "offline", Kind: KindOpenAIChat, BaseURL: "http://x.test"}}})
	if m, err := r.Model(offline.ID); err != nil || !m.Info().Offline {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := r.Model("offline/else"); err != nil || m.Info().Offline {
		t.Errorf("%v, %v", m, err)
	}
}
