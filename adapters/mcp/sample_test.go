//nolint:staticcheck // sampling is deprecated from 2026-07-28 on, and clients have it
package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/adapters/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/coretest"
	"dragoman/core/delegate"
	"dragoman/core/inference"
)

// borrower is an agent that uses its client's model. Its prompts are "ask N", N successive
// questions, "both", two at once, "hand over", one in a session of its own, and "hang".
type borrower struct {
	server atomic.Pointer[mcp.Server]
	g      *core.Gateway
	hosts  sync.Map // by session: core.ToolHost
	failed atomic.Pointer[inference.Error]
	asking chan struct{} // holds one token for each question on its way
}

func newBorrower() *borrower { return newBorrowerWith(nil) }

// newBorrowerWith is newBorrower with given ids of sessions; nil: generated ones.
func newBorrowerWith(newID func() string) *borrower {
	b := &borrower{asking: make(chan struct{}, 1000)}
	prof := &core.Profile{
		Agents:    []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: b.run}}},
		Subagents: []core.Agent{{Name: "explorer", Backend: &coretest.Backend{Run: b.run}}},
		Toolboxes: []core.Toolbox{b}, Policy: asks,
	}
	b.g = core.New(core.Config{Store: coretest.NewMemory(), Node: "test", NewID: newID, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
	return b
}

// Open implements core.Toolbox: it stores the host.
func (b *borrower) Open(_ context.Context, h core.ToolHost) (core.Toolset, error) {
	b.hosts.Store(h.Meta().ID, h)
	return coretest.Tools{}, nil
}

func (b *borrower) sample(ctx context.Context, m core.Meta, text string) (string, error) {
	offered, tools := b.server.Load().Offers(ctx, m.Principal, m.ID)
	if !offered {
		return "nobody", nil
	}
	params := fmt.Sprintf(`{"maxTokens":100,"modelPreferences":{"hints":[{"name":"claude"}]},"messages":[{"role":"user","content":{"type":"text","text":%q}}]`, text)
	if tools {
		params += `,"tools":[{"name":"look","inputSchema":{"type":"object"}}]`
	}
	b.asking <- struct{}{}
	res, err := b.server.Load().CreateMessage(ctx, m.Principal, m.ID, json.RawMessage(params+"}"))
	if e, ok := errors.AsType[*inference.Error](err); ok {
		b.failed.Store(e)
	}
	return string(res), err
}

func (b *borrower) run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	verb, rest, _ := strings.Cut(t.Prompt()[0].(core.Text).Text, " ")
	var said []string
	var err error
	switch verb {
	case "ask":
		n, _ := strconv.Atoi(rest)
		for i := range n {
			var text string
			if text, err = b.sample(ctx, t.Meta(), "question "+strconv.Itoa(i)); err != nil {
				break
			}
			said = append(said, text)
		}
	case "both":
		said = make([]string, 2)
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range said {
			wg.Go(func() { said[i], errs[i] = b.sample(ctx, t.Meta(), "question "+strconv.Itoa(i)) })
		}
		wg.Wait()
		err = errors.Join(errs...)
	case "hand":
		h, _ := b.hosts.Load(t.Meta().ID)
		var d delegate.Result
		d, err = delegate.Run(ctx, h.(core.ToolHost), delegate.Task{Agent: "explorer", Prompt: []core.Block{core.Text{Text: "ask 1"}}})
		said = append(said, "the other one: "+d.Text)
	}
	if err != nil {
		return core.StopError, err
	}
	return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: strings.Join(said, " ")})
}

// lend connects the SDK's client, which lends a model.
func (b *borrower) lend(t *testing.T, way, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	s := mcp.New(mcp.Options{Gateway: b.g, Principal: core.Local, Cwd: t.TempDir()})
	b.server.Store(s)
	join := overPipe
	if way == "http" {
		join = overHTTP
	}
	transport, ended := join(s)
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "the SDK", Version: "1"}, o).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close() //nolint:errcheck // only the server's messages count
		if err := ended(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := b.g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return cs
}

// answers is a client's model that repeats the question.
func answers(_ context.Context, req *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
	if len(req.Params.ModelPreferences.Hints) != 1 || req.Params.MaxTokens != 100 {
		return nil, fmt.Errorf("the parameters: %+v", req.Params)
	}
	said := "answer to " + req.Params.Messages[0].Content.(*sdk.TextContent).Text
	return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: said}, StopReason: "endTurn"}, nil
}

// samplingEras are life cycles with sampling, from the first.
var samplingEras = []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"}

// The SDK's client lends its model, at every version and over both transports: for one question,
// for several, for two at once, and for a sub-session's. At 2026-07-28 a call is answered before
// the SDK gives up, and agent_wait continues.
func TestSampling(t *testing.T) {
	for _, version := range samplingEras {
		for _, way := range ways {
			t.Run(way+" "+version, func(t *testing.T) {
				b := newBorrower()
				cs := b.lend(t, way, version, &sdk.ClientOptions{CreateMessageHandler: answers})
				for _, c := range []struct {
					prompt string
					want   int
				}{{"ask 1", 1}, {"ask 15", 15}, {"both", 2}, {"hand over", 1}} {
					_, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": c.prompt})
					for r.Status == "running" {
						_, r = callTool(t, cs, "agent_wait", map[string]any{"session_id": r.Session, "turn_id": r.Turn})
					}
					if n := strings.Count(r.Text, "answer to question"); n != c.want || r.Status != "completed" {
						t.Errorf("%s: %d answers: %+v", c.prompt, n, r)
					}
				}
			})
		}
	}
}

// A model that takes tools gets them from 2025-11-25 on, and calls several at once.
func TestSamplingWithTools(t *testing.T) {
	for _, version := range samplingEras {
		b := newBorrower()
		offered := 0
		cs := b.lend(t, "pipe", version, &sdk.ClientOptions{CreateMessageWithToolsHandler: func(_ context.Context, req *sdk.CreateMessageWithToolsRequest) (*sdk.CreateMessageWithToolsResult, error) {
			offered = len(req.Params.Tools)
			return &sdk.CreateMessageWithToolsResult{Role: "assistant", Model: "m", StopReason: "toolUse", Content: []sdk.Content{
				&sdk.TextContent{Text: "I look."}, &sdk.ToolUseContent{ID: "a", Name: "look", Input: map[string]any{"at": "x"}}, &sdk.ToolUseContent{ID: "b", Name: "look"},
			}}, nil
		}})
		_, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "ask 1"})
		want := 0
		if version >= "2025-11-25" {
			want = 1
		}
		if offered != want || strings.Count(r.Text, `"type":"tool_use"`) != 2 {
			t.Errorf("%s: %d tools were offered: %+v", version, offered, r)
		}
	}
}

// If the client that prompted offers no model, none is asked.
func TestSamplingWithoutOffer(t *testing.T) {
	for _, way := range both() {
		b := newBorrower()
		cs := b.lend(t, way[0], way[1], nil)
		for _, prompt := range []string{"ask 1", "hand over"} {
			if _, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": prompt}); !strings.HasSuffix(r.Text, "nobody") {
				t.Errorf("%v %s: %+v", way, prompt, r)
			}
		}
	}
}

// A client's refusal is reported as a refusal.
func TestSamplingRefused(t *testing.T) {
	for _, way := range ways {
		b := newBorrower()
		cs := b.lend(t, way, "2025-11-25", &sdk.ClientOptions{CreateMessageHandler: func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			return nil, errors.New("user rejected sampling request")
		}})
		_, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "ask 1"})
		if e := b.failed.Load(); r.Status != "failed" || !strings.Contains(r.Text, "user rejected") || e == nil || e.Kind != inference.ErrBadRequest || e.Retryable() {
			t.Errorf("%s: %+v, %+v", way, r, e)
		}
	}
}

// A call that is cancelled while the client's model is asked ends its turn, 40 times. (Over HTTP
// the stream for the question's end may be closed, so that the client's model continues for
// nothing.)
func TestSamplingCancelled(t *testing.T) {
	for _, way := range both() {
		t.Run(way[0]+" "+way[1], func(t *testing.T) {
			b := newBorrower()
			over := make(chan struct{})
			cs := b.lend(t, way[0], way[1], &sdk.ClientOptions{CreateMessageHandler: func(ctx context.Context, _ *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-over:
					return nil, errors.New("nobody waits for this")
				}
			}})
			defer close(over)
			for range 40 {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					_, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "agent_prompt", Arguments: map[string]any{"prompt": "ask 1"}})
					done <- err
				}()
				<-b.asking
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			}
			list, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "session_list", Arguments: map[string]any{"limit": 100}})
			if err != nil {
				t.Fatal(err)
			}
			if text, err := json.Marshal(list.StructuredContent); err != nil || strings.Contains(string(text), `"completed"`) {
				t.Errorf("a cancelled turn is told as a success: %s, %v", text, err)
			}
		})
	}
}

// If a client leaves before its model is asked, the turn ends with an error about that.
func TestSamplingClientLeaves(t *testing.T) {
	for _, way := range ways {
		b := newBorrower()
		cs := b.lend(t, way, "2025-11-25", &sdk.ClientOptions{CreateMessageHandler: answers})
		_, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "ask 1", "wait_seconds": 0})
		<-b.asking
		end := b.ended(t, r.Session, func() { cs.Close() }) //nolint:errcheck // only its absence counts
		if e := b.failed.Load(); end.Stop != core.StopError || e == nil || e.Kind != inference.ErrNetwork || !strings.Contains(end.Err, "has left") {
			t.Errorf("%s: %+v, %+v", way, end, e)
		}
	}
}

// The same while its model is being asked. The same hang-up ends the question and its call, in
// any order.
func TestSamplingClientHangsUp(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			b := newBorrower()
			in, out, p := wiretest.New(wire.Newline)
			s := mcp.New(mcp.Options{Gateway: b.g, Principal: core.Local, Cwd: t.TempDir()})
			b.server.Store(s)
			served := make(chan error, 1)
			go func() { served <- s.Serve(t.Context(), in, out) }()
			end := b.ended(t, prompted(t, b.g, p, "sampling", "ask 1"), p.Close)
			if err := <-served; err != nil {
				t.Error(err)
			}
			if e := b.failed.Load(); end.Stop != core.StopError || e == nil || e.Kind != inference.ErrNetwork {
				t.Errorf("%+v, %+v", end, e)
			}
			if err := b.g.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// prompted returns the session of a prompt by a client with one capability, once that client gets
// a question.
func prompted(t *testing.T, g *core.Gateway, p *wiretest.Peer, capability, prompt string) (session string) {
	t.Helper()
	err := p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{%q:{}},"clientInfo":{"name":"x","version":"1"}}}`, capability),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":%q}}}`, prompt))
	if err != nil {
		t.Fatal(err)
	}
	for msg := ""; !strings.Contains(msg, `"method":"`+capability+"/create"); {
		if msg, err = p.Next(); err != nil {
			t.Fatal(err)
		}
	}
	for sum, err := range g.List(t.Context(), core.Local) {
		if session = string(sum.ID); err != nil {
			t.Fatal(err)
		}
	}
	return session
}

// ended does something and waits for the end of the session's first turn.
func (b *borrower) ended(t *testing.T, session string, do func()) core.TurnEnded {
	t.Helper()
	s, err := b.g.Open(t.Context(), core.Local, core.SessionID(session))
	if err != nil {
		t.Fatal(err)
	}
	a := s.Attach(core.Client{Name: "tester"})
	defer a.Close()
	r := a.Read(core.Pos{})
	defer r.Close()
	do()
	for {
		recs, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs {
			if e, ok := rec.Event.(core.TurnEnded); ok {
				return e
			}
		}
	}
}

// A request that never reaches the client's model times out.
func TestSamplingTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBorrower()
		s := mcp.New(mcp.Options{Gateway: b.g, Principal: core.Local, Cwd: t.TempDir(), Settings: func() mcp.Settings { return mcp.Settings{ElicitationTimeout: time.Minute} }})
		b.server.Store(s)
		transport, ended := overPipe(s)
		cs, err := sdk.NewClient(&sdk.Implementation{Name: "the SDK", Version: "1"}, &sdk.ClientOptions{CreateMessageHandler: answers}).
			Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		_, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "ask 1", "wait_seconds": 0})
		if r.Status != "running" {
			t.Errorf("%+v", r)
		}
		<-time.After(2 * time.Minute)
		_, r = callTool(t, cs, "agent_wait", map[string]any{"session_id": r.Session})
		if e := b.failed.Load(); r.Status != "failed" || !strings.Contains(r.Text, "has not answered within 1m0s") || e == nil || e.Kind != inference.ErrServer {
			t.Errorf("%+v, %+v", r, e)
		}
		cs.Close() //nolint:errcheck // only the server's messages count
		if err := ended(); err != nil {
			t.Error(err)
		}
		if err := b.g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// A turn that has become a task asks its client's model through the task.
func TestSamplingOfTasks(t *testing.T) {
	b := newBorrower()
	in, out, p := wiretest.New(wire.Newline)
	s := mcp.New(mcp.Options{Gateway: b.g, Principal: core.Local, Cwd: t.TempDir()})
	b.server.Store(s)
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), in, out) }()
	id := 0
	ask := func(method, params string) string {
		t.Helper()
		id++
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{"sampling":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
		if err := p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,%s}}`, id, method, params, meta)); err != nil {
			t.Fatal(err)
		}
		for {
			msg, err := p.Next()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(msg, fmt.Sprintf(`"id":%d,`, id)) {
				return msg
			}
		}
	}
	var task struct {
		Result struct {
			ID     string `json:"taskId"`
			Status string
		}
	}
	begun := ask("tools/call", `"name":"agent_prompt","arguments":{"prompt":"ask 2","wait_seconds":0}`)
	if err := json.Unmarshal([]byte(begun), &task); err != nil || task.Result.ID == "" {
		t.Fatalf("%s, %v", begun, err)
	}
	named := fmt.Sprintf(`"taskId":%q`, task.Result.ID)
	state := ""
	for i := range 2 {
		<-b.asking
		question := fmt.Sprintf("sample-%d", i+1)
		for state = ""; !strings.Contains(state, `"input_required"`); { // the question may be on its way
			state = ask("tasks/get", named)
		}
		if !strings.Contains(state, `"`+question+`":{"method":"sampling/createMessage"`) {
			t.Fatalf("%s", state)
		}
		ask("tasks/update", named+`,"inputResponses":{"`+question+`":{"role":"assistant","model":"m","content":{"type":"text","text":"the answer"}}}`)
	}
	for !strings.Contains(state, `"completed"`) && !strings.Contains(state, `"failed"`) {
		state = ask("tasks/get", named)
	}
	if strings.Count(state, "the answer") < 2 {
		t.Errorf("%s", state)
	}
	p.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := b.g.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// Two clients over HTTP lend different models. Each turn asks the model of the client that
// prompted it, even if two principals have a session of the same id.
func TestSamplingOfTwoClients(t *testing.T) {
	for _, version := range samplingEras {
		for _, principals := range [][2]string{{"ada", "ada"}, {"ada", "bob"}} {
			t.Run(version+" "+principals[1], func(t *testing.T) {
				ids := 0
				b := newBorrowerWith(func() string {
					ids++
					if principals[0] != principals[1] {
						return "the same"
					}
					return "s" + strconv.Itoa(ids)
				})
				s := mcp.New(mcp.Options{Gateway: b.g, Cwd: t.TempDir()})
				b.server.Store(s)
				h := s.HTTP(func(r *http.Request) access.Holder {
					return access.Owner(core.Principal(r.Header.Get("Test-Principal")))
				})
				srv := httptest.NewServer(h)
				defer srv.Close()
				defer h.Close()
				var clients []*sdk.ClientSession
				for i, p := range principals {
					of := "model " + strconv.Itoa(i)
					cs, err := sdk.NewClient(&sdk.Implementation{Name: of, Version: "1"}, &sdk.ClientOptions{
						CreateMessageHandler: func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
							return &sdk.CreateMessageResult{Role: "assistant", Model: of, Content: &sdk.TextContent{Text: "I am " + of}, StopReason: "endTurn"}, nil
						},
					}).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: srv.URL, MaxRetries: -1, HTTPClient: &http.Client{Transport: as(p)}}, &sdk.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					defer cs.Close()
					clients = append(clients, cs)
				}
				var sessions []string
				for _, cs := range clients { // both have prompted before either is asked
					_, r := callTool(t, cs, "agent_prompt", map[string]any{"prompt": "ask 1", "wait_seconds": 0})
					sessions = append(sessions, r.Session)
				}
				for i, cs := range clients {
					_, r := callTool(t, cs, "agent_wait", map[string]any{"session_id": sessions[i], "wait_seconds": 600})
					if want := "I am model " + strconv.Itoa(i); !strings.Contains(r.Text, want) {
						t.Errorf("client %d: %+v", i, r)
					}
				}
			})
		}
	}
}

// as identifies the principal in each request.
type as string

// RoundTrip implements http.RoundTripper.
func (p as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Test-Principal", string(p))
	return http.DefaultTransport.RoundTrip(r)
}
