package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// part is a scripted service's answer to one request.
type part struct {
	say     string
	call    string // the name of a tool
	args    any
	finish  string        // the finish_reason; empty: the ordinary one
	begun   chan struct{} // closed when the text is on its way; nil: not waited for
	release chan struct{} // the part after the text waits for it; nil: at once
}

// service is a model's service behind HTTP that follows a script, and stores the last prompt of
// each request.
type service struct {
	config string // of the program that uses it

	mu      sync.Mutex // guards the fields below
	script  []part
	prompts []string
	status  int // status of all requests; 0: they succeed
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // it lists no models
		http.NotFound(w, r)
		return
	}
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // an empty one is noticed by the test
	s.mu.Lock()
	for _, m := range slices.Backward(body.Messages) {
		if m.Role == "user" {
			s.prompts = append(s.prompts, string(m.Content))
			break
		}
	}
	if s.status != 0 {
		defer s.mu.Unlock()
		http.Error(w, `{"error":{"message":"no"}}`, s.status)
		return
	}
	p := part{say: "nothing left to say"}
	if len(s.script) > 0 {
		p, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	send := func(delta any, finish any) {
		b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": delta, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", b)
		w.(http.Flusher).Flush()
	}
	send(map[string]any{"content": p.say}, nil)
	if p.begun != nil {
		close(p.begun)
	}
	if p.release != nil {
		select {
		case <-p.release:
		case <-r.Context().Done():
			return
		}
	}
	finish := "stop"
	if p.call != "" {
		args, _ := json.Marshal(p.args)
		send(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "c1", "type": "function", "function": map[string]any{"name": p.call, "arguments": string(args)}}}}, nil)
		finish = "tool_calls"
	}
	send(map[string]any{}, cmp.Or(p.finish, finish))
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// fail makes every later request fail.
func (s *service) fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *service) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.prompts)
}

// served returns a place whose model follows a script.
func served(t *testing.T, script ...part) (*place, *service) {
	t.Helper()
	s := &service{script: script}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	p := newPlace(t)
	s.config = "model: house/m\nproviders:\n  house: {base_url: " + srv.URL + "}\n"
	p.config(t, s.config)
	return p, s
}

func (p *place) has(name string) bool {
	_, err := os.Stat(filepath.Join(p.work, name))
	return err == nil
}
