package llm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// TestChatFailures: the messages for users when a service refuses.
func TestChatFailures(t *testing.T) {
	anHourLater := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC).Local().Format("15:04") // by the clock of the bubble
	tests := []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   string // the error
		kind   inference.ErrorKind
		tries  int
	}{
		{
			name: "key", status: 401, kind: inference.ErrAuth, tries: 1,
			body: `{"error":{"message":"Incorrect API key provided: canary-key and canary-header."}}`,
			want: "model svc/m: auth (HTTP 401): Incorrect API key provided: [key] and [X-Secret]. Set SVC_KEY or providers.svc.api_key",
		},
		{
			name: "model", status: 404, kind: inference.ErrBadRequest, tries: 1,
			body: `{"error":{"message":"The model does not exist","code":"model_not_found"}}`,
			want: `model svc/m: bad request (HTTP 404): The model does not exist. Check that svc has a model named "m", and that base_url is right (http://svc.test/v1)`,
		},
		{
			name: "page", status: 404, kind: inference.ErrBadRequest, tries: 1, header: map[string]string{"Content-Type": "text/html"},
			body: "<html><h1>Not found</h1></html>",
			want: `model svc/m: bad request (HTTP 404): the service answered with a web page. Check that svc has a model named "m", and that base_url is right (http://svc.test/v1)`,
		},
		{
			name: "gemini", status: 400, kind: inference.ErrBadRequest, tries: 1,
			body: `[{"error":{"code":400,"message":"Function call is missing a thought_signature","status":"INVALID_ARGUMENT"}}]`,
			want: "model svc/m: bad request (HTTP 400): Function call is missing a thought_signature",
		},
		{
			name: "window", status: 400, kind: inference.ErrContextLength, tries: 1,
			body: `{"error":"prompt is too long: 210000 tokens > 200000 maximum"}`,
			want: "model svc/m: context length (HTTP 400): prompt is too long: 210000 tokens > 200000 maximum. Begin a new session, or use a model with a larger window",
		},
		{
			name: "detail", status: 422, kind: inference.ErrBadRequest, tries: 1,
			body: `{"detail":[{"loc":["body","x"],"msg":"Extra inputs are not permitted"}]}`,
			want: `model svc/m: bad request (HTTP 422): [{"loc":["body","x"],"msg":"Extra inputs are not permitted"}]`,
		},
		{
			name: "quota", status: 429, kind: inference.ErrQuota, tries: 1,
			body: `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`,
			want: "model svc/m: quota (HTTP 429): You exceeded your current quota. The account at svc may be out of credit",
		},
		{
			name: "safety", status: 400, kind: inference.ErrSafety, tries: 1,
			body: `{"error":{"message":"The prompt was filtered","code":"content_filter"}}`,
			want: "model svc/m: safety (HTTP 400): The prompt was filtered",
		},
		{
			name: "redirect", status: 308, kind: inference.ErrBadRequest, tries: 1, header: map[string]string{"Location": "https://elsewhere.test/v1"},
			want: "model svc/m: bad request (HTTP 308): the service redirects to https://elsewhere.test/v1. Set base_url of the provider svc to where the service is",
		},
		{
			name: "overloaded", status: 529, kind: inference.ErrOverloaded, tries: 4,
			body: `busy`, want: "model svc/m: overloaded (HTTP 529): busy. Try again later, or use another model",
		},
		{
			name: "conflict", status: 409, kind: inference.ErrServer, tries: 4,
			want: "model svc/m: server (HTTP 409): Conflict",
		},
		{
			name: "long", status: 400, kind: inference.ErrBadRequest, tries: 1,
			body: strings.Repeat("ü", 100_000),
			want: "model svc/m: bad request (HTTP 400): " + strings.Repeat("ü", maxMessage/2) + "…",
		},
		{
			name: "reset times", status: 429, kind: inference.ErrRateLimit, tries: 1,
			header: map[string]string{
				"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "1h0m0s",
				"X-Ratelimit-Remaining-Tokens": "9", "X-Ratelimit-Reset-Tokens": "1s",
			},
			body: `{"error":{"message":"Rate limit reached"}}`,
			want: "model svc/m: rate limit (HTTP 429): Rate limit reached. Try again after " + anHourLater + ", as the service asks, or use another model",
		},
		{
			name: "retry after", status: 429, kind: inference.ErrRateLimit, tries: 1, header: map[string]string{"Retry-After": "3600"},
			body: `{"error":{"message":"Slow down"}}`,
			want: "model svc/m: rate limit (HTTP 429): Slow down. Try again after " + anHourLater + ", as the service asks, or use another model",
		},
		{
			name: "credit", status: 400, kind: inference.ErrQuota, tries: 1,
			body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`,
			want: "model svc/m: quota (HTTP 400): Your credit balance is too low to access the Anthropic API. The account at svc may be out of credit",
		},
		{
			name: "payment", status: 402, kind: inference.ErrQuota, tries: 1,
			body: `{"error":{"message":"Insufficient Balance","type":"unknown_error"}}`,
			want: "model svc/m: quota (HTTP 402): Insufficient Balance. The account at svc may be out of credit",
		},
		{
			name: "gateway's page", status: 502, kind: inference.ErrServer, tries: 4, header: map[string]string{"Content-Type": "text/plain"},
			body: "\n<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502</h1></body></html>",
			want: "model svc/m: server (HTTP 502): the service answered with a web page: 502 Bad Gateway",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				p := Provider{
					Key:     func(context.Context) (string, error) { return "canary-key\n", nil },
					KeyHint: "Set SVC_KEY or providers.svc.api_key", Headers: map[string]string{"X-Secret": "canary-header"},
				}
				m := model(t, serve(t, p, func(w http.ResponseWriter, r *http.Request) {
					tries++
					if r.Header.Get("Authorization") != "Bearer canary-key" || r.Header.Get("X-Secret") != "canary-header" || r.URL.Path != "/v1/chat/completions" {
						t.Errorf("got %s with %v", r.URL, r.Header)
					}
					w.Header().Set("X-Request-Id", "req-7")
					for k, v := range tt.header {
						w.Header().Set(k, v)
					}
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, tt.body)
				}))
				h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
				var e *inference.Error
				if !errors.As(h.Err, &e) {
					t.Fatalf("error is %v", h.Err)
				}
				if e.Error() != tt.want {
					t.Errorf("error\n got %s\nwant %s", e, tt.want)
				}
				if e.Kind != tt.kind || e.RequestID != "req-7" || tries != tt.tries {
					t.Errorf("kind %q, request %q, %d tries; want %q, req-7, %d", e.Kind, e.RequestID, tries, tt.kind, tt.tries)
				}
				if all := fmt.Sprintf("%v %+v", e, *e); strings.Contains(all, "canary") {
					t.Errorf("the error holds a secret: %s", all)
				}
			})
		})
	}
}

// TestChatStreamOptions: a service that refuses the field gets a second request
// without it, and never the field again.
func TestChatStreamOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var with []bool
		m := model(t, serve(t, Provider{}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			has := strings.Contains(string(body), "stream_options")
			if with = append(with, has); has {
				fail(w, 400, "unknown field: stream_options", "invalid_request_error")
				return
			}
			newStream(w).end("stop", "")
		}))
		for range 2 {
			if h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil); h.Err != nil || len(h.Retries) != 0 {
				t.Errorf("error %v, retries %v", h.Err, h.Retries)
			}
		}
		if fmt.Sprint(with) != "[true false false]" {
			t.Errorf("stream_options was sent: %v", with)
		}
	})
}

// TestChatKeyFails: if a key cannot be read, the user gets the error; nothing is sent.
func TestChatKeyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := func(context.Context) (string, error) { return "", errors.New("the variable SVC_KEY is empty") }
		m := model(t, serve(t, Provider{Key: key, KeyHint: "Set it"}, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
		h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
		if want := "model svc/m: auth: the variable SVC_KEY is empty"; h.Err == nil || h.Err.Error() != want {
			t.Errorf("error is %v, want %s", h.Err, want)
		}
	})
}

// TestChatLostBeforeAnswer: if a connection breaks before the first delta, the request
// is repeated.
func TestChatLostBeforeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		m := model(t, serve(t, Provider{}, func(w http.ResponseWriter, _ *http.Request) {
			switch n++; n {
			case 1: // before the head
				breakOff(w)
			case 2: // after it
				newStream(w).raw(": hello\n\n")
				breakOff(w)
			case 3: // an error in place of an answer
				newStream(w).data(`{"error":{"message":"busy","type":"overloaded_error"}}`)
			default:
				s := newStream(w)
				s.text("fine")
				s.end("stop", "")
			}
		}))
		h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
		if h.Err != nil || h.Text != "fine" || len(h.Retries) != 3 {
			t.Errorf("text %q, error %v, retries %v", h.Text, h.Err, h.Retries)
		}
		for i, r := range h.Retries {
			if r > firstWait<<i {
				t.Errorf("retry %d waited %v", i+1, r)
			}
		}
	})
}

// TestChatNoEnd: a service that announces the end but neither ends the stream nor
// sends anything more costs a few seconds, not the answer.
func TestChatNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model(t, serve(t, Provider{}, func(w http.ResponseWriter, r *http.Request) {
			s := newStream(w)
			s.text("fine")
			s.data(finished("stop"))
			<-r.Context().Done()
		}))
		start := time.Now()
		h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), nil)
		if h.Err != nil || h.Text != "fine" || h.Stop != core.StopEnd || time.Since(start) > 2*afterFinish {
			t.Errorf("text %q, stop %q, error %v after %v", h.Text, h.Stop, h.Err, time.Since(start))
		}
	})
}

// TestChatBackpressure: while core does not read, the idle timeout does not run.
func TestChatBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model(t, serve(t, Provider{}, func(w http.ResponseWriter, _ *http.Request) {
			s := newStream(w)
			s.text("a", "b", "c")
			s.end("stop", "")
		}))
		h := coretest.Hear(t.Context(), t, m, coretest.ModelRequest(), func(inference.Delta) bool {
			return sleep(t.Context(), time.Hour) == nil
		})
		if h.Err != nil || h.Text != "abc" {
			t.Errorf("text %q, error %v", h.Text, h.Err)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		tests := []struct {
			name, value string
			status      int
			want        time.Duration
		}{
			{"Retry-After", "3", 503, 3 * time.Second},
			{"Retry-After", "0.5", 429, 500 * time.Millisecond},
			{"Retry-After", "0", 429, 0},
			{"Retry-After", "-1", 429, 0},
			{"Retry-After", "1e300", 429, 1e6 * time.Second},
			{"Retry-After", "soon", 429, 0},
			{"Retry-After", now.Add(20 * time.Second).UTC().Format(http.TimeFormat), 429, 20 * time.Second},
			{"Retry-After", now.Add(-20 * time.Second).UTC().Format(http.TimeFormat), 429, 0},
			{"Retry-After-Ms", "250", 429, 250 * time.Millisecond},
			{"X-Ratelimit-Reset-Tokens", "6m0s", 429, 6 * time.Minute},
			{"X-Ratelimit-Reset-Requests", "20ms", 429, 20 * time.Millisecond},
			{"X-Ratelimit-Reset-Requests", "7", 429, 7 * time.Second},
			{"X-Ratelimit-Reset-Requests", "7", 500, 0},
			{"X-Ratelimit-Reset", fmt.Sprint(now.Add(9 * time.Second).Unix()), 429, 9 * time.Second},
			{"X-Ratelimit-Reset", fmt.Sprint(now.Add(9 * time.Second).UnixMilli()), 429, 9 * time.Second},
			{"X-Ratelimit-Reset", "NaN", 429, 0},
		}
		for _, tt := range tests {
			h := http.Header{tt.name: {tt.value}}
			if got := retryAfter(h, tt.status); got != tt.want {
				t.Errorf("%s: %s is %v, want %v", tt.name, tt.value, got, tt.want)
			}
		}
	})
}

func FuzzComplaint(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"x","code":429}}`, `[{"error":"x"}]`, `{"detail":[]}`, `{"message":{}}`, `null`, `"x"`, `[null]`} {
		f.Add([]byte(s), 0)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		e, _ := chatFor("http://svc.test/v1").complained(parseComplaint(body), status, credentials{key: "canary-key"})
		if e.Kind == "" || strings.Contains(e.Error(), "canary-key") || len(e.Message) > maxMessage+10 {
			t.Errorf("%+v", e)
		}
	})
}

// The advice after a connection that failed names its cause: the company's certificate, the scheme, the proxy.
func TestHintsNameTheCause(t *testing.T) {
	secure, plain := httptest.NewTLSServer(http.NotFoundHandler()), httptest.NewServer(http.NotFoundHandler())
	defer secure.Close()
	defer plain.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	tr := newTransport()
	tr.Proxy = nil
	for base, want := range map[string]string{
		secure.URL + "/v1": "set SSL_CERT_FILE to a file with the company's certificate",
		strings.Replace(plain.URL, "http:", "https:", 1) + "/v1": "base_url may have to begin with http://",
	} {
		r := New(Config{Providers: []Provider{{Name: "svc", Kind: KindOpenAIChat, BaseURL: base}}, Transport: tr})
		h := coretest.Hear(t.Context(), t, model(t, r), coretest.ModelRequest(), nil)
		r.Close()
		if h.Err == nil || !strings.Contains(h.Err.Error(), want) || strings.Contains(h.Err.Error(), "Check base_url of the provider") {
			t.Errorf("%s: %v, want %s", base, h.Err, want)
		}
	}
	m := remoteFor("https://svc.test/v1", KindOpenAIChat)
	for _, err := range []error{
		&net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "http", Err: "no such host"}}},
		&net.OpError{Op: "proxyconnect", Net: "tcp", Err: tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}},
		errors.New(`invalid proxy address "::": missing protocol scheme`),
	} {
		if again, e := m.unreachable(err); again || !strings.Contains(e.Error(), "Check the proxy in HTTPS_PROXY") {
			t.Errorf("%v: %v", err, e)
		}
	}
}
