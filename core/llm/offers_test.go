package llm

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/inference"
)

// offered returns the models in a service's answer, one a line, and the error.
func offered(t *testing.T, p Provider, h http.HandlerFunc) (list []inference.ModelInfo, shown string) {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	p.Name, p.BaseURL = "svc", srv.URL+p.BaseURL
	r := New(Config{Providers: []Provider{p}})
	defer r.Close()
	list, err := r.Offers(t.Context(), "svc")
	for _, m := range list {
		shown += fmt.Sprintf("%s %q %d %d %t %t %t\n", m.ID, m.Name, m.Window, m.MaxOut, m.Tools, m.Images, m.Thinks)
	}
	if err != nil {
		shown += strings.ReplaceAll(err.Error(), srv.URL, "http://svc")
	}
	return list, shown
}

func TestOfferedModels(t *testing.T) {
	for _, c := range []struct{ name, kind, base, path, answer, want string }{
		{
			"OpenAI's form", KindOpenAIChat, "/v1", "/v1/models",
			`{"object": "list", "data": [{"id": "a", "object": "model"}, {"id": "dir/b"}, {"id": "a"}, {"id": ""}, 3, {"id": 7}, {"id": "x y"}, {"id": "x\u001b[2J"}]}`,
			"svc/a \"\" 0 0 true true false\nsvc/dir/b \"\" 0 0 true true false\n",
		},
		{
			"vLLM, OpenRouter and Groq", KindOpenAIResponses, "/v1/", "/v1/models",
			`{"data": [{"id": "a", "max_model_len": 32768}, {"id": "b", "name": "The B", "context_length": 128000, "capabilities": {"vision": true}}, {"id": "c", "context_window": 1e30, "max_completion_tokens": 8192}]}`,
			"svc/a \"\" 32768 0 true true false\nsvc/b \"The B\" 128000 0 true true false\nsvc/c \"\" 0 8192 true true false\n",
		},
		{
			"Ollama's form", KindOllama, "", "/api/tags",
			`{"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "details": {"family": "qwen3"}, "capabilities": ["completion", "tools", "thinking"]}, {"name": "old", "model": "old"}, {"model": "e", "capabilities": ["embedding"]}]}`,
			"svc/qwen3:8b \"qwen3:8b\" 0 0 true false true\nsvc/old \"old\" 0 0 true true false\n",
		},
		{"Ollama's with a version", KindOllama, "/v1", "/api/tags", `{"models": []}`, ""},
		{"the address of a method", KindOpenAIChat, "/v1/chat/completions", "/v1/models", `[{"id": "a", "type": "chat"}, {"id": "b", "type": "image"}]`, "svc/a \"\" 0 0 true true false\n"},
		{"what does not answer", KindOpenAIChat, "/v1", "/v1/models", `{"data": [{"id": "text-embedding-nomic"}, {"id": "bge-reranker"}, {"id": "m", "type": "embeddings"}]}`, ""},
		{"no JSON", KindOpenAIChat, "/v1", "/v1/models", "<html>", "ask svc for its models: the answer is no list of models in JSON"},
		{"no list", KindOpenAIChat, "/v1", "/v1/models", `{"error": "x"}`, "ask svc for its models: the answer has no list of models"},
		{"another form", KindOpenAIChat, "/v1", "/v1/models", `{"data": "x"}`, "ask svc for its models: the answer is no list of models in JSON"},
		{"not there", KindOpenAIChat, "/v2", "/v1/models", "", "ask svc for its models: http://svc/v2/models: the answer is 404 Not Found"},
		{"a kind without a list", KindAnthropic, "/v1", "", "", `ask svc for its models: a provider of the kind "anthropic" has no list`},
	} {
		_, got := offered(t, Provider{Kind: c.kind, BaseURL: c.base}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != c.path {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write([]byte(c.answer))
		})
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// The list of a service is limited, in models and in bytes.
func TestOffersAreLimited(t *testing.T) {
	list, shown := offered(t, Provider{Kind: KindOpenAIChat}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data": [{"id": "m"}`))
		for i := range 5000 {
			fmt.Fprintf(w, `, {"id": "m%d"}`, i)
		}
		_, _ = w.Write([]byte(`]}`))
	})
	if len(list) != maxOffers {
		t.Errorf("%d models: %s", len(list), shown)
	}
	_, shown = offered(t, Provider{Kind: KindOpenAIChat}, func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	if shown != "ask svc for its models: http://svc/models: the list is larger than 8 MiB" {
		t.Error(shown)
	}
}

// The key and the headers go to the provider's own address, and to no other.
func TestOffersKeepTheKey(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	key := func(context.Context) (string, error) { return "canary-key", nil }
	late := func(context.Context) (map[string]string, error) {
		return map[string]string{"X-Late": "canary-late"}, nil
	}
	p := Provider{Kind: KindOpenAIChat, Key: key, LateHeaders: late, Headers: map[string]string{"X-Team": "canary-team"}}
	_, shown := offered(t, p, func(w http.ResponseWriter, r *http.Request) {
		if h := r.Header; h.Get("Authorization") != "Bearer canary-key" || h.Get("X-Late") != "canary-late" || h.Get("X-Team") != "canary-team" {
			t.Errorf("%v", h)
		}
		http.Redirect(w, r, elsewhere.URL+"/v1/models", http.StatusFound)
	})
	if shown != "ask svc for its models: http://svc/models: the answer is 302 Found" {
		t.Error(shown)
	}
}

// A service that does not answer is given up after two seconds, and one whose list never ends, too.
func TestSlowOffers(t *testing.T) {
	for name, begins := range map[string]bool{"silent": false, "endless": true} {
		synctest.Test(t, func(t *testing.T) {
			r := serveAll(t, Provider{}, func(w http.ResponseWriter, r *http.Request) {
				if begins {
					_, _ = w.Write([]byte(`{"data": [`))
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			})
			start := time.Now()
			_, err := r.Offers(t.Context(), "svc")
			if want := "ask svc for its models: http://svc.test/v1/models: no answer within 2s"; err == nil || err.Error() != want || time.Since(start) != offersTimeout {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		})
	}
}
