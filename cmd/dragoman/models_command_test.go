package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is known of models is printed without a word to anybody.
func TestModels(t *testing.T) {
	asked := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer srv.Close()
	p := newPlace(t)
	bare := p.well(t, "", "models", "list") + "----\n" + p.well(t, "", "models", "show", "offline/demo")
	p.golden(t, "models_bare.txt", bare)

	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		p.env[name] = srv.URL
	}
	p.env["DEEPSEEK_API_KEY"] = "canary-0123456789"
	p.config(t, "model: house/own\nproviders:\n  house: {base_url: "+srv.URL+"/v1, headers: {X-Secret: canary-0123456789}}\n  poet: {kind: langchain/cohere, api_key: canary-0123456789}\n"+
		"agents:\n  writer: {model: poet/command}\n")
	got := ""
	for _, args := range []string{
		"models list", "models list --json", "models list --all sonnet 4-6", "models list no-such-model", "models show house/own", "models show house/own --json",
		"models show deepseek/deepseek-v4-pro", "models show poet/command", "models show anthropic/claude-sonnet-4-6", "models show gemini/nobody-knows-it",
	} {
		got += "$ dragoman " + args + "\n" + p.well(t, "", strings.Fields(args)...) + "\n"
	}
	if strings.Contains(got, "canary") || asked {
		t.Errorf("a key was shown, or somebody was asked (%v):\n%s", asked, got)
	}
	p.golden(t, "models.txt", got, srv.URL, "http://SERVER")

	if all := p.well(t, "", "models", "list", "--all", "--json"); strings.Count(all, "\n") < 300 {
		t.Errorf("--all lists %d models", strings.Count(all, "\n"))
	} else {
		for _, line := range strings.Split(strings.TrimSpace(all), "\n") {
			var m modelJSON
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID == "" || m.Provider == "" {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	for args, want := range map[string]string{
		"models show":          "accepts 1 arg(s)",
		"models":               "say what to do: list or show",
		"models show nowhere":  "want PROVIDER/MODEL",
		"models show nobody/x": `there is no provider "nobody"`,
	} {
		if o := p.run(t, "", strings.Fields(args)...); o.code == exitOK || !strings.Contains(o.errs, want) {
			t.Errorf("%s: %+v", args, o)
		}
	}
}
