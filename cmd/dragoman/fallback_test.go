package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If a fallback model answers instead of the chosen one, the user gets a notice with the reason
// before its first word, and the usage counts for that model.
func TestFallbackIsReported(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusUnauthorized)
	}))
	t.Cleanup(broken.Close)
	s := &service{script: []part{{say: "Looking. ", call: "read_file", args: map[string]string{"path": "notes.txt"}}, {say: "It is fine."}}}
	works := httptest.NewServer(s)
	t.Cleanup(works.Close)
	p := newPlace(t)
	p.config(t, "model: dear/big\nfallback: [cheap/small]\nproviders:\n  dear: {base_url: "+broken.URL+", api_key: x, models: {big: {context_window: 9000}}}\n"+
		"  cheap: {base_url: "+works.URL+", models: {small: {context_window: 4000, price: {input: 1, output: 2}}}}\n")
	out := p.well(t, "hello\n/costs\n", "chat")
	said, answer, ok := strings.Cut(out, "It is fine.")
	if !ok || strings.Count(said, "is asked instead") != 1 || !strings.Contains(said, "dear/big could not answer, so cheap/small is asked instead: auth (HTTP 401): wrong key") || !strings.Contains(answer, "Price: ") {
		t.Errorf("%s", out)
	}
	id := randomID.FindString(p.well(t, "", "sessions", "list"))
	if shown := p.well(t, "", "sessions", "show", id); !strings.Contains(shown, "cheap/small is asked instead") {
		t.Errorf("%s", shown)
	}
	logs, err := filepath.Glob(filepath.Join(p.data, "sessions", "*", "*.jsonl"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log: %v", err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	log := string(b)
	for _, want := range []string{`"k":"fell_back"`, `"model":"dear/big","instead":"cheap/small"`, `"model":"cheap/small"`, `"window":4000`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %s:\n%s", want, log)
		}
	}
}
