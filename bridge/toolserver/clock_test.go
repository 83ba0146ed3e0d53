package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/core"
)

// late is a server that takes 30 seconds to start, and is waited for for 5.
type late struct {
	up     time.Time
	awaits atomic.Int32
}

func (l *late) Starting() []string {
	if time.Now().Before(l.up) {
		return []string{"late"}
	}
	return nil
}

func (l *late) Require(context.Context) error { return nil }

func (l *late) Await(ctx context.Context, _ bool) {
	l.awaits.Add(1)
	select {
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
	}
}

// heard is what a client without a stream was sent.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) send(m wire.Message, _ *wire.Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, string(wire.AppendMessage(nil, m)))
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.lines, "\n")
}

func message(t *testing.T, text string) wire.Message {
	t.Helper()
	m, err := wire.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A turn begins when servers had their time to start. The tools of slower ones are announced later.
func TestServersThatStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(New(Options{}), Client{})
		h := &heard{}
		c := s.connect(nil, streamable.Visitor{}, h.send)
		defer c.Close()
		starts := &late{up: time.Now().Add(30 * time.Second)}
		w := &turn{specs: []core.Spec{}, starters: []core.Starter{starts}}
		began := time.Now()
		end := begin(t, s, w)
		if took := time.Since(began); took != 5*time.Second || starts.awaits.Load() != 1 {
			t.Errorf("it began after %v", took)
		}
		time.AfterFunc(24*time.Second+time.Second/2, func() { w.set(echo) })
		<-time.After(24 * time.Second)
		if got := h.all(); got != "" {
			t.Errorf("before it has started: %s", got)
		}
		<-time.After(2 * time.Second)
		if got := h.all(); strings.Count(got, "notifications/tools/list_changed") != 1 {
			t.Errorf("when it has started: %s", got)
		}
		end()
	})
}

// A turn waits a moment until the agent has taken a list that has changed, so that its prompt finds
// the new tools. An agent that takes no changed lists is waited for once.
func TestTurnWaitsForTheAgentToListAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const list = `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`
		s := newSession(New(Options{}), Client{})
		h := &heard{}
		c := s.connect(nil, streamable.Visitor{}, h.send)
		defer c.Close()
		c.Take("1", message(t, fmt.Sprintf(list, 1)))
		synctest.Wait()
		begins := func(specs ...core.Spec) time.Duration {
			began := time.Now()
			begin(t, s, &turn{specs: specs})()
			return time.Since(began)
		}
		time.AfterFunc(100*time.Millisecond, func() { c.Take("2", message(t, fmt.Sprintf(list, 2))) })
		if took := begins(echo); took != 100*time.Millisecond {
			t.Errorf("it waited %v for an agent that lists after 100 ms", took)
		}
		if took := begins(echo); took != 0 {
			t.Errorf("it waited %v without a change", took)
		}
		more := echo
		more.Name = "more"
		if took := begins(echo, more); took != relistFor {
			t.Errorf("it waited %v for an agent that does not list", took)
		}
		if took := begins(echo); took != 0 {
			t.Errorf("it waited %v for it again", took)
		}
	})
}

// A turn that is cancelled while its servers start begins no more.
func TestCancelledBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(New(Options{}), Client{})
		w := &turn{starters: []core.Starter{&late{up: time.Now().Add(time.Minute)}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		end, err := s.Begin(ctx, w)
		if err == nil {
			end()
		}
		if took := time.Since(w.starters[0].(*late).up.Add(-time.Minute)); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A caller that wants progress gets signs of life while a person decides, and none after the answer.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(New(Options{}), Client{})
		h := &heard{}
		c := s.connect(nil, streamable.Visitor{}, h.send)
		defer c.Close()
		w := &turn{specs: []core.Spec{echo}}
		w.invoke = func(context.Context, core.Call) (core.Result, error) {
			<-time.After(35 * time.Second)
			return core.Result{}, nil
		}
		defer begin(t, s, w)()
		for i, meta := range []string{`{"progressToken":"p"}`, `{}`, `null`} {
			c.Take(fmt.Sprint(i), message(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"files__echo","_meta":%s}}`, i, meta)))
		}
		<-time.After(time.Minute)
		got := h.all()
		if strings.Count(got, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":`) != 3 || !strings.Contains(got, `"progress":3}`) || strings.Count(got, `"result":`) != 3 {
			t.Error(got)
		}
		if last := h.lines[len(h.lines)-1]; !strings.Contains(last, `"result":`) {
			t.Errorf("the last is %s", last)
		}
	})
}

// Malformed requests are refused, and nothing is called.
func TestMalformedRequests(t *testing.T) {
	s := newSession(New(Options{}), Client{})
	h := &heard{}
	c := s.connect(nil, streamable.Visitor{}, h.send)
	w := &turn{specs: []core.Spec{echo}}
	end := begin(t, s, w)
	bad := []string{
		`"tools/call"`, `"tools/call","params":{}`, `"tools/call","params":{"name":7}`, `"tools/call","params":[1]`,
		`"tools/call","params":{"name":"files__echo","arguments":[]}`, `"tools/call","params":{"name":"files__echo","arguments":"x"}`,
		`"tools/call","params":{"NAME":"files__echo"}`, `"resources/list"`, `"server/discover"`, `"subscriptions/listen"`,
	}
	for i, request := range bad {
		c.Take(fmt.Sprint(i), message(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s}`, i, request)))
	}
	c.Take("", message(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`))
	c.Take("", message(t, `{"jsonrpc":"2.0","method":"notifications/whatever"}`))
	c.Close()
	end()
	if got := h.all(); strings.Count(got, `"error":`) != len(bad) || w.calls.Load() != 0 {
		t.Errorf("%d calls; %s", w.calls.Load(), got)
	}
	c.Take("x", message(t, `{"jsonrpc":"2.0","id":"x","method":"tools/list"}`))
	if got := h.all(); !strings.Contains(got, `"id":"x"`) {
		t.Error("a request after the end is not answered")
	}
}

// A request of a version that is not known says which are.
func TestUnsupportedVersion(t *testing.T) {
	s := newSession(New(Options{}), Client{})
	h := &heard{}
	c := s.connect(nil, streamable.Visitor{Shared: true}, h.send)
	c.Take("1", message(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}}`))
	c.Close()
	var answer struct {
		Error struct {
			Code int
			Data struct{ Supported []string }
		}
	}
	if err := json.Unmarshal([]byte(h.all()), &answer); err != nil || answer.Error.Code != -32022 || len(answer.Error.Data.Supported) != 5 {
		t.Errorf("%s, %v", h.all(), err)
	}
}
