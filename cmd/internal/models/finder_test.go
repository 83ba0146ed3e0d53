package models

import (
	"strings"
	"testing"

	"dragoman/configs"
)

func TestAgentsFindTheirModels(t *testing.T) {
	layer, err := configs.Parse("config.yaml", []byte(`
model: groq/big
providers:
  broken: {base_url: "${env:NOWHERE}"}
`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := configs.Resolve(layer, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := New(c, Options{Env: func(string) (string, bool) { return "", false }, KeyFile: "config.yaml"})
	for _, want := range []struct{ own, asked, id, err string }{
		{"", "", "groq/big", ""},
		{"openai/own", "", "openai/own", ""},
		{"openai/own", "ollama/asked", "ollama/asked", ""},
		{"", "offline/demo", "offline/demo", ""},
		{"", "nobody/x", "", `there is no provider "nobody"`},
		{"", "broken/x", "", `model "broken/x": config.yaml:4:22: providers.broken.base_url: environment variable NOWHERE is not set`},
	} {
		model, err := m.Of(want.own)(t.Context(), want.asked)
		switch {
		case want.err != "":
			if err == nil || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%+v: %v", want, err)
			}
		case err != nil || model.Info().ID != want.id:
			t.Errorf("%+v: %v, %v", want, model, err)
		}
	}
}
