package llm

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"dragoman/core/coretest"
)

// endlessBody is the body of an endless answer.
type endlessBody struct {
	event []byte
	at    int
}

func (e *endlessBody) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], e.event[e.at:])
		n += c
		e.at = (e.at + c) % len(e.event)
	}
	return n, nil
}

func (e *endlessBody) Close() error { return nil }

// wireDelta is a delta in OpenAI's form.
const wireDelta = `{"id":"chatcmpl-BxYz0123456789abcdefghijklmnop","object":"chat.completion.chunk","created":1760000000,"model":"gpt-5.2-2025-12-11",` +
	`"service_tier":"default","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`

// BenchmarkDeltas streams an answer from the transport's body to core's deltas:
// each iteration is one delta.
func BenchmarkDeltas(b *testing.B) {
	pieces := map[string]string{
		"text":  wireDelta,
		"tools": toolPiece(0, "", "", `{"a":`),
	}
	for name, piece := range pieces {
		b.Run(name, func(b *testing.B) {
			event := []byte("data: " + piece + "\n\n")
			first := []byte("data: " + toolPiece(0, "call_1", "f", "") + "\n\n")
			rt := roundTrip(func(*http.Request) io.Reader {
				return io.MultiReader(bytes.NewReader(first), &endlessBody{event: event})
			})
			r := New(Config{Transport: rt, Providers: []Provider{{Name: "svc", Kind: KindOpenAIChat, BaseURL: "http://svc.test/v1"}}})
			m, err := r.Model("svc/m")
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			b.ResetTimer()
			n := 0
			for n < b.N {
				for _, err := range m.Stream(b.Context(), coretest.ModelRequest()) {
					if err != nil {
						break // the limit of arguments
					}
					if n++; n >= b.N {
						break
					}
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deltas/s")
		})
	}
}

type roundTrip func(*http.Request) io.Reader

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(f(r)), Request: r}, nil
}
