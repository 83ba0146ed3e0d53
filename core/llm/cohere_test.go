package llm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// Cohere is asked at its endpoint for chat completions, with tools; a base URL with a path
// is used as it is.
func TestCohere(t *testing.T) {
	for base, want := range map[string]string{"": "/compatibility/v1/chat/completions", "/other/v2": "/other/v2/chat/completions"} {
		t.Run(want, func(t *testing.T) {
			path, key := "", ""
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				path, key = r.URL.Path, r.Header.Get("Authorization")
				fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			defer srv.Close()
			r := New(Config{Providers: []Provider{{
				Name: "svc", Kind: KindCohere, BaseURL: srv.URL + base,
				Key: func(context.Context) (string, error) { return "key-0123", nil },
			}}})
			defer r.Close()
			m := model(t, r)
			if !m.Info().Tools {
				t.Error("it says that it accepts no tools")
			}
			h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(core.Text{Text: "hello"}), nil)
			if h.Err != nil || h.Text != "Hello." || path != want || !strings.Contains(key, "key-0123") {
				t.Errorf("at %s with %q: %+v", path, key, h)
			}
		})
	}
}
