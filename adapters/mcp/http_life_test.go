package mcp_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/coretest"
)

// site serves over a network.
type site struct {
	t   *testing.T
	h   http.Handler
	url string
	g   *core.Gateway
}

func newSite(t *testing.T) *site {
	t.Helper()
	g := newGateway(coretest.NewMemory(), 0, nil)
	h := mcp.New(mcp.Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()}).HTTP(func(r *http.Request) access.Holder {
		return access.Owner(core.Principal(cmp.Or(r.Header.Get("Test-Principal"), string(core.Local))))
	})
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		srv.Close()
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &site{t, h, srv.URL, g}
}

// do sends one request and returns the response with its body open.
func (s *site) do(ctx context.Context, method, body string, headers ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() }) //nolint:errcheck // it was read
	return res
}

// say sends one request and returns its status and the response.
func (s *site) say(method, body string, headers ...string) (int, string) {
	s.t.Helper()
	res := s.do(s.t.Context(), method, body, headers...)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// begin opens a session of the protocol.
func (s *site) begin(version string, headers ...string) (id string) {
	s.t.Helper()
	res := s.do(s.t.Context(), "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, headers...)
	id = res.Header.Get("Mcp-Session-Id")
	if _, err := io.ReadAll(res.Body); err != nil || id == "" {
		s.t.Fatalf("no session: %d, %v", res.StatusCode, err)
	}
	return id
}

func prompting(id int, text, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":"agent_prompt","arguments":{"prompt":%q}}}`, id, meta, text)
}

const tokenMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"m","version":"1"},"progressToken":1},`

// running waits until a session has a running turn, or none.
func (s *site) running(id core.SessionID, want bool) {
	s.t.Helper()
	open, err := s.g.Open(s.t.Context(), core.Local, id)
	if err != nil {
		s.t.Fatal(err)
	}
	a := open.Attach(core.Client{Name: "looking", Role: core.Observe})
	defer a.Close()
	r := a.Read(core.Pos{})
	defer r.Close()
	for a.State().Turn != "" != want {
		if _, err := r.Next(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestHTTPSessions(t *testing.T) {
	s := newSite(t)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	id := s.begin("2025-11-25")
	other := s.begin("2025-11-25", "Test-Principal", "somebody else")
	for _, c := range []struct {
		name, method, body string
		headers            []string
		status             int
		says               string
	}{
		{"a session", "POST", ping, []string{"Mcp-Session-Id", id}, 200, `"result":{}`},
		{"no such session", "POST", ping, []string{"Mcp-Session-Id", "nothing"}, 404, ""},
		{"somebody else's session", "POST", ping, []string{"Mcp-Session-Id", other}, 404, ""},
		{"somebody else's stream", "GET", "", []string{"Mcp-Session-Id", other}, 404, ""},
		{"somebody else's end", "DELETE", "", []string{"Mcp-Session-Id", other}, 404, ""},
		{"his own", "POST", ping, []string{"Mcp-Session-Id", other, "Test-Principal", "somebody else"}, 200, `"result":{}`},
		{"not JSON", "POST", "{", []string{"Mcp-Session-Id", id}, 400, ""},
		{"nothing", "POST", "", []string{"Mcp-Session-Id", id}, 400, ""},
		{"a wrong version", "POST", ping, []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", "2020-01-01"}, 400, "Unsupported protocol version"},
		{"a method that is not there", "POST", `{"jsonrpc":"2.0","id":"x","method":"nope"}`, []string{"Mcp-Session-Id", id}, 200, `{"jsonrpc":"2.0","id":"x","error":{"code":-32601`},
		{"a wrong type", "POST", ping, []string{"Mcp-Session-Id", id, "Content-Type", "text/plain"}, 415, ""},
		{"nothing is accepted", "POST", ping, []string{"Mcp-Session-Id", id, "Accept", "text/html"}, 400, ""},
		{"put", "PUT", ping, []string{"Mcp-Session-Id", id}, 405, ""},
		{"no stream at 2026-07-28", "GET", "", []string{"Mcp-Protocol-Version", "2026-07-28"}, 405, ""},
		{"initialize at 2026-07-28", "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` + strings.TrimSuffix(tokenMeta, ",") + `}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "initialize"}, 404, `-32601`},
		{"a header that says something else", "POST", prompting(1, "say x", tokenMeta), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "session_list"}, 400, `-32020`},
		{"a task's header that says something else", "POST", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{` + tokenMeta + `"taskId":"a.b"}}`, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tasks/get", "Mcp-Name", "a.c"}, 400, `-32020`},
		{"the end", "DELETE", "", []string{"Mcp-Session-Id", id}, 204, ""},
		{"after the end", "POST", ping, []string{"Mcp-Session-Id", id}, 404, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, said := s.say(c.method, c.body, c.headers...)
			if status != c.status || !strings.Contains(said, c.says) {
				t.Errorf("%d %s, want %d %s", status, said, c.status, c.says)
			}
		})
	}
}

// A cancellation has a connection of its own, and may come before its call, which then never
// runs, even if the client does not wait for its answer.
func TestHTTPCancelComesFirst(t *testing.T) {
	s := newSite(t)
	id := s.begin("2025-11-25")
	if status, said := s.say("POST", cancelled(7), "Mcp-Session-Id", id); status != 202 {
		t.Errorf("the cancellation: %d %s", status, said)
	}
	if status, said := s.say("POST", prompting(7, "hang", ""), "Mcp-Session-Id", id); status != 200 || !strings.Contains(said, `"id":7,"error"`) {
		t.Errorf("the call: %d %s", status, said)
	}
	s.say("POST", cancelled(6), "Mcp-Session-Id", id)
	left, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(left, "POST", "/", strings.NewReader(prompting(6, "hang", "")))
	r.Header.Set("Mcp-Session-Id", id)
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	s.h.ServeHTTP(httptest.NewRecorder(), r)
	if status, said := s.say("POST", prompting(5, "say hello", ""), "Mcp-Session-Id", id); status != 200 || !strings.Contains(said, "hello") {
		t.Errorf("the next one: %d %s", status, said)
	}
	for sum, err := range s.g.List(t.Context(), core.Local) {
		if err != nil || sum.Running {
			t.Errorf("session %s: running %v, %v", sum.ID, sum.Running, err)
		}
	}
	if status, said := s.say("POST", cancelled(8), "Mcp-Session-Id", s.begin("2025-11-25")); status != 202 {
		t.Errorf("a cancellation in another session: %d %s", status, said)
	}
	if status, said := s.say("POST", prompting(8, "say hello", ""), "Mcp-Session-Id", id); status != 200 || !strings.Contains(said, "hello") {
		t.Errorf("a call of that id here: %d %s", status, said)
	}
}

// Batches belong only to 2025-03-26, and to a session.
func TestHTTPBatches(t *testing.T) {
	s := newSite(t)
	batch := `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`
	for version, want := range map[string]int{"2024-11-05": 400, "2025-03-26": 200, "2025-06-18": 400, "2025-11-25": 400} {
		status, said := s.say("POST", batch, "Mcp-Session-Id", s.begin(version))
		if status != want || (want == 200) != strings.Contains(said, "agent_prompt") || (want == 400) != strings.Contains(said, "-32600") {
			t.Errorf("%s: %d %s", version, status, said)
		}
	}
	if status, said := s.say("POST", batch); status != 400 {
		t.Errorf("without a session: %d %s", status, said)
	}
	if status, said := s.say("POST", batch, "Mcp-Protocol-Version", "2026-07-28"); status != 400 {
		t.Errorf("at 2026-07-28: %d %s", status, said)
	}
}

// At 2025-11-25 a client that closes its connection has left, and its turn continues; at
// 2026-07-28 that cancels its call.
func TestHTTPDisconnect(t *testing.T) {
	s := newSite(t)
	id := s.begin("2025-11-25")
	ctx, leave := context.WithCancel(t.Context())
	res := s.do(ctx, "POST", prompting(1, "hang", `"_meta":{"progressToken":1},`), "Mcp-Session-Id", id)
	until(t, res, "answering")
	leave()
	if status, said := s.say("POST", prompting(2, "say still here", ""), "Mcp-Session-Id", id); status != 200 || !strings.Contains(said, "still here") {
		t.Errorf("%d %s", status, said)
	}
	s.running("s1", true)
	if status, said := s.say("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id", id); status != 202 {
		t.Errorf("%d %s", status, said)
	}
	s.running("s1", false)

	ctx, leave = context.WithCancel(t.Context())
	res = s.do(ctx, "POST", prompting(1, "hang", tokenMeta), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "agent_prompt")
	until(t, res, "answering")
	s.running("s3", true)
	leave()
	s.running("s3", false)
}

// When a session ends while a call waits, the call ends, and its turn continues.
func TestHTTPDeleteWhileACallWaits(t *testing.T) {
	s := newSite(t)
	id := s.begin("2025-11-25")
	res := s.do(t.Context(), "POST", prompting(1, "hang", `"_meta":{"progressToken":1},`), "Mcp-Session-Id", id)
	until(t, res, "answering")
	if status, said := s.say("DELETE", "", "Mcp-Session-Id", id); status != 204 {
		t.Errorf("%d %s", status, said)
	}
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Errorf("the call's stream: %v", err)
	}
	s.running("s1", true)
}

// until reads a response up to a line with a given text.
func until(t *testing.T, res *http.Response, text string) {
	t.Helper()
	for r := bufio.NewReader(res.Body); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for %q: %v", text, err)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// inbox holds the unrequested messages to one client.
type inbox struct {
	mu   sync.Mutex
	what []string
}

func (h *inbox) add(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.what = append(h.what, fmt.Sprintf(format, args...))
}

// Of two clients at once, under one name, only the caller gets an approval, progress, and log
// messages.
func TestTwoClientsAtOnce(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := newSite(t)
			var all [2]inbox
			var clients [2]*sdk.ClientSession
			for i := range clients {
				h := &all[i]
				c := sdk.NewClient(&sdk.Implementation{Name: "one of two", Version: "1"}, &sdk.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						h.add("asked about %d: %s", i, r.Params.Message)
						return &sdk.ElicitResult{Action: "accept"}, nil
					},
					ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
						h.add("progress of %v", r.Params.ProgressToken)
					},
					LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) { //nolint:staticcheck // deprecated later
						b, err := json.Marshal(r.Params.Data)
						h.add("log %s %v", b, err)
					},
				})
				cs, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url}, &sdk.ClientSessionOptions{ProtocolVersion: era})
				if err != nil {
					t.Fatal(err)
				}
				defer cs.Close() //nolint:errcheck // the site ends
				if era < "2026-07-28" {
					if err := cs.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "debug"}); err != nil { //nolint:staticcheck // deprecated later
						t.Fatal(err)
					}
				}
				clients[i] = cs
			}
			var wg sync.WaitGroup
			var sessions [2]string
			for i, cs := range clients {
				wg.Go(func() {
					p := &sdk.CallToolParams{Name: "agent_prompt", Arguments: map[string]any{"prompt": fmt.Sprintf("write file%d.txt", i)}}
					if p.Meta = (sdk.Meta{"progressToken": fmt.Sprintf("token%d", i)}); era >= "2026-07-28" {
						p.Meta["io.modelcontextprotocol/logLevel"] = "debug"
					}
					res, err := cs.CallTool(t.Context(), p)
					if err != nil {
						t.Error(err)
						return
					}
					b, err := json.Marshal(res.StructuredContent)
					var r result
					if err = errors.Join(err, json.Unmarshal(b, &r)); err != nil || r.Text != "Written." {
						t.Errorf("%s, %v", b, err)
					}
					sessions[i] = r.Session
				})
			}
			wg.Wait()
			for i := range all {
				all[i].mu.Lock()
				said := strings.Join(all[i].what, "\n")
				all[i].mu.Unlock()
				for _, mine := range []string{fmt.Sprintf("file%d.txt", i)} {
					if !strings.Contains(said, mine) {
						t.Errorf("client %d has not heard of %s:\n%s", i, mine, said)
					}
				}
				for _, others := range []string{fmt.Sprintf("file%d.txt", 1-i), fmt.Sprintf("token%d", 1-i), fmt.Sprintf("%q", sessions[1-i])} {
					if strings.Contains(said, others) {
						t.Errorf("client %d has heard of %s:\n%s", i, others, said)
					}
				}
			}
		})
	}
}
