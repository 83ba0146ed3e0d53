package llm

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// The key of Azure has a header of its own, and the version of its older API stays in
// the address.
func TestAzure(t *testing.T) {
	key := func(context.Context) (string, error) { return "sk-1", nil }
	for base, want := range map[string]string{
		"http://svc.test/openai/v1":                                   "/openai/v1/chat/completions",
		"http://svc.test/openai/deployments/d?api-version=2024-10-21": "/openai/deployments/d/chat/completions?api-version=2024-10-21",
	} {
		synctest.Test(t, func(t *testing.T) {
			m := model(t, serve(t, Provider{Kind: KindAzure, BaseURL: base, Key: key}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RequestURI() != want || r.Header.Get("api-key") != "sk-1" || r.Header.Get("Authorization") != "" {
					t.Errorf("%s with %v", r.URL, r.Header)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			if got := coretest.Hear(t.Context(), t, m, &inference.Request{}, nil); got.Text != "hi" || got.Err != nil {
				t.Errorf("%+v", got)
			}
		})
	}
}
