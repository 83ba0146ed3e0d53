package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// chained are the answers of the services behind langchaingo; %s is a JSON string.
var chained = map[string]string{
	"cloudflare":  `{"result":{"response":%s},"success":true,"errors":[]}`,
	"ernie":       `{"id":"x","result":%s}`,
	"huggingface": `[{"generated_text":%s}]`,
	"maritaca":    `{"answer":%s}`,
}

// chainTo makes a model with the service h.
func chainTo(t *testing.T, name, key string, h http.HandlerFunc) inference.Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	there := tripper(func(r *http.Request) (*http.Response, error) { // ernie's address is fixed
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(srv.URL, "http://")
		return srv.Client().Transport.RoundTrip(r)
	})
	base := srv.URL
	if links()[name].fixed {
		base = ""
	}
	reg := New(Config{Transport: there, Providers: []Provider{{
		Name: "svc", Kind: KindChain + name, BaseURL: base, KeyHint: "Set SVC_KEY", Options: map[string]string{"account_id": "acc"},
		Key: func(context.Context) (string, error) { return key, nil },
	}}})
	t.Cleanup(reg.Close)
	return model(t, reg)
}

// tripper is a function as a transport.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Each service gets the whole conversation, in a form that it accepts, and its answer
// is one text.
func TestChain(t *testing.T) {
	r := coretest.ModelRequest(core.Text{Text: "first question"})
	r.Messages = append(r.Messages, inference.Message{Role: inference.RoleAssistant, Text: "first answer"},
		inference.Message{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: "second question"}}})
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

// A failure is an error of the right kind, without the key, and the end of the context
// wins.
func TestChainFails(t *testing.T) {
	const key = "canary-0123456789"
	for name := range chained {
		t.Run(name, func(t *testing.T) {
			m := chainTo(t, name, key, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
				fmt.Fprintf(w, `{"message":"slow down, %s","error_code":18,"error_msg":"slow down","errors":[{"message":"slow down"}]}`, key)
			})
			h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
			var e *inference.Error
			if !errors.As(h.Err, &e) || strings.Contains(h.Err.Error(), key) {
				t.Fatalf("error %v", h.Err)
			}
			if e.Kind != inference.ErrRateLimit || e.RetryAfter == 0 {
				t.Errorf("kind %q, retry after %v: %v", e.Kind, e.RetryAfter, e)
			}

			asked := make(chan struct{})
			m = chainTo(t, name, key, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				asked <- struct{}{}
				<-r.Context().Done()
			})
			for range 40 {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-asked
					cancel()
				}()
				if h := coretest.Hear(ctx, t, m, coretest.ModelRequest(), nil); !errors.Is(h.Err, context.Canceled) || h.Stop != "" {
					t.Fatalf("cancelled: %q, %v", h.Stop, h.Err)
				}
			}
			if h := coretest.Hear(t.Context(), t, chainTo(t, name, "", nil), coretest.ModelRequest(), nil); !errors.As(h.Err, &e) || e.Kind != inference.ErrAuth || e.Hint == "" {
				t.Errorf("without a key: %v", h.Err)
			}
		})
	}
}

// An address that would not be used is refused, not ignored.
func TestChainFixedAddress(t *testing.T) {
	r := New(Config{Providers: []Provider{{Name: "svc", Kind: KindChain + "maritaca", BaseURL: "http://svc.test"}}})
	if _, err := r.Model("svc/m"); err == nil || !strings.Contains(err.Error(), "has a fixed address") {
		t.Errorf("%v", err)
	}
}

// The cases of the suite for a service without streams: limits, tries, timeouts,
// cancels and errors. The other services have an address, or a client, of their own.
func TestChainSuite(t *testing.T) {
	for name, reply := range chained {
		if name != "cloudflare" && name != "huggingface" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			coretest.Model(t, func(t *testing.T, c coretest.ModelCase) inference.Model {
				switch c {
				case coretest.ModelText, coretest.ModelThought, coretest.ModelCall, coretest.ModelParallel, coretest.ModelBadArgs, coretest.ModelImage, coretest.ModelCached:
					t.Skip("it is a text for a text, and nothing is counted")
				case coretest.ModelEndless, coretest.ModelReset, coretest.ModelCut, coretest.ModelReports, coretest.ModelSlow, coretest.ModelStalls:
					t.Skip("it has no stream")
				case coretest.ModelMute, coretest.ModelRateLimit, coretest.ModelLongWait, coretest.ModelFlaky, coretest.ModelDown, coretest.ModelLongLine, coretest.ModelOverflow, coretest.ModelNoKey:
				}
				var n atomic.Int32
				key := func(context.Context) (string, error) { return coretest.ModelSecret, nil }
				p := Provider{Kind: KindChain + name, Key: key, KeyHint: "Set SVC_KEY", Options: map[string]string{"account_id": "acc"}}
				return model(t, serveAll(t, p, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					say := c
					if n.Add(1) > 1 && c != coretest.ModelMute && c != coretest.ModelDown {
						say = coretest.ModelText
					}
					chainSpeaks(w, r, say, reply)
				}))
			})
		})
	}
}

// chainSpeaks is speaks for a service that does not stream.
func chainSpeaks(w http.ResponseWriter, r *http.Request, c coretest.ModelCase, reply string) {
	refuse := func(status int, message string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"message":%[1]s,"error":{"message":%[1]s},"errors":[{"message":%[1]s}]}`, quote(message))
	}
	switch c {
	case coretest.ModelMute:
		<-r.Context().Done()
	case coretest.ModelRateLimit:
		w.Header().Set("Retry-After", "3")
		refuse(429, "slow down")
	case coretest.ModelLongWait:
		w.Header().Set("Retry-After", "3600")
		refuse(429, "slow down")
	case coretest.ModelFlaky, coretest.ModelDown:
		refuse(500, "boom")
	case coretest.ModelOverflow:
		refuse(400, "prompt is too long: 210000 tokens > 200000 maximum")
	case coretest.ModelNoKey:
		refuse(401, "invalid key "+r.Header.Get("Authorization"))
	case coretest.ModelLongLine:
		fmt.Fprintf(w, reply, quote(strings.Repeat("x", 100<<10)))
	case coretest.ModelText, coretest.ModelThought, coretest.ModelCall, coretest.ModelParallel, coretest.ModelBadArgs, coretest.ModelImage, coretest.ModelCached,
		coretest.ModelEndless, coretest.ModelReset, coretest.ModelCut, coretest.ModelReports, coretest.ModelSlow, coretest.ModelStalls:
		fmt.Fprintf(w, reply, quote("Hello, world."))
	}
}
