package setup

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"dragoman/adapters/acp"
	"dragoman/adapters/pump"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
	"dragoman/core/llm"
	"dragoman/core/loop"
)

// sseBody is the answer of a service that says n pieces of text. One read returns at most a number of
// whole events.
type sseBody struct {
	left, each int
}

const (
	sseEvent = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m",` +
		`"choices":[{"index":0,"delta":{"content":"twenty characters ok"},"finish_reason":null}]}` + "\n\n"
	sseEnd = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

func (b *sseBody) Read(p []byte) (n int, err error) {
	if b.left < 0 {
		return 0, io.EOF
	}
	for range b.each {
		if b.left == 0 {
			b.left = -1
			return n + copy(p[n:], sseEnd), nil
		}
		if len(p)-n < len(sseEvent)+len(sseEnd) {
			break
		}
		n += copy(p[n:], sseEvent)
		b.left--
	}
	return n, nil
}

func (b *sseBody) Close() error { return nil }

// transport answers every request with a new body.
type transport func() *sseBody

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: t(), Request: r}, nil
}

// countingOutput counts what a client gets, and never has it wait.
type countingOutput struct{ bytes int }

func (o *countingOutput) PutLines(b []byte) error             { o.bytes += len(b); return nil }
func (*countingOutput) Room(ctx context.Context, _ int) error { return ctx.Err() }
func (*countingOutput) Queued() int                           { return 0 }
func (*countingOutput) Unread() (int, bool)                   { return 0, true }

// acpFeed is a session over ACP.
type acpFeed struct {
	view  *acp.View
	ended chan struct{}
}

func (f *acpFeed) Encode(dst []byte, r core.Record) ([]byte, func()) {
	if _, ok := r.Event.(core.TurnEnded); ok {
		return acp.Encode(dst, f.view, r), func() { f.ended <- struct{}{} }
	}
	return acp.Encode(dst, f.view, r), nil
}
func (*acpFeed) Caught(core.Pos) {}

func (*acpFeed) Past() bool { return false }
func (*acpFeed) Lost(error) {}

// stream runs one turn whose answer has n pieces, of which each come together, from the model's
// connection to the client's messages.
func stream(tb testing.TB, n, each int) {
	reg := llm.New(llm.Config{
		Transport: transport(func() *sseBody { return &sseBody{n, each} }),
		Providers: []llm.Provider{{Name: "svc", Kind: llm.KindOpenAIChat, BaseURL: "http://svc.test/v1"}},
	})
	backend := loop.New(loop.Options{Model: func(context.Context, *core.Turn) (inference.Model, error) { return reg.Model("svc/m") }})
	prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: backend}}}
	g := core.New(core.Config{
		AskMark: func() string { return "" }, Store: coretest.NewMemory(), Node: "test",
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
	out := &countingOutput{}
	p := pump.New(out)
	ctx, end := context.WithCancel(tb.Context())
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	s, err := g.Create(ctx, core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
	if err != nil {
		tb.Fatal(err)
	}
	a, f := s.Attach(core.Client{Name: "tester"}), &acpFeed{acp.NewView("s", "", core.Pos{}), make(chan struct{}, 1)}
	p.Add(a, core.Pos{}, f, nil)
	if _, err := a.Prompt(ctx, core.Prompt{Blocks: []core.Block{core.Text{Text: "go"}}}); err != nil {
		tb.Fatal(err)
	}
	<-f.ended
	end()
	<-ran
	if err := g.Close(tb.Context()); err != nil {
		tb.Error(err)
	}
	if out.bytes < n*len("twenty characters ok") {
		tb.Errorf("the client got %d bytes", out.bytes)
	}
}

// From the model's connection to the client's messages, text that comes together costs next to no
// allocations for each piece, and a piece that comes alone costs few.
func TestBudgetStream(t *testing.T) {
	if coretest.Race {
		t.Skip("the race detector allocates")
	}
	for _, tt := range []struct {
		each int
		most float64 // allocations for each piece
	}{{1, 10}, {16, 1}} {
		const few, many = 2000, 22000
		cost := func(n int) float64 { return testing.AllocsPerRun(3, func() { stream(t, n, tt.each) }) }
		got := (cost(many) - cost(few)) / (many - few)
		if t.Logf("%d together: %.2f allocations each", tt.each, got); got > tt.most {
			t.Errorf("%d together: %.2f allocations each, more than %v", tt.each, got, tt.most)
		}
	}
}

// BenchmarkStream is the cost of a piece of text from the model's connection to the client's messages.
func BenchmarkStream(b *testing.B) {
	for _, each := range []int{1, 16} {
		b.Run(fmt.Sprintf("together=%d", each), func(b *testing.B) {
			b.ReportAllocs()
			stream(b, b.N, each)
		})
	}
}
