package models

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/program/programtest"
	"dragoman/configs"
	"dragoman/configs/configstest"
)

// modelServer is a service that lists models. It counts the requests by path and key.
type modelServer struct {
	*httptest.Server

	mu     sync.Mutex // guards the fields below
	answer string     // empty: it fails
	asked  []string
}

func newModelServer(t *testing.T, answer string) *modelServer {
	s := &modelServer{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Authorization")))
		if s.answer == "" {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(s.answer))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *modelServer) says(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *modelServer) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.asked, ", ")
	s.asked = nil
	return text
}

// asker is a place with a configuration.
type asker struct {
	*programtest.Place
	t      *testing.T
	offers *Offers
}

func newAsker(t *testing.T) *asker {
	a := &asker{Place: programtest.NewPlace(t), t: t}
	a.restart()
	return a
}

// restart is another process with the same data folder.
func (a *asker) restart() { a.offers = NewOffers((&program.Environment{Lookup: a.Lookup}).DataFile) }

// finder returns the models of a configuration.
func (a *asker) finder(config string) *Finder {
	a.t.Helper()
	m := New(configstest.Parsed(a.t, config), Options{Env: a.Lookup, Offers: a.offers})
	a.t.Cleanup(m.Close)
	return m
}

// ids lists the models that are offered, besides the demo.
func ids(m *Finder) string {
	var list []string
	for _, i := range m.Infos() {
		if !i.Offline {
			list = append(list, i.ID)
		}
	}
	return strings.Join(list, " ")
}

func (a *asker) ask(m *Finder, which Asking, wantNews bool, wantErr string) {
	a.t.Helper()
	news, err := m.Ask(a.t.Context(), which)
	if news != wantNews || (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
		a.t.Errorf("news %t, %v; want %t, %q", news, err, wantNews, wantErr)
	}
}

const twoModels = `{"data": [{"id": "a", "max_model_len": 4096}, {"id": "b"}]}`

// The models that a service lists are offered, also by other processes, without being asked again
// within a day.
func TestListedModelsAreOffered(t *testing.T) {
	a, s := newAsker(t), newModelServer(t, twoModels)
	config := "providers: {house: {base_url: " + s.URL + "/v1, api_key: sk-1}}"
	m := a.finder(config)
	if got := ids(m) + s.requests(); got != "" {
		t.Errorf("before: %q", got)
	}
	a.ask(m, Asking{}, true, "")
	if got := s.requests(); got != "/v1/models Bearer sk-1" {
		t.Errorf("asked: %s", got)
	}
	for range 2 {
		m = a.finder(config)
		a.ask(m, Asking{}, false, "")
		if got := ids(m) + s.requests(); got != "house/a house/b" {
			t.Errorf("then: %s", got)
		}
		a.restart()
	}
	if model, err := m.named("house/a"); err != nil || model.Info().Window != 4096 || !model.Info().Tools || model.Info().Name != "a" {
		t.Errorf("%+v, %v", model, err)
	}
	s.says(`{"data": [{"id": "c"}]}`)
	a.ask(m, Asking{Anew: true}, true, "")
	if got := ids(a.finder(config)); got != "house/c" {
		t.Errorf("asked anew: %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(a.Data, "models.json")); err != nil || strings.Contains(string(text), "sk-1") {
		t.Errorf("%s, %v", text, err)
	}
}

// Another address, another key or another header is another service: its models are not known yet.
func TestAnotherKeyAsksAnew(t *testing.T) {
	a, s := newAsker(t), newModelServer(t, twoModels)
	a.Env["HOUSE_KEY"] = "sk-1"
	one := "providers: {house: {base_url: " + s.URL + "/v1, api_key: '${env:HOUSE_KEY}', headers: {X-Team: red}}}"
	a.ask(a.finder(one), Asking{}, true, "")
	for name, change := range map[string]func() string{
		"address": func() string { return strings.ReplaceAll(one, "/v1", "/v2") },
		"header":  func() string { return strings.ReplaceAll(one, "red", "blue") },
		"key":     func() string { a.Env["HOUSE_KEY"] = "sk-2"; return one },
	} {
		s.requests()
		m := a.finder(change())
		if got := ids(m); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		a.ask(m, Asking{}, true, "")
		if got := s.requests(); got == "" {
			t.Errorf("%s: nobody was asked", name)
		}
		a.Env["HOUSE_KEY"] = "sk-1"
	}
}

// A service that fails is not asked again and again, and what it listed before stays.
func TestFailingServiceIsLeftAlone(t *testing.T) {
	a, s := newAsker(t), newModelServer(t, twoModels)
	config := "providers: {house: {base_url: " + s.URL + "/v1}}"
	a.ask(a.finder(config), Asking{}, true, "")
	a.age(25 * time.Hour)
	a.restart()
	s.requests()
	s.says("")
	m := a.finder(config)
	a.ask(m, Asking{}, false, "ask house for its models: "+s.URL+"/v1/models: the answer is 503 Service Unavailable")
	for range 3 {
		a.ask(a.finder(config), Asking{}, false, "")
	}
	if got := s.requests(); got != "/v1/models" {
		t.Errorf("asked %s", got)
	}
	if got := ids(a.finder(config)); got != "house/a house/b" {
		t.Errorf("%s", got)
	}
	s.says(`{"data": [{"id": "c"}]}`)
	a.ask(m, Asking{Anew: true}, true, "")
}

// age makes the kept lists older.
func (a *asker) age(by time.Duration) {
	a.t.Helper()
	path := filepath.Join(a.Data, "models.json")
	text, err := os.ReadFile(path)
	if err != nil {
		a.t.Fatal(err)
	}
	var lists map[string]offerList
	if err := json.Unmarshal(text, &lists); err != nil {
		a.t.Fatal(err)
	}
	for k, l := range lists {
		l.Asked = l.Asked.Add(-by)
		lists[k] = l
	}
	if text, err = json.Marshal(lists); err != nil {
		a.t.Fatal(err)
	}
	programtest.Write(a.t, path, string(text))
}

// A file that cannot be read is made anew, and without a folder the lists are kept in memory.
func TestKeptListsAreOnlyACopy(t *testing.T) {
	s := newModelServer(t, twoModels)
	config := "providers: {house: {base_url: " + s.URL + "/v1}}"
	a := newAsker(t)
	programtest.Write(t, filepath.Join(a.Data, "models.json"), "[1, 2")
	a.ask(a.finder(config), Asking{}, true, "")
	a.restart()
	if got := ids(a.finder(config)); got != "house/a house/b" {
		t.Errorf("a broken file: %s", got)
	}
	a = newAsker(t)
	programtest.Write(t, a.Data, "a file where the folder should be")
	a.ask(a.finder(config), Asking{}, true, "")
	a.ask(a.finder(config), Asking{}, false, "")
	if got := ids(a.finder(config)); got != "house/a house/b" {
		t.Errorf("no folder: %s", got)
	}
}

// Only services that the user has chosen are asked: neither those with a catalogue, nor local ones
// that nothing names. What the user describes counts more than the list.
func TestWhoIsAsked(t *testing.T) {
	programtest.UnixOnly(t)
	s := newModelServer(t, twoModels)
	for _, c := range []struct{ name, config, want, asked string }{
		{"nothing", "{}", "", ""},
		{"a catalogue", "providers: {openrouter: {api_key: x, base_url: 'https://openrouter.ai/api/v1/'}, groq: {max_concurrent: 1}}", "", ""},
		{"no list", "providers: {house: {kind: anthropic, base_url: " + s.URL + "}}", "", ""},
		{"a known name elsewhere", "providers: {mistral: {base_url: " + s.URL + "/v1, api_key: sk}}", "mistral/mistral-large-latest", "/v1/models Bearer sk"},
		{"ollama's form", "providers: {house: {kind: ollama, base_url: " + s.URL + "/v1}}", "", "/api/tags"},
		{
			"described", "model: house/b\nproviders: {house: {base_url: " + s.URL + "/v1, models: {a: {context_window: 9, can: [tools]}, z: {}}}}",
			"house/b house/a house/z", "/v1/models",
		},
	} {
		a := newAsker(t)
		m := a.finder(c.config)
		if (len(m.services) > 0) != (c.asked != "") {
			t.Errorf("%s: asks %+v", c.name, m.services)
			continue
		}
		_, err := m.Ask(t.Context(), Asking{})
		m = a.finder(c.config)
		if got, asked := ids(m), s.requests(); asked != c.asked || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: asked %q, %q, %v", c.name, asked, got, err)
		}
		if model, err := m.named("house/a"); c.name == "described" && (err != nil || model.Info().Window != 9 || model.Info().Images) {
			t.Errorf("%+v, %v", model, err)
		}
	}
	off := New(configstest.Parsed(t, "providers: {house: {base_url: "+s.URL+"}}").Without("house"), Options{Offers: newAsker(t).offers})
	defer off.Close()
	if len(off.services) > 0 {
		t.Error("a provider that is out of use is asked")
	}
	for config, want := range map[string]string{
		"{}": "", "providers: {ollama: {}}": "ollama", "model: lmstudio/x": "lmstudio", "fallback: [ollama/x]": "ollama",
		"agents: {one: {description: x, model: lmstudio/x}}": "lmstudio",
	} {
		var got []string
		for _, service := range newAsker(t).finder(config).services {
			got = append(got, service.provider)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: asks %q", config, got)
		}
	}
}

// A program that prints a key runs only for a person who waits for the list.
func TestKeyProgramsDoNotRunInTheBackground(t *testing.T) {
	programtest.UnixOnly(t)
	a, s := newAsker(t), newModelServer(t, twoModels)
	path := a.Config(t, "providers: {house: {base_url: "+s.URL+"/v1, api_key: '${cmd:echo sk-3}'}}")
	c, err := configs.Load(configs.Options{Path: path, Env: a.Lookup})
	if err != nil {
		t.Fatal(err)
	}
	m := New(c, Options{Env: a.Lookup, Offers: a.offers})
	defer m.Close()
	a.ask(m, Asking{}, false, "")
	if got := s.requests(); got != "" {
		t.Errorf("asked %s", got)
	}
	a.ask(m, Asking{Runs: true}, true, "")
	if got := s.requests(); got != "/v1/models Bearer sk-3" {
		t.Errorf("asked %s", got)
	}
}

// All services are asked at once, and one whose client leaves is not counted as failing.
func TestAskingEnds(t *testing.T) {
	a := newAsker(t)
	begun := make(chan struct{}, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	m := a.finder("providers: {one: {base_url: " + s.URL + "}, two: {base_url: " + s.URL + "}}")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		<-begun
		cancel()
	}()
	if news, err := m.Ask(ctx, Asking{}); news || err == nil {
		t.Errorf("%t, %v", news, err)
	}
	for _, service := range m.services {
		if !a.offers.due(service.key) {
			t.Errorf("%s counts as failing", service.provider)
		}
	}
}
