package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
)

// chained are what the services behind langchaingo answer with; %s is a JSON string.
var chained = map[string]string{
	"cloudflare":  `{"result":{"response":%s},"success":true,"errors":[]}`,
	"cohere":      `{"id":"x","generations":[{"id":"y","text":%s}]}`,
	"ernie":       `{"id":"x","result":%s}`,
	"huggingface": `[{"generated_text":%s}]`,
	"maritaca":    `{"answer":%s}`,
}

// chainTo makes a model whose service is h.
func chainTo(t *testing.T, name, key string, h http.HandlerFunc) core.Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	there := tripper(func(r *http.Request) (*http.Response, error) { // ernie's address is fixed
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(srv.URL, "http://")
		return srv.Client().Transport.RoundTrip(r)
	})
	reg := New(Config{Transport: there, Providers: []Provider{{
		Name: "svc", Kind: KindChain + name, BaseURL: srv.URL, KeyHint: "Set SVC_KEY", Options: map[string]string{"account_id": "acc"},
		Key: func(context.Context) (string, error) { return key, nil },
	}}})
	t.Cleanup(reg.Close)
	return model(t, reg)
}

// tripper is a function as a transport.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Each service gets all of the conversation, as it can take it, and its answer
// comes as one text.
func TestChain(t *testing.T) {
	r := coretest.ModelRequest(core.Text{Text: "first question"})
	r.Messages = append(r.Messages, core.Message{Role: core.RoleAssistant, Text: "first answer"},
		core.Message{Role: core.RoleUser, Blocks: []core.Block{core.Text{Text: "second question"}}})
	for name, reply := range chained {
		t.Run(name, func(t *testing.T) {
			sent := ""
			m := chainTo(t, name, "key-0123", func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				sent = string(body)
				fmt.Fprintf(w, reply, quote("the answer"))
			})
			if info := m.Info(); info.Tools || info.Images {
				t.Errorf("it says it can do more than text: %+v", info)
			}
			h := coretest.Hear(t.Context(), t, m, r, nil)
			if h.Err != nil || h.Text != "the answer" || h.Stop != core.StopEnd || h.Usage == nil || !h.Usage.Estimated {
				t.Errorf("heard %+v", h)
			}
			for _, part := range []string{"Be brief.", "first question", "first answer", "second question"} {
				if !strings.Contains(sent, part) {
					t.Errorf("%q was not sent: %s", part, sent)
				}
			}
		})
	}
}

// What fails is an error of the right kind, without the key, and a context that
// ends wins.
func TestChainFails(t *testing.T) {
	const key = "canary-0123456789"
	for name := range chained {
		t.Run(name, func(t *testing.T) {
			m := chainTo(t, name, key, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusTooManyRequests)
				fmt.Fprintf(w, `{"message":"slow down, %s","error_code":18,"error_msg":"slow down","errors":[{"message":"slow down"}]}`, key)
			})
			h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
			var e *core.ModelError
			if !errors.As(h.Err, &e) || strings.Contains(h.Err.Error(), key) {
				t.Fatalf("error %v", h.Err)
			}
			if name != "cohere" && (e.Kind != core.ErrRateLimit || e.RetryAfter == 0) { // that client looks at no status, and lets nobody else
				t.Errorf("kind %q, retry after %v: %v", e.Kind, e.RetryAfter, e)
			}

			ctx, cancel := context.WithCancel(t.Context())
			m = chainTo(t, name, key, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				cancel()
				<-r.Context().Done()
			})
			if h := coretest.Hear(ctx, t, m, coretest.ModelRequest(), nil); !errors.Is(h.Err, context.Canceled) {
				t.Errorf("cancelled: %v", h.Err)
			}
			if h := coretest.Hear(t.Context(), t, chainTo(t, name, "", nil), coretest.ModelRequest(), nil); !errors.As(h.Err, &e) || e.Kind != core.ErrAuth || e.Hint == "" {
				t.Errorf("without a key: %v", h.Err)
			}
		})
	}
}
