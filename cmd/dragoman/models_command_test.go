package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
)

// The known models are printed, and those that a configured service lists. Nobody else is asked,
// and that service only once.
func TestModels(t *testing.T) {
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Secret"))
		_, _ = w.Write([]byte(`{"data": [{"id": "listed", "max_model_len": 40960}, {"id": "own"}]}`))
	}))
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
	if strings.Contains(got, "canary") || strings.Join(asked, ", ") != "GET /v1/models canary-0123456789" {
		t.Errorf("a key was shown, or others were asked (%v):\n%s", asked, got)
	}
	p.golden(t, "models.txt", got, srv.URL, "http://SERVER")

	if all := p.well(t, "", "models", "list", "--all", "--json"); strings.Count(all, "\n") < 300 {
		t.Errorf("--all lists %d models", strings.Count(all, "\n"))
	} else {
		for _, line := range strings.Split(strings.TrimSpace(all), "\n") {
			var m struct{ ID, Provider string }
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID == "" || m.Provider == "" {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	for args, want := range map[string]string{
		"models show":          "PROVIDER/MODEL is missing",
		"models":               "choose a subcommand: list or show",
		"models show nowhere":  "want PROVIDER/MODEL",
		"models show nobody/x": `there is no provider "nobody"`,
	} {
		if o := p.run(t, "", strings.Fields(args)...); o.code == program.ExitOK || !strings.Contains(o.errs, want) {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

// The user's settings of a model take precedence over the catalogue, and offer it in every
// protocol.
func TestOwnModels(t *testing.T) {
	p := newPlace(t)
	p.config(t, `model: house/own-4.5
providers:
  house:
    base_url: http://127.0.0.1:9/v1
    models:
      own-4.5: {name: Our Own, context_window: 5000, max_output: 300, can: [text, thinks], efforts: [a, b], price: {input: 1, output: 2}}
      free: {free: true}
  anthropic:
    models:
      claude-sonnet-4-6: {context_window: 77000, can: [tools]}
`)
	p.golden(t, "models_own.txt", p.well(t, "", "models", "list")+p.well(t, "", "models", "show", "house/own-4.5")+p.well(t, "", "models", "show", "anthropic/claude-sonnet-4-6")+p.well(t, "", "models", "show", "house/free"))

	want := []string{"house/own-4.5", "house/free", "anthropic/claude-sonnet-4-6"}
	c := p.started(t, "acp")
	conn := c.connect(t.Context(), wire.Newline, make(inbox, 100).handle)
	if err := conn.Ask(t.Context(), "initialize", obj{"protocolVersion": 1, "clientCapabilities": obj{}}, nil); err != nil {
		t.Fatal(err)
	}
	offers := map[string]string{}
	ask := func(conn *wire.Conn, protocol, method string, params any) {
		t.Helper()
		var raw json.RawMessage
		if err := conn.Ask(t.Context(), method, params, &raw); err != nil {
			t.Fatal(err)
		}
		offers[protocol] += string(raw)
	}
	ask(conn, "acp", "session/new", obj{"cwd": p.work, "mcpServers": []any{}})
	if err := c.end(); err != nil {
		t.Error(err)
	}
	c = p.started(t, "eca")
	s := make(inbox, 1000)
	conn = c.connect(t.Context(), wire.ContentLength, s.handle)
	folders := []any{obj{"uri": "file://" + filepath.ToSlash(p.work), "name": "w"}}
	ask(conn, "eca", "initialize", obj{"capabilities": obj{"codeAssistant": obj{"chat": true}}, "workspaceFolders": folders})
	if err := conn.Notify("initialized", obj{}); err != nil {
		t.Fatal(err)
	}
	ask(conn, "eca's providers", "providers/list", obj{})
	ask(conn, "eca", "shutdown", nil)
	if err := c.end(); err != nil {
		t.Error(err)
	}
	c = p.started(t, "mcp")
	conn = c.connect(t.Context(), wire.Newline, make(inbox, 100).handle)
	if err := conn.Ask(t.Context(), "initialize", obj{"protocolVersion": "2025-11-25", "capabilities": obj{}, "clientInfo": obj{"name": "x", "version": "1"}}, nil); err != nil {
		t.Fatal(err)
	}
	for argument, begin := range map[string]string{"model": "", "provider": "ho", "agent": "pl"} {
		ask(conn, "mcp", "completion/complete", obj{"ref": obj{"type": "ref/prompt", "name": "model"}, "argument": obj{"name": argument, "value": begin}})
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	for protocol, got := range offers {
		for _, id := range want {
			if protocol == "eca's providers" {
				_, id, _ = strings.Cut(id, "/")
			}
			if !strings.Contains(got, `"`+id+`"`) {
				t.Errorf("%s: %s is missing in %s", protocol, id, got)
			}
		}
	}
	if got := offers["mcp"]; !strings.Contains(got, `["house"]`) || !strings.Contains(got, `["plan"]`) {
		t.Errorf("mcp: %s", got)
	}
	if !strings.Contains(offers["acp"], "Our Own") {
		t.Errorf("acp: the name is missing in %s", offers["acp"])
	}
}
