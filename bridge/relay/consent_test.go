package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// A call that a rule wants asked about is put to the user of a relay's client too; where
// nobody can be asked it is refused.
func TestAskRulesHoldForRelays(t *testing.T) {
	t.Parallel()
	for way, server := range ways(t) {
		for face, connect := range faces {
			for _, version := range bridgetest.Eras {
				if way == "http2026" && version == proto.Legacy || way != "http2026" && way != "stdio" && version == proto.Modern {
					continue // such a server does not speak it
				}
				for answer, want := range map[string]string{"allow": `{"text":"hihi"}`, "no": "did not allow the call", "decline": "did not allow the call", "cancel": "did not allow the call", "": "cannot ask its user"} {
					t.Run(way+"/"+face+"/"+version+"/"+answer, func(t *testing.T) {
						asked := make(chan string, 10)
						o := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							asked <- r.Params.Message
							switch answer {
							case "allow", "no":
								return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": answer == "allow"}}, nil
							}
							return &mcp.ElicitResult{Action: answer}, nil
						}}
						if answer == "" {
							o = nil
						}
						r := relayTo(t, server, askFirst)
						cs := bridgetest.Connected(t, connect(t, r), version, o)
						for range 2 { // the answer is for one call
							if got := bridgetest.Said(t, cs, "echo", map[string]any{"text": "hi"}); !strings.Contains(got, want) || strings.Contains(got, "error: ") == (answer == "allow") {
								t.Errorf("%q, want %q", got, want)
							}
							if answer == "" {
								continue
							}
							const question = `May the tool echo of the MCP server up be called? Its arguments: {"text":"hi"} (` + bridgetest.MustAsk + `.)`
							if len(asked) != 1 {
								t.Fatalf("asked %d times", len(asked))
							}
							if got := <-asked; strings.ReplaceAll(got, `: "`, `:"`) != question {
								t.Errorf("asked %q", got)
							}
						}
						if got := bridgetest.Said(t, cs, "env", map[string]any{}); strings.Contains(got, "May the tool") || strings.Contains(got, bridgetest.MustAsk) {
							t.Errorf("a tool that no rule names: %s", got)
						}
						if len(asked) > 0 {
							t.Errorf("asked %q", <-asked)
						}
					})
				}
			}
		}
	}
}

func askFirst(_, tool string, _ json.RawMessage) error {
	if tool == "echo" {
		return &upstream.AskFirst{Why: bridgetest.MustAsk}
	}
	return nil
}

// upLink is the server of a relay, whose part the test plays.
type upLink struct {
	*bridgetest.Raw
	ended chan struct{}
}

// ruled is a relay whose tool echo a rule wants asked about, and its server.
func ruled(t *testing.T) (*Server, *upLink) {
	t.Helper()
	r, _ := New(upstream.New(upstream.Options{Log: func(_, _, text string) { t.Log(text) }, Servers: []upstream.Server{{Name: "up"}}}), "up", askFirst)
	r.export.Server.Endpoint = func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{}, nil }
	fromServer, say := io.Pipe()
	hear, toServer := io.Pipe()
	up := &upLink{bridgetest.NewRaw(t, &mcp.IOTransport{Reader: hear, Writer: say}), make(chan struct{})}
	r.connect = func(string) *upstream.Link {
		return &upstream.Link{In: fromServer, Out: toServer, Settled: func(string) {}, Close: func() { hear.Close(); close(up.ended) }, Why: func() string { return "over" }}
	}
	return r, up
}

const (
	greets  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c"}}}`
	greeted = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	yes     = `"result":{"action":"accept","content":{"allow":true}}}`
)

func echoCall(id string) string {
	return `{"jsonrpc": "2.0", "id":` + id + `,"method":"tools/call","params":{"arguments":{"n":1.0},"name":"echo"}}`
}

// dialogID is the id of the question about a call.
func dialogID(t *testing.T, line string) string {
	t.Helper()
	var m struct {
		ID     string
		Method string
		Params struct{ Message string }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Method != "elicitation/create" || m.ID == "" || !strings.HasPrefix(m.Params.Message, "May the tool echo of the MCP server up be called?") {
		t.Fatalf("no question: %s", line)
	}
	return `"` + m.ID + `"`
}

func answerTo(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,` + yes }

// While a relay's client asks its user all else passes in both directions. Neither the
// answer nor a call that was taken back reaches the server.
func TestDialogsOfAPipe(t *testing.T) {
	r, up := ruled(t)
	c := bridgetest.NewRaw(t, faces["pipe"](t, r).(*mcp.IOTransport))
	passes := func(from, to *bridgetest.Raw, line string) {
		t.Helper()
		from.Say(line)
		if got := to.Next(); got != line {
			t.Fatalf("got %s, want %s", got, line)
		}
	}
	passes(c, up.Raw, greets)
	passes(up.Raw, c, greeted)

	c.Say(echoCall("1"))
	id := dialogID(t, c.Next())
	passes(c, up.Raw, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	passes(up.Raw, c, `{"jsonrpc":"2.0","id":"s","method":"elicitation/create","params":{"message":"who?"}}`)
	passes(c, up.Raw, answerTo(`"s"`))
	passes(up.Raw, c, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	c.Say(answerTo(id))
	if got := up.Next(); got != echoCall("1") {
		t.Errorf("the server got %s", got)
	}
	c.Say(answerTo(id)) // again
	passes(up.Raw, c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)

	c.Say(echoCall("3"))
	id = dialogID(t, c.Next())
	c.Say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	if got := c.Next(); !strings.Contains(got, proto.NoteCancelled) || !strings.Contains(got, id) {
		t.Errorf("the question was not taken back: %s", got)
	}
	c.Say(answerTo(id))
	passes(c, up.Raw, `{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	passes(up.Raw, c, `{"jsonrpc":"2.0","id":4,"result":{}}`)

	c.Say(echoCall("5"))
	id = dialogID(t, c.Next())
	c.Say(`[{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-1,"message":"no"}},{"jsonrpc":"2.0","method":"x"}]`)
	if got := up.Next(); got != `[{"jsonrpc":"2.0","method":"x"}]` {
		t.Errorf("of a batch with the answer the server got %s", got)
	}
	if got := c.Next(); !strings.Contains(got, `"id":5,"error"`) || !strings.Contains(got, "could not be asked") {
		t.Errorf("a client that does not ask: %s", got)
	}
	c.Say("[" + echoCall("6") + "]")
	if got := c.Next(); !strings.Contains(got, `"id":null,"error"`) || !strings.Contains(got, "cannot ask its user here") {
		t.Errorf("a call in a batch: %s", got)
	}

	c.Say(echoCall("7"))
	id = dialogID(t, c.Next())
	c.In.(io.Closer).Close()
	if got := c.Until(`"id":7,`); !strings.Contains(strings.Join(got, "\n"), id) || !strings.Contains(bridgetest.Last(got), "its connection has ended") {
		t.Errorf("after the client has left: %s", got)
	}
	if up.Out.Scan() {
		t.Errorf("the server got %s", up.Out.Text())
	}
}

// A server that leaves ends the questions about its calls.
func TestDialogWhoseServerLeaves(t *testing.T) {
	r, up := ruled(t)
	in, w := io.Pipe()
	out, down := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(t.Context(), core.Local, "", in, down) }()
	c := bridgetest.NewRaw(t, &mcp.IOTransport{Reader: out, Writer: w})
	c.Say(greets)
	up.Next()
	c.Say(echoCall("1"))
	id := dialogID(t, c.Next())
	up.In.(io.Closer).Close()
	rest := make(chan string, 1)
	go func() {
		all := ""
		for c.Out.Scan() {
			all += c.Out.Text() + "\n"
		}
		rest <- all
	}()
	err := <-ended
	down.Close()
	if got := <-rest; strings.Count(got, `"id":1,`) != 1 || !strings.Contains(got, "over") || !strings.Contains(got, `"requestId":`+id) {
		t.Errorf("%s", got)
	}
	if err == nil {
		t.Error("it has ended well")
	}
}

// At 2026-07-28 a relay's client makes the call again with the answer: the server gets
// the call that was shown, and nothing of the question.
func TestConsentAtARelay(t *testing.T) {
	r, up := ruled(t)
	c := bridgetest.NewRaw(t, faces["pipe"](t, r).(*mcp.IOTransport))
	call := func(id, args, more, meta string) {
		c.Say(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"echo","arguments":` + args + `,` + bridgetest.ModernMeta(`{"elicitation":{}}`, meta) + more + `}}`)
	}
	ask := func(id string) string {
		t.Helper()
		call(id, `{"n":1.0}`, `,"requestState":"the server's"`, "")
		line := c.Next()
		var parked struct{ Result struct{ RequestState string } }
		if json.Unmarshal([]byte(line), &parked) != nil || !strings.Contains(line, `"resultType":"input_required"`) || !strings.Contains(line, "May the tool echo") {
			t.Fatal(line)
		}
		return parked.Result.RequestState
	}
	again := func(state, action string) string {
		return `,"requestState":"` + state + `","inputResponses":{"allow":{"action":"` + action + `","content":{"allow":true}}}`
	}
	state := ask("1")
	call("2", `{"n":2}`, again(state, "accept"), `,"progressToken":9`)
	want := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"n":1.0},` + bridgetest.ModernMeta(`{"elicitation":{}}`, `,"progressToken":9`) + `,"requestState":"the server's"}}`
	if got := up.Next(); got != want {
		t.Errorf("the server got %s", got)
	}
	up.Say(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	c.Next()
	call("3", `{"n":1.0}`, again(state, "accept"), "")
	if got := c.Next(); !strings.Contains(got, "too old") {
		t.Errorf("a state that was used: %s", got)
	}
	state = ask("4")
	call("5", `{"n":1.0}`, again(state, "decline"), "")
	if got := c.Next(); !strings.Contains(got, "did not allow the call") {
		t.Errorf("declined: %s", got)
	}
	state = ask("6")
	c.Say(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"other",` + bridgetest.ModernMeta(`{"elicitation":{}}`, "") + again(state, "accept") + `}}`)
	if got := c.Next(); !strings.Contains(got, "did not allow the call") {
		t.Errorf("another tool: %s", got)
	}
	c.In.(io.Closer).Close()
	if up.Out.Scan() {
		t.Errorf("the server got %s", up.Out.Text())
	}
}

// Of one session's calls 64 can be with its user, and none once the client has left.
func TestDialogsAreBounded(t *testing.T) {
	ds := newDialogs()
	var all []*dialog
	begin := func(session, id string) error {
		d, err := ds.begin(callID{session, id})
		all = append(all, d)
		return err
	}
	for i := range maxDialogs {
		if err := begin("a", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := begin("a", "x"); err == nil || !strings.Contains(err.Error(), "64 questions are with the client already") {
		t.Errorf("one more: %v", err)
	}
	if err := begin("b", "0"); err != nil {
		t.Errorf("another session's: %v", err)
	}
	if !ds.withdraw(callID{"a", "0"}, wire.ErrCanceled) || ds.withdraw(callID{"a", "0"}, wire.ErrCanceled) || begin("a", "0") != nil {
		t.Error("there is no room where one was taken back")
	}
	ds.close()
	if err := begin("b", "1"); err == nil || len(ds.open) > 0 {
		t.Errorf("after the end: %v, %d forms", err, len(ds.open))
	}
	for _, d := range all {
		if d != nil {
			<-d.answer
		}
	}
}

// recorder is a server at an address, and what it has heard.
type recorder struct {
	mu    sync.Mutex // guards the field below
	heard []string
}

func (s *recorder) hears(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, line)
}

func (s *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.hears(string(body))
	w.Header().Set("Content-Type", "application/json")
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &m)
	switch {
	case m.Method == "initialize":
		w.Header().Set(proto.HeaderSession, "s")
		io.WriteString(w, greeted)
	case string(m.ID) == "8":
		http.Error(w, "gone astray", http.StatusTeapot)
	case m.ID != nil:
		io.WriteString(w, "{\"jsonrpc\":\"2.0\",\n\"id\":"+string(m.ID)+",\"result\":{}}")
	}
}

// The same over HTTP, before a program and before an address.
func TestDialogsOverHTTP(t *testing.T) {
	for name, ahead := range map[string]func(*testing.T, *recorder) *Server{
		"program": func(t *testing.T, heard *recorder) *Server {
			r, up := ruled(t)
			go func() { // until the relay closes the link
				for up.Out.Scan() {
					w := httptest.NewRecorder()
					heard.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(up.Out.Text())))
					if w.Code == http.StatusOK && w.Body.Len() > 0 {
						io.WriteString(up.In, strings.ReplaceAll(w.Body.String(), "\n", "")+"\n")
					}
				}
				up.In.(io.Closer).Close()
			}()
			return r
		},
		"address": func(t *testing.T, heard *recorder) *Server {
			s := httptest.NewServer(heard)
			t.Cleanup(s.Close)
			r, _ := ruled(t)
			r.export.Server.Endpoint = func(context.Context) (upstream.Endpoint, error) { return upstream.Endpoint{URL: s.URL}, nil }
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			heard := &recorder{}
			h := ahead(t, heard).HTTP("", func(*http.Request) access.Holder { return access.Owner("p") })
			left := make(chan struct{}, 10)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(w, r)
				if r.Context().Err() != nil {
					left <- struct{}{}
				}
			}))
			t.Cleanup(func() {
				s.CloseClientConnections()
				s.Close()
				h.Close()
			})
			session := ""
			send := func(ctx context.Context, method, body string) *http.Response {
				t.Helper()
				req, err := http.NewRequestWithContext(ctx, method, s.URL, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set(proto.HeaderSession, session)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { resp.Body.Close() })
				return resp
			}
			post := func(body string) (int, string) {
				t.Helper()
				resp := send(bridgetest.Patient(t), http.MethodPost, body)
				b, _ := io.ReadAll(resp.Body)
				return resp.StatusCode, string(b)
			}
			asks := func(ctx context.Context, call string) (*bufio.Scanner, string) {
				t.Helper()
				events := bufio.NewScanner(send(ctx, http.MethodPost, call).Body)
				return events, dialogID(t, eventIn(events))
			}
			session = send(bridgetest.Patient(t), http.MethodPost, greets).Header.Get(proto.HeaderSession)

			events, id := asks(bridgetest.Patient(t), echoCall("1"))
			if code, body := post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); code != http.StatusOK || !strings.Contains(body, `"id":2`) {
				t.Errorf("beside a question: %d %s", code, body)
			}
			if code, _ := post(answerTo(id)); code != http.StatusAccepted {
				t.Errorf("the answer: %d", code)
			}
			if got := eventIn(events); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Errorf("the result: %s", got)
			}
			events, id = asks(bridgetest.Patient(t), echoCall("3"))
			if code, _ := post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`); code != http.StatusAccepted {
				t.Errorf("a call that is taken back: %d", code)
			}
			if got := eventIn(events); !strings.Contains(got, proto.NoteCancelled) || !strings.Contains(got, id) || eventIn(events) != "" {
				t.Errorf("the question was not taken back: %s", got)
			}
			post(answerTo(id))
			ctx, hangUp := context.WithCancel(bridgetest.Patient(t))
			_, id = asks(ctx, echoCall("4"))
			hangUp()
			<-left
			post(answerTo(id))
			events, id = asks(bridgetest.Patient(t), echoCall("5"))
			post(strings.Replace(answerTo(id), "true", "false", 1))
			if got := eventIn(events); !strings.Contains(got, `"id":5,"error"`) || !strings.Contains(got, "did not allow the call") {
				t.Errorf("refused: %s", got)
			}
			post(cancels7)
			if _, body := post(echoCall("7")); !strings.Contains(body, `"id":7,"error"`) || !strings.Contains(body, "taken back") {
				t.Errorf("a call behind its cancellation: %s", body)
			}
			if name == "address" {
				events, id = asks(bridgetest.Patient(t), echoCall("8"))
				post(answerTo(id))
				if got := eventIn(events); !strings.Contains(got, `"id":8,"error"`) || !strings.Contains(got, "gone astray") {
					t.Errorf("an answer that is none: %s", got)
				}
			}
			events, id = asks(bridgetest.Patient(t), echoCall("6"))
			send(bridgetest.Patient(t), http.MethodDelete, "")
			if got := eventIn(events); !strings.Contains(got, proto.NoteCancelled) || !strings.Contains(got, id) || eventIn(events) != "" {
				t.Errorf("at the end of the session: %s", got)
			}
			post(answerTo(id))

			heard.mu.Lock()
			defer heard.mu.Unlock()
			all := strings.Join(heard.heard, "\n")
			for _, n := range []string{"3", "4", "5", "6", "7"} {
				if strings.Contains(all, `"id":`+n+",") {
					t.Errorf("the server got the call %s", n)
				}
			}
			if strings.Contains(all, `"allow"`) || !strings.Contains(all, `"id":1,`) {
				t.Errorf("the server got %s", all)
			}
		})
	}
}

// eventIn is the next message of a stream; "": it has ended.
func eventIn(s *bufio.Scanner) string {
	for s.Scan() {
		if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}
