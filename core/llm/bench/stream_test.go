package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"syscall"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/tmc/langchaingo/llms"
	chainanthropic "github.com/tmc/langchaingo/llms/anthropic"
	chainopenai "github.com/tmc/langchaingo/llms/openai"

	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/llm"
)

// body is a service in memory: every request is answered with the same stream.
type body []byte

func (b body) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(b)),
	}, nil
}

// Do is what langchaingo wants of a client.
func (b body) Do(r *http.Request) (*http.Response, error) { return b.RoundTrip(r) }

// chat is a stream of OpenAI's chat completions with n pieces of text. As there, something
// is new in each event.
func chat(n int) body {
	var b bytes.Buffer
	pad := 0
	chunk := func(choice, usage string) {
		pad = (pad*31 + 7) % 1_000_003
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-BxYz0123456789abcdefghijklmnop","object":"chat.completion.chunk","created":1760000000,"model":"gpt-5.2-2025-12-11",`+
			`"service_tier":"default","system_fingerprint":"fp_0123456789","choices":[%s],"usage":%s,"obfuscation":"%x"}`+"\n\n", choice, usage, pad)
	}
	for range n {
		chunk(`{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}`, "null")
	}
	chunk(`{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}`, "null")
	chunk("", fmt.Sprintf(`{"prompt_tokens":12,"completion_tokens":%d,"total_tokens":%d}`, n, n+12))
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

// messages is a stream of Anthropic's messages with n pieces of text.
func messages(n int) body {
	var b bytes.Buffer
	event := func(name, data string) { fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data) }
	event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":12,"output_tokens":1}}}`)
	event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for range n {
		event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`)
	}
	event("content_block_stop", `{"type":"content_block_stop","index":0}`)
	event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":%d}}`, n))
	event("message_stop", `{"type":"message_stop"}`)
	return b.Bytes()
}

// A reader reads a whole answer and returns how many pieces of text came.
type reader func(ctx context.Context) (pieces int, err error)

func ours(kind string, b body) reader {
	r := llm.New(llm.Config{Transport: b, Providers: []llm.Provider{{Name: "svc", Kind: kind, BaseURL: "http://svc.test/v1"}}})
	m, err := r.Model("svc/m")
	if err != nil {
		panic(err)
	}
	req := &inference.Request{Messages: []inference.Message{{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: "go"}}}}}
	return func(ctx context.Context) (n int, err error) {
		for d, err := range m.Stream(ctx, req) {
			if err != nil {
				return n, err
			}
			if d.Kind == inference.DeltaText {
				n++
			}
		}
		return n, nil
	}
}

func openaiGo(b body) reader {
	c := openai.NewClient(openaioption.WithHTTPClient(&http.Client{Transport: b}), openaioption.WithAPIKey("x"), openaioption.WithBaseURL("http://svc.test/v1"))
	return func(ctx context.Context) (n int, err error) {
		s := c.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}})
		for s.Next() {
			if c := s.Current().Choices; len(c) > 0 && c[0].Delta.Content != "" {
				n++
			}
		}
		return n, s.Err()
	}
}

func anthropicGo(b body) reader {
	c := anthropic.NewClient(anthropicoption.WithHTTPClient(&http.Client{Transport: b}), anthropicoption.WithAPIKey("x"), anthropicoption.WithBaseURL("http://svc.test"))
	return func(ctx context.Context) (n int, err error) {
		s := c.Messages.NewStreaming(ctx, anthropic.MessageNewParams{Model: "m", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("go"))}})
		for s.Next() {
			if e, ok := s.Current().AsAny().(anthropic.ContentBlockDeltaEvent); ok && e.Delta.Text != "" {
				n++
			}
		}
		return n, s.Err()
	}
}

func chain(m llms.Model, err error) reader {
	if err != nil {
		panic(err)
	}
	return func(ctx context.Context) (n int, err error) {
		_, err = m.GenerateContent(ctx, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "go")},
			llms.WithStreamingFunc(func(_ context.Context, piece []byte) error {
				if len(piece) > 0 {
					n++
				}
				return nil
			}))
		return n, err
	}
}

// cpuTime is what this process has used of the processors, in nanoseconds. Unlike the
// clock it does not see who else is at work.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkStream reads answers of 1,000 and of 10,000 pieces. What counts is the
// time and the allocations of a piece.
func BenchmarkStream(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		c, m := chat(n), messages(n)
		for _, one := range []struct {
			name string
			read reader
		}{
			{"chat/ours", ours(llm.KindOpenAIChat, c)},
			{"chat/openai-go", openaiGo(c)},
			{"chat/langchaingo", chain(chainopenai.New(chainopenai.WithHTTPClient(c), chainopenai.WithToken("x"), chainopenai.WithModel("m"), chainopenai.WithBaseURL("http://svc.test/v1")))},
			{"messages/ours", ours(llm.KindAnthropic, m)},
			{"messages/anthropic-sdk-go", anthropicGo(m)},
			{"messages/langchaingo", chain(chainanthropic.New(chainanthropic.WithHTTPClient(m), chainanthropic.WithToken("x"), chainanthropic.WithModel("m"), chainanthropic.WithBaseURL("http://svc.test/v1")))},
		} {
			b.Run(fmt.Sprintf("%s/%d", one.name, n), func(b *testing.B) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := cpuTime(b)
				for b.Loop() {
					if got, err := one.read(b.Context()); err != nil || got != n {
						b.Fatalf("%d pieces, %v", got, err)
					}
				}
				runtime.ReadMemStats(&after)
				pieces := float64(b.N) * float64(n)
				b.ReportMetric(float64(cpuTime(b)-began)/pieces, "cpu-ns/piece") // the collector's included
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/pieces, "allocs/piece")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/pieces, "B/piece")
			})
		}
	}
}
