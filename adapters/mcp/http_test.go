package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/coretest"
)

// overHTTPToo lists the conversations that are the same over HTTP; the others are about the pipe,
// or about the order of messages on it. (The stream of a question that is withdrawn when its call
// ends at once may be closed.)
var overHTTPToo = []string{
	"again", "again_timeout", "approve", "auto", "broken", "busy", "cwd", "early", "early_all", "elicit",
	"elicit_answers", "elicit_slow", "hard", "logging", "narrowed", "persons", "prompts", "resources", "roots_given", "roots_home",
	"tasks",
}

func TestConversationsOverHTTP(t *testing.T) {
	for _, name := range overHTTPToo {
		coretest.Golden(t, filepath.Join("testdata", name+".txtar"), false, func(t *testing.T, _ string, ar *txtar.Archive) { converseAll(t, serveHTTP, ar) })
	}
}

// serveHTTP serves without a network.
func serveHTTP(t *testing.T, o mcp.Options) (_ peer, stop func()) {
	t.Helper()
	o.Version = "1.2.3"
	o.Instructions = "be nice"
	h := mcp.New(o).HTTP(func(*http.Request) access.Holder { return access.Owner(core.Local) })
	ctx, cancel := context.WithCancel(t.Context())
	p := &httpPeer{t: t, h: h, gone: cancel, ctx: func() context.Context { return ctx }}
	return p, func() {
		p.Hangup()
		h.Close()
		p.wg.Wait()
	}
}

// httpPeer is a client over HTTP: each message is a request, and messages without a request come
// over a stream.
type httpPeer struct {
	t    *testing.T
	h    http.Handler
	ctx  func() context.Context
	gone context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	session string
	queue   []string
}

func (p *httpPeer) request(ctx context.Context, method, body string, headers ...string) *bufferedResponse {
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	p.mu.Lock()
	if p.session != "" {
		r.Header.Set("Mcp-Session-Id", p.session)
	}
	p.mu.Unlock()
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := &bufferedResponse{peer: p, header: http.Header{}}
	p.wg.Go(func() {
		p.h.ServeHTTP(w, r)
		w.end()
	})
	return w
}

// Send implements peer.
func (p *httpPeer) Send(messages ...string) error {
	for _, m := range messages {
		var s struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string          `json:"name"`
				URI  string          `json:"uri"`
				Task string          `json:"taskId"`
				ID   json.RawMessage `json:"requestId"`
				Meta struct {
					Version string `json:"io.modelcontextprotocol/protocolVersion"`
				} `json:"_meta"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(m), &s); err != nil {
			return err
		}
		ctx, headers := p.ctx(), []string(nil)
		if v := s.Params.Meta.Version; v != "" {
			headers = []string{"Mcp-Protocol-Version", v, "Mcp-Method", s.Method, "Mcp-Name", s.Params.Name + s.Params.URI + s.Params.Task}
		}
		w := p.request(ctx, http.MethodPost, m, headers...)
		synctest.Wait()
		if s.Method == "initialize" && w.header.Get("Mcp-Session-Id") != "" {
			p.mu.Lock()
			p.session = w.header.Get("Mcp-Session-Id")
			p.mu.Unlock()
			p.request(ctx, http.MethodGet, "")
			synctest.Wait()
		}
	}
	return nil
}

// Pending implements peer.
func (p *httpPeer) Pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue) > 0
}

// Next implements peer.
func (p *httpPeer) Next() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return "", io.EOF
	}
	m := p.queue[0]
	p.queue = p.queue[1:]
	return m, nil
}

// Hangup implements peer: the session ends, then the connections.
func (p *httpPeer) Hangup() {
	p.mu.Lock()
	session := p.session
	p.mu.Unlock()
	if session != "" {
		p.request(p.ctx(), http.MethodDelete, "")
		synctest.Wait()
	}
	p.gone()
}

// bufferedResponse is a response in the client's form.
type bufferedResponse struct {
	peer   *httpPeer
	header http.Header
	status int
	body   []byte
}

func (w *bufferedResponse) Header() http.Header { return w.header }

func (w *bufferedResponse) WriteHeader(status int) { w.status = status }

func (w *bufferedResponse) Flush() {}

func (w *bufferedResponse) Write(b []byte) (int, error) {
	if strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream") {
		for line := range bytes.Lines(b) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(bytes.TrimSpace(data)) > 0 {
				w.put(string(bytes.TrimSpace(data)))
			}
		}
		return len(b), nil
	}
	w.body = append(w.body, b...)
	return len(b), nil
}

func (w *bufferedResponse) end() {
	switch {
	case len(w.body) == 0:
	case strings.HasPrefix(w.header.Get("Content-Type"), "application/json"):
		w.put(string(w.body))
	default:
		w.put(fmt.Sprintf("%d %s", w.status, bytes.TrimSpace(w.body)))
	}
}

func (w *bufferedResponse) put(m string) {
	w.peer.mu.Lock()
	defer w.peer.mu.Unlock()
	w.peer.queue = append(w.peer.queue, m)
}

// A request whose id is null is answered, at every version with a date.
func TestRequestsWithANullIDAreRefusedOverHTTP(t *testing.T) {
	t.Parallel()
	h := mcp.New(mcp.Options{}).HTTP(func(*http.Request) access.Holder { return access.Owner(core.Local) })
	defer h.Close()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":null,"method":"ping"}`)))
	if got := w.Body.String(); w.Code != http.StatusBadRequest || !strings.Contains(got, `"id":null,"error":{"code":-32600,"message":"ping: the id of a request must not be null"}`) {
		t.Errorf("%d %s", w.Code, got)
	}
}
