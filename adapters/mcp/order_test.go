package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/mcp"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/cursor"
)

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}`

// modernMeta is the metadata of a request of 2026-07-28.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}},`

// conversation is one client of a server with the test's agent.
type conversation struct {
	t    *testing.T
	g    *core.Gateway
	peer *wiretest.Peer
	stop func()
	meta string
}

// answer holds the tested members of an answer.
type answer struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
	Result struct {
		IsError bool
		Content []struct{ Text string }
		Struct  struct {
			Session   string `json:"session_id"`
			Turn      string `json:"turn_id"`
			Status    string
			Text      string
			Cancelled bool
			Calls     []struct{ Status, Summary string }          `json:"tool_calls"`
			Entries   []struct{ Type, Text, Status, Name string } `json:"entries"`
			Events    []struct{ Type, Text, Status string }
			Approvals []struct {
				ID string `json:"approval_id"`
			} `json:"pending_approvals"`
			Cursor string
			More   bool
		} `json:"structuredContent"`
	}
}

// converseAt begins a conversation: at "2025-11-25" with initialize, otherwise at 2026-07-28.
func converseAt(t *testing.T, version string, o mcp.Options) *conversation {
	t.Helper()
	c := &conversation{t: t, g: o.Gateway}
	if c.g == nil {
		c.g = newGateway(coretest.NewMemory(), 0, nil)
		o.Gateway = c.g
	}
	o.Principal = core.Local
	o.Cwd = filepath.Dir(t.TempDir()) // the test's own: its conversations share their sessions
	c.peer, c.stop = serve(t, o)
	if version == "2025-11-25" {
		c.send(initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		c.next()
	} else {
		c.meta = modernMeta
	}
	return c
}

// end hangs up and closes the gateway.
func (c *conversation) end() {
	c.t.Helper()
	c.stop()
	if err := c.g.Close(context.WithoutCancel(c.t.Context())); err != nil {
		c.t.Errorf("close the gateway: %v", err)
	}
}

func (c *conversation) send(lines ...string) {
	c.t.Helper()
	if err := c.peer.Send(lines...); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// next returns the next message from the server that is not a progress notification.
func (c *conversation) next() answer {
	c.t.Helper()
	for {
		text, err := c.peer.Next()
		if err != nil {
			c.t.Fatalf("receive: %v", err)
		}
		var a answer
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			c.t.Fatalf("%s: %v", text, err)
		}
		if a.Method != "notifications/progress" {
			return a
		}
	}
}

// tool returns the line of a call; args are members of the arguments.
func (c *conversation) tool(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":%q,"arguments":{%s}}}`, id, c.meta, name, args)
}

func (c *conversation) call(id int, name, args string) answer {
	c.t.Helper()
	c.send(c.tool(id, name, args))
	return c.next()
}

func cancelled(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}

var eras = []string{"2025-11-25", "2026-07-28"}

// A prompt and its cancel in one write, 500 times: no hanging turn keeps running, and a prompt
// after the cancel runs. None of the cancelled calls is answered.
func TestPromptAndCancelInOneWrite(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := converseAt(t, era, mcp.Options{})
				defer c.end()
				session := c.call(1, "agent_prompt", `"prompt":"say hello"`).Result.Struct.Session
				for i := range 500 {
					id := 10 + 2*i
					on := fmt.Sprintf(`"session_id":%q`, session)
					if i%2 == 0 {
						on = `"approvals":"ask"` // a session of its own
					}
					c.send(c.tool(id, "agent_prompt", `"prompt":"hang",`+on), cancelled(id),
						c.tool(id+1, "agent_prompt", fmt.Sprintf(`"prompt":"say after","session_id":%q`, session)))
					a := c.next()
					if string(a.ID) != fmt.Sprint(id+1) || a.Result.Struct.Text != "after" {
						t.Fatalf("round %d: %+v", i, a)
					}
				}
				synctest.Wait()
				for sum, err := range c.g.List(t.Context(), core.Local) {
					if err != nil || sum.Running {
						t.Errorf("session %s: running %v, %v", sum.ID, sum.Running, err)
					}
				}
			})
		})
	}
}

// A prompt and agent_cancel in one write, 500 times: the cancel never overtakes the prompt, and a
// prompt after both runs.
func TestPromptAndAgentCancelInOneWrite(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := converseAt(t, era, mcp.Options{})
				defer c.end()
				session := c.call(1, "agent_prompt", `"prompt":"say hello"`).Result.Struct.Session
				on := fmt.Sprintf(`"session_id":%q`, session)
				for i := range 500 {
					id := 10 + 3*i
					c.send(c.tool(id, "agent_prompt", `"prompt":"hang",`+on), c.tool(id+1, "agent_cancel", on), c.tool(id+2, "agent_prompt", `"prompt":"say after",`+on))
					got := map[string]answer{}
					for range 3 {
						a := c.next()
						got[string(a.ID)] = a
					}
					if a := got[fmt.Sprint(id)].Result.Struct; a.Status != "cancelled" {
						t.Fatalf("round %d: the prompt: %+v", i, a)
					}
					if a := got[fmt.Sprint(id+1)].Result.Struct; !a.Cancelled {
						t.Fatalf("round %d: the cancel: %+v", i, a)
					}
					if a := got[fmt.Sprint(id+2)].Result; a.Struct.Text != "after" {
						t.Fatalf("round %d: the prompt behind: %+v", i, a)
					}
				}
			})
		})
	}
}

// A call in a session's line that fails before it runs does not delay the next ones.
func TestAFailedCallDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := converseAt(t, "2025-11-25", mcp.Options{})
		defer c.end()
		session := c.call(1, "agent_prompt", `"prompt":"say hello"`).Result.Struct.Session
		on := fmt.Sprintf(`"session_id":%q`, session)
		c.send(c.tool(2, "agent_prompt", on), c.tool(3, "agent_prompt", `"prompt":"","x":1,`+on), c.tool(4, "agent_cancel", `"turn_id":7,`+on),
			c.tool(5, "agent_prompt", `"prompt":"say after",`+on))
		got := map[string]answer{}
		for range 4 {
			a := c.next()
			got[string(a.ID)] = a
		}
		for _, id := range []string{"2", "3", "4"} {
			if !got[id].Result.IsError {
				t.Errorf("call %s: %+v", id, got[id])
			}
		}
		if got["5"].Result.Struct.Text != "after" {
			t.Errorf("the good one: %+v", got["5"])
		}
	})
}

// A turn that a truncation hides is not waited for.
func TestTruncatedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := converseAt(t, "2025-11-25", mcp.Options{})
		defer c.end()
		first := c.call(1, "agent_prompt", `"prompt":"say one"`).Result.Struct
		on := fmt.Sprintf(`"session_id":%q`, first.Session)
		at := c.call(2, "session_get", on).Result.Struct.Cursor
		c.call(3, "agent_prompt", `"prompt":"say two",`+on)
		s, err := c.g.Open(t.Context(), core.Local, core.SessionID(first.Session))
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "editor"})
		defer a.Close()
		pos, err := cursor.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Truncate(t.Context(), pos); err != nil {
			t.Fatal(err)
		}
		got := c.call(4, "session_get", on).Result.Struct
		if len(got.Entries) != 3 || got.More {
			t.Errorf("the whole: %+v", got)
		}
		for i, args := range []string{`"after":"` + at + `"`, `"after":"` + got.Cursor + `"`} {
			if got := c.call(5+i, "session_get", args+","+on); len(got.Result.Struct.Entries) != 0 || got.Result.IsError {
				t.Errorf("%s: %+v", args, got)
			}
		}
		if got := c.call(7, "agent_wait", on).Result.Struct; got.Turn != first.Turn || got.Text != "one" {
			t.Errorf("the newest turn: %+v", got)
		}
		if got := c.call(8, "agent_prompt", `"prompt":"say three",`+on).Result.Struct; got.Text != "three" {
			t.Errorf("another turn: %+v", got)
		}
	})
}

// Two sessions at once do not mix.
func TestTwoSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := converseAt(t, "2025-11-25", mcp.Options{})
		defer c.end()
		for i := range 100 {
			c.send(c.tool(2*i, "agent_prompt", fmt.Sprintf(`"prompt":"say %d"`, 2*i)), c.tool(2*i+1, "agent_prompt", fmt.Sprintf(`"prompt":"say %d"`, 2*i+1)))
			for range 2 {
				if a := c.next(); a.Result.Struct.Text != string(a.ID) {
					t.Fatalf("%+v", a)
				}
			}
		}
	})
}

// Messages that a client leaves unread delay no turn, and only progress is lost.
func TestClientStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := converseAt(t, "2025-11-25", mcp.Options{})
		defer c.end()
		const turns = 20
		for i := range turns {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"progressToken":%d},"name":"agent_prompt","arguments":{"prompt":"long 100"}}}`, i, i))
		}
		c.send(c.tool(100, "agent_prompt", `"prompt":"hang"`))
		<-time.After(3 * time.Second)
		c.send(cancelled(100))
		<-time.After(3 * time.Second)
		running := 0
		for sum, err := range c.g.List(t.Context(), core.Local) {
			if err != nil {
				t.Fatal(err)
			}
			if sum.Running {
				running++
			}
		}
		if running != 0 {
			t.Errorf("%d turns still run", running)
		}
		seen := map[string]bool{}
		for range turns {
			a := c.next()
			if len(a.Result.Struct.Text) < 100_000 || seen[string(a.ID)] {
				t.Errorf("answer %s: %d bytes", a.ID, len(a.Result.Struct.Text))
			}
			seen[string(a.ID)] = true
		}
	})
}

// Progress grows, comes at most five times a second, ends before the answer, and starts only with
// a token.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := converseAt(t, "2025-11-25", mcp.Options{})
		defer c.end()
		c.send(c.tool(1, "agent_prompt", `"prompt":"slow 1s"`))
		if text, err := c.peer.Next(); err != nil || !strings.Contains(text, `"id":1,`) {
			t.Errorf("without a token: %s, %v", text, err)
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":"t"},"name":"agent_prompt","arguments":{"prompt":"slow 1s"}}}`)
		begin := time.Now()
		last, n := -1.0, 0
		for {
			text, err := c.peer.Next()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text, `"id":2,`) {
				break
			}
			var p struct {
				Params struct {
					Token    string `json:"progressToken"`
					Progress float64
					Message  string
				}
			}
			if err := json.Unmarshal([]byte(text), &p); err != nil || p.Params.Token != "t" || p.Params.Progress <= last || p.Params.Message == "" {
				t.Errorf("%s, %v, behind %v", text, err, last)
			}
			last = p.Params.Progress
			n++
		}
		if most := int(time.Since(begin)/(200*time.Millisecond)) + 1; n == 0 || n > most {
			t.Errorf("%d notifications in %s", n, time.Since(begin))
		}
		synctest.Wait()
		if c.peer.Pending() {
			text, _ := c.peer.Next()
			t.Errorf("behind the answer: %s", text)
		}
	})
}

// A client of 2026-07-28 that calls again with its user's answers uses its progress token again:
// progress continues to grow.
func TestProgressGoesOnWhenCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := converseAt(t, "2026-07-28", mcp.Options{})
		defer c.end()
		meta := strings.NewReplacer(`clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, `"_meta":{`, `"_meta":{"progressToken":"t",`).Replace(modernMeta)
		more, last, sent := "", -1.0, 0
		for round := 0; ; round++ {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":"agent_prompt","arguments":{"prompt":"write a.txt b.txt c.txt"}%s}}`, round, meta, more))
			var m struct {
				Params struct{ Progress float64 }
				Result struct {
					Type   string `json:"resultType"`
					State  string `json:"requestState"`
					Inputs map[string]any
					Struct struct{ Text string } `json:"structuredContent"`
				}
			}
			for m.Result.Type == "" {
				text, err := c.peer.Next()
				if err != nil {
					t.Fatal(err)
				}
				text = strings.Replace(text, `"inputRequests"`, `"inputs"`, 1)
				if err := json.Unmarshal([]byte(text), &m); err != nil {
					t.Fatal(err)
				}
				if m.Result.Type == "" {
					if sent++; m.Params.Progress <= last {
						t.Errorf("round %d: %v behind %v", round, m.Params.Progress, last)
					}
					last = m.Params.Progress
				}
			}
			if m.Result.Type == "complete" {
				if m.Result.Struct.Text != "Written." || sent == 0 || round == 0 {
					t.Errorf("%q after %d rounds and %d notifications", m.Result.Struct.Text, round, sent)
				}
				return
			}
			answers := map[string]any{}
			for id := range m.Result.Inputs {
				answers[id] = map[string]string{"action": "accept"}
			}
			text, err := json.Marshal(map[string]any{"inputResponses": answers, "requestState": m.Result.State})
			if err != nil {
				t.Fatal(err)
			}
			more = "," + string(text[1:len(text)-1])
			<-time.After(time.Second)
		}
	})
}

// After 1,000 turns there are as many goroutines as before, and none of the connection remains
// after its end.
func TestNothingIsLeftBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	c := converseAt(t, "2025-11-25", mcp.Options{})
	session := c.call(0, "agent_prompt", `"prompt":"say hello"`).Result.Struct.Session
	connected := runtime.NumGoroutine()
	for i := range 1000 {
		if a := c.call(i+1, "agent_prompt", fmt.Sprintf(`"prompt":"say hello","session_id":%q`, session)); a.Result.Struct.Status != "completed" {
			t.Fatalf("turn %d: %+v", i, a)
		}
	}
	fallTo(t, connected)
	c.end()
	fallTo(t, before)
}

// fallTo waits until there are no more goroutines than n.
func fallTo(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > n; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left, want %d", runtime.NumGoroutine(), n)
		}
	}
}

// Calls over the limit are refused, and the cancels after them take effect.
func TestTooManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := converseAt(t, "2025-11-25", mcp.Options{})
		defer c.end()
		const most = 1024
		for i := range most {
			c.send(c.tool(i, "agent_prompt", `"prompt":"hang"`))
		}
		c.send(`{"jsonrpc":"2.0","id":"more","method":"ping"}`)
		if a := c.next(); string(a.ID) != `"more"` || a.Error == nil || a.Error.Code != -32000 {
			t.Errorf("one too many: %+v", a)
		}
		for i := range most {
			c.send(cancelled(i))
		}
		synctest.Wait()
		c.send(`{"jsonrpc":"2.0","id":"again","method":"ping"}`)
		if a := c.next(); string(a.ID) != `"again"` || a.Error != nil {
			t.Errorf("after the cancels: %+v", a)
		}
	})
}

// A connection that breaks at any byte ends the server, and leaves nothing waiting.
func TestConnectionsThatBreakAtAnyByte(t *testing.T) {
	text := strings.Join([]string{
		initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"write a.txt"}}}`,
	}, "\n") + "\n"
	for at := 0; at < len(text); at += 7 {
		synctest.Test(t, func(t *testing.T) {
			c := &conversation{t: t, g: newGateway(coretest.NewMemory(), 0, nil)}
			c.peer, c.stop = serve(t, mcp.Options{Gateway: c.g, Principal: core.Local, Cwd: t.TempDir()})
			if err := c.peer.Raw(text[:at]); err != nil {
				t.Error(err)
			}
			c.peer.Close()
			c.end()
		})
	}
}

// The end of the server's own context ends Serve with its cause.
func TestServeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), 0, nil)
		ctx, stop := context.WithCancelCause(t.Context())
		in, _ := wiretest.Pipe()
		var done error
		var wg sync.WaitGroup
		wg.Go(func() { done = mcp.New(mcp.Options{Gateway: g, Principal: core.Local}).Serve(ctx, in, nowhere{}) })
		synctest.Wait()
		stop(core.ErrShutdown)
		wg.Wait()
		if done != core.ErrShutdown { //nolint:errorlint // the cause itself
			t.Errorf("Serve returned %v", done)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Close() error                { return nil }

var _ io.WriteCloser = nowhere{}
