package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// pipes is a network in memory, so that services and clients are in one synctest
// bubble.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
	open  atomic.Int32 // at the client's end
}

// countedConn is a counted connection.
type countedConn struct {
	net.Conn
	once sync.Once
	open *atomic.Int32
}

func (h *countedConn) Close() error {
	h.once.Do(func() { h.open.Add(-1) })
	return h.Conn.Close()
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		p.open.Add(1)
		return &countedConn{Conn: client, open: &p.open}, nil
	case <-p.done:
		return nil, errors.New("the service is gone")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve makes a registry with one provider "svc", which h serves in memory.
func serve(t *testing.T, p Provider, h http.HandlerFunc) *Registry {
	t.Helper()
	r, _ := serveCounted(t, p, h)
	return r
}

// serveAll is serve for a case of the suite: at its end no connection may be left.
func serveAll(t *testing.T, p Provider, h http.HandlerFunc) *Registry {
	t.Helper()
	r, open := serveCounted(t, p, h)
	t.Cleanup(func() {
		r.Close()
		synctest.Wait()
		if n := open.Load(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
	return r
}

func serveCounted(t *testing.T, p Provider, h http.HandlerFunc) (*Registry, *atomic.Int32) {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(l)
	}()
	tr := newTransport()
	tr.Proxy = nil
	tr.DialContext = l.dial
	p.Name, p.Kind = "svc", cmp.Or(p.Kind, KindOpenAIChat)
	if p.BaseURL == "" {
		p.BaseURL = "http://svc.test/v1"
	}
	r := New(Config{Providers: []Provider{p}, Transport: tr})
	t.Cleanup(func() {
		r.Close()
		_ = srv.Close()
		<-ended
	})
	return r, &l.open
}

func model(t *testing.T, r *Registry) inference.Model {
	t.Helper()
	m, err := r.Model("svc/m")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stream answers with lines of server-sent data, each flushed.
type stream struct{ w http.ResponseWriter }

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	s := stream{w}
	s.flush()
	return s
}

func (s stream) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// raw writes bytes unchanged. It reports whether the client is still connected.
func (s stream) raw(text string) bool {
	_, err := io.WriteString(s.w, text)
	s.flush()
	return err == nil
}

func (s stream) data(events ...string) bool {
	for _, e := range events {
		if !s.raw("data: " + e + "\n\n") {
			return false
		}
	}
	return true
}

func (s stream) text(pieces ...string) bool {
	for _, p := range pieces {
		if !s.data(delta(fmt.Sprintf(`"content":%s`, quote(p)))) {
			return false
		}
	}
	return true
}

// end finishes an answer in OpenAI's form.
func (s stream) end(reason, usage string) {
	s.data(finished(reason))
	if usage != "" {
		s.data(`{"choices":[],"usage":` + usage + `}`)
	}
	s.data("[DONE]")
}

func delta(fields string) string {
	return `{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{` + fields + `},"finish_reason":null}]}`
}

func finished(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":` + quote(reason) + `}],"usage":null}`
}

func toolPiece(index int, id, name, args string) string {
	head := ""
	if id != "" {
		head = `"id":` + quote(id) + `,"type":"function",`
	}
	fn := `"arguments":` + quote(args)
	if name != "" {
		fn = `"name":` + quote(name) + `,` + fn
	}
	return delta(fmt.Sprintf(`"tool_calls":[{"index":%d,%s"function":{%s}}]`, index, head, fn))
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

const usage12and3 = `{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}`

// fail answers with an error in OpenAI's form.
func fail(w http.ResponseWriter, status int, message, kind string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%s,"type":%s,"param":null,"code":null}}`, quote(message), quote(kind))
}

// breakOff ends the connection in the middle of an answer.
func breakOff(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

func TestChatSuite(t *testing.T) {
	coretest.Model(t, func(t *testing.T, c coretest.ModelCase) inference.Model {
		return openCase(t, c)
	})
}

func openCase(t *testing.T, c coretest.ModelCase) inference.Model {
	var n atomic.Int32 // requests; a new one may overlap the end of one that was given up
	key := func(context.Context) (string, error) { return coretest.ModelSecret, nil }
	return model(t, serveAll(t, Provider{Key: key, KeyHint: "Set SVC_KEY"}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		act := cases[c]
		if n.Add(1) > 1 && c != coretest.ModelEndless && c != coretest.ModelMute && c != coretest.ModelDown && c != coretest.ModelCall {
			act = cases[coretest.ModelText]
		}
		act(w, r, body)
	}))
}

type act func(w http.ResponseWriter, r *http.Request, body []byte)

var cases = map[coretest.ModelCase]act{
	coretest.ModelText: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		s := newStream(w)
		s.data(delta(`"role":"assistant","content":""`))
		s.text("Hello", ", ", "world.")
		s.end("stop", usage12and3)
	},
	coretest.ModelThought: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		s := newStream(w)
		s.data(delta(`"content":null,"reasoning_content":"First "`), delta(`"reasoning_content":"I think."`))
		s.text("42")
		s.end("stop", "")
	},
	coretest.ModelCall: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		s := newStream(w)
		s.data(toolPiece(0, "call_1", "get_weather", ""), toolPiece(0, "", "", `{"city":`), toolPiece(0, "", "", `"Zürich"}`))
		s.end("tool_calls", "")
	},
	coretest.ModelParallel: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		s := newStream(w)
		s.text("Let me ", "look.")
		s.data(toolPiece(0, "call_a", "get_weather", ""), toolPiece(1, "call_b", "get_time", ""),
			toolPiece(0, "", "", `{"city"`), toolPiece(1, "", "", `{"tz":`), toolPiece(0, "", "", `:"Bern"}`), toolPiece(1, "", "", `"CET"}`))
		s.end("tool_calls", "")
	},
	coretest.ModelBadArgs: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		s := newStream(w)
		s.data(toolPiece(0, "call_1", "get_weather", `{"city":`))
		s.end("tool_calls", "")
	},
	coretest.ModelEndless: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		ten := strings.Repeat("data: "+delta(`"content":"word "`)+"\n\n", 10)
		for s := newStream(w); s.raw(ten); {
		}
	},
	coretest.ModelMute: func(_ http.ResponseWriter, r *http.Request, _ []byte) { <-r.Context().Done() },
	coretest.ModelRateLimit: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Retry-After", "3")
		fail(w, 429, "slow down", "rate_limit_error")
	},
	coretest.ModelLongWait: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Retry-After", "3600")
		fail(w, 429, "slow down", "rate_limit_error")
	},
	coretest.ModelFlaky: func(w http.ResponseWriter, _ *http.Request, _ []byte) { fail(w, 500, "boom", "server_error") },
	coretest.ModelDown:  func(w http.ResponseWriter, _ *http.Request, _ []byte) { fail(w, 500, "boom", "server_error") },
	coretest.ModelReset: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		newStream(w).text("ab", "cd")
		breakOff(w)
	},
	coretest.ModelCut: func(w http.ResponseWriter, _ *http.Request, _ []byte) { newStream(w).text("ab", "cd") },
	coretest.ModelReports: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		s := newStream(w)
		s.text("ab", "cd")
		s.data(`{"error":{"message":"too busy","type":"overloaded_error","code":502}}`)
	},
	coretest.ModelLongLine: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		s := newStream(w)
		s.text(strings.Repeat("x", 100<<10))
		s.end("stop", "")
	},
	coretest.ModelSlow: func(w http.ResponseWriter, r *http.Request, _ []byte) {
		s := newStream(w)
		for _, p := range []string{"a", "b", "c"} {
			s.text(p)
			for range 15 {
				if sleep(r.Context(), 20e9) != nil || !s.raw(": ping\n\n") {
					return
				}
			}
		}
		s.end("stop", "")
	},
	coretest.ModelStalls: func(w http.ResponseWriter, r *http.Request, _ []byte) {
		newStream(w).text("abcd")
		<-r.Context().Done()
	},
	coretest.ModelImage: func(w http.ResponseWriter, _ *http.Request, body []byte) {
		s := newStream(w)
		_, rest, _ := strings.Cut(string(body), "data:")
		url, _, _ := strings.Cut(rest, `"`)
		s.text(strings.Replace(url, ";base64,", ":", 1))
		s.end("stop", "")
	},
	coretest.ModelCached: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		s := newStream(w)
		s.text("ok")
		s.end("stop", `{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":80},"completion_tokens_details":{"reasoning_tokens":5}}`)
	},
	coretest.ModelOverflow: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.WriteHeader(400)
		fmt.Fprint(w, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
	},
	coretest.ModelNoKey: func(w http.ResponseWriter, r *http.Request, _ []byte) {
		fail(w, 401, "Incorrect API key provided: "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "invalid_request_error")
	},
}

// seq is the result of Model.Stream.
type seq = iter.Seq2[inference.Delta, error]

func indented(t *testing.T, body []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
