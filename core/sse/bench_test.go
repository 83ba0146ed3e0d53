package sse

import "testing"

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

// delta is a delta in OpenAI's form.
const delta = `{"id":"chatcmpl-BxYz0123456789abcdefghijklmnop","object":"chat.completion.chunk","created":1760000000,"model":"gpt-5.2-2025-12-11",` +
	`"service_tier":"default","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`

// BenchmarkEvents reads server-sent events without parsing their data.
func BenchmarkEvents(b *testing.B) {
	event := []byte("data: " + delta + "\n\n")
	r := NewReader(&endlessBody{event: event}, maxEvent)
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}
