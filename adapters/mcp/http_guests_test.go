package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

// visitor is a client over HTTP without a network.
type visitor struct {
	t       *testing.T
	h       http.Handler
	session string
}

func (v *visitor) do(ctx context.Context, method, body string) *httptest.ResponseRecorder {
	v.t.Helper()
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if v.session != "" {
		r.Header.Set(proto.HeaderSession, v.session)
	}
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	return w
}

// ask calls a tool and returns the whole response.
func (v *visitor) ask(tool, args string) *httptest.ResponseRecorder {
	v.t.Helper()
	return v.do(v.t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{%s}}}`, tool, args))
}

// call calls a tool and returns its result.
func (v *visitor) call(tool, args string) turnResult {
	v.t.Helper()
	w := v.ask(tool, args)
	_, data, _ := strings.Cut(w.Body.String(), "data: ")
	var m struct {
		Result struct {
			Struct turnResult `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.NewDecoder(strings.NewReader(data)).Decode(&m); err != nil || w.Code != http.StatusOK {
		v.t.Fatalf("%s: %d %s", tool, w.Code, w.Body)
	}
	return m.Result.Struct
}

func (v *visitor) status() int {
	v.t.Helper()
	return v.do(v.t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).Code
}

func greeting(name string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + name + `","version":"1"}}}`
}

func visits(t *testing.T, h http.Handler, name string) *visitor {
	t.Helper()
	v := &visitor{t: t, h: h}
	w := v.do(t.Context(), http.MethodPost, greeting(name))
	if v.session = w.Header().Get(proto.HeaderSession); w.Code != http.StatusOK || v.session == "" {
		t.Fatalf("%s: %d %s", name, w.Code, w.Body)
	}
	return v
}

// hangs runs turns that end when they are cancelled.
func hangs(ctx context.Context, _ *core.Turn) (core.StopReason, error) {
	<-ctx.Done()
	return core.StopEnd, nil
}

// look returns the number of clients, the number of sessions that c holds, and whether c has left.
func (d *door) look(c *client) (guests, held int, left bool) {
	d.mu.Lock()
	guests = len(d.visits) + len(d.names)
	d.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	return guests, len(c.held), c.left
}

func (d *door) clientOf(session string) *client {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.visits[session].client
}

// An unused session over HTTP ends and releases everything that it holds, even if no other client
// comes. A stream or a running turn keeps it.
func TestIdleHTTPSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d, _ := newTestDoor(t, hangs)
		quiet, listens, works := visits(t, h, "quiet"), visits(t, h, "listens"), visits(t, h, "works")
		ctx, hangUp := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			listens.do(ctx, http.MethodGet, "")
		}()
		turn := works.call(toolPrompt, `"prompt":"go","wait_seconds":0`)
		<-time.After(guestIdle - time.Minute)
		if quiet.status() != http.StatusOK {
			t.Error("a session that is not idle yet has ended")
		}
		client := d.clientOf(quiet.session)
		<-time.After(3 * guestIdle)
		if _, _, left := d.look(client); quiet.status() != http.StatusNotFound || !left {
			t.Error("an idle session is there still")
		}
		if listens.status() != http.StatusOK {
			t.Error("a session whose stream is read has ended")
		}
		works.call(toolCancel, fmt.Sprintf(`"session_id":%q`, turn.Session)) // which is possible, because a turn kept it
		hangUp()
		<-over
		client = d.clientOf(works.session)
		if _, n, _ := d.look(client); n != 1 {
			t.Errorf("it holds %d sessions", n)
		}
		<-time.After(guestIdle + time.Minute)
		for _, v := range []*visitor{listens, works} {
			if v.status() != http.StatusNotFound {
				t.Error("an idle session is there still")
			}
		}
		if guests, n, _ := d.look(client); guests+n+d.guests.Count() != 0 {
			t.Errorf("%d guests, %d held, %d places", guests, n, d.guests.Count())
		}
	})
}

// The turn of a client that never came back continues. Another session of the protocol can wait
// for it and end it.
func TestTurnOutlivesItsHTTPSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d, _ := newTestDoor(t, hangs)
		d.guests.Each = 1
		first := visits(t, h, "one")
		turn := first.call(toolPrompt, `"prompt":"go","wait_seconds":0`)
		if w := (&visitor{t: t, h: h}).do(t.Context(), http.MethodPost, greeting("one")); w.Code != http.StatusServiceUnavailable {
			t.Errorf("its turn runs, and it made room: %d %s", w.Code, w.Body)
		}
		if code := first.do(t.Context(), http.MethodDelete, "").Code; code != http.StatusNoContent {
			t.Errorf("%d", code)
		}
		second := visits(t, h, "one")
		about := fmt.Sprintf(`"session_id":%q,"turn_id":%q`, turn.Session, turn.Turn)
		if r := second.call(toolWait, about+`,"wait_seconds":1`); r.Status != "running" {
			t.Errorf("%+v", r)
		}
		second.call(toolCancel, fmt.Sprintf(`"session_id":%q`, turn.Session))
		if r := second.call(toolWait, about); r.Status != "cancelled" {
			t.Errorf("%+v", r)
		}
	})
}

// Clients that leave without notice do not exclude others: the one that has been silent for
// longest makes room, one of the same program first if that has all its places.
func TestClientsThatNeverSayGoodbye(t *testing.T) {
	h, d, _ := newTestDoor(t, nil)
	srv := httptest.NewServer(h)
	defer srv.Close()
	begin := func(name string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader(greeting(name)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close() //nolint:errcheck // it was read
		_, err = io.Copy(io.Discard, res.Body)
		if id := res.Header.Get(proto.HeaderSession); err == nil && res.StatusCode == http.StatusOK && id != "" {
			return id
		}
		t.Fatalf("%s: %s", name, res.Status)
		return ""
	}
	there := func(id string) bool { return (&visitor{t: t, h: h, session: id}).status() == http.StatusOK }

	other := begin("another")
	first := begin("leaky")
	last := ""
	for range maxOfClient {
		last = begin("leaky")
	}
	if there(first) || !there(last) || !there(other) {
		t.Errorf("one that leaks: its first %v, its last %v, another client's %v", there(first), there(last), there(other))
	}
	for i := range maxGuests {
		last = begin(fmt.Sprintf("client %d", i))
	}
	if there(other) || !there(last) {
		t.Errorf("the one silent for longest %v, the newest %v", there(other), there(last))
	}
	if n, m := d.guests.Count(), len(slices.Collect(d.sdk.Sessions())); n != maxGuests || m != maxGuests {
		t.Errorf("%d places, %d sessions", n, m)
	}
}

// A client with a request, a stream or a turn makes no room. If all clients have one, the
// newcomer is refused, with the reason.
func TestHTTPSessionsAtWorkStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d, _ := newTestDoor(t, hangs)
		d.guests.All = 3
		ctx, hangUp := context.WithCancel(t.Context())
		over := make(chan struct{}, 2)
		asks, listens, works := visits(t, h, "asks"), visits(t, h, "listens"), visits(t, h, "works")
		turn := works.call(toolPrompt, `"prompt":"go","wait_seconds":0`)
		go func() {
			asks.call(toolWait, fmt.Sprintf(`"session_id":%q,"wait_seconds":600`, turn.Session))
			over <- struct{}{}
		}()
		go func() {
			listens.do(ctx, http.MethodGet, "")
			over <- struct{}{}
		}()
		synctest.Wait()
		w := (&visitor{t: t, h: h}).do(t.Context(), http.MethodPost, greeting("new"))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"id":0`) ||
			!strings.Contains(w.Body.String(), "3 sessions are open, and something is under way in each") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		hangUp()
		<-over
		visits(t, h, "new")
		if listens.status() != http.StatusNotFound {
			t.Error("the one that made room is there")
		}
		works.call(toolCancel, fmt.Sprintf(`"session_id":%q`, turn.Session))
		<-over
	})
}

// The number of sessions that a client holds is limited, however many it names.
func TestHeldSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d, _ := newTestDoor(t, func(context.Context, *core.Turn) (core.StopReason, error) { return core.StopEnd, nil })
		v := visits(t, h, "busy")
		first := v.call(toolPrompt, `"prompt":"go"`)
		for range maxHeld {
			<-time.After(time.Second)
			v.call(toolPrompt, `"prompt":"go"`)
		}
		c := d.clientOf(v.session)
		c.mu.Lock()
		n, oldest := len(c.held), c.held[first.Session]
		c.mu.Unlock()
		if n != maxHeld || oldest != nil {
			t.Errorf("%d sessions are held, and the first one: %v", n, oldest != nil)
		}
		if r := v.call(toolPrompt, fmt.Sprintf(`"prompt":"again","session_id":%q`, first.Session)); r.Status != "completed" {
			t.Errorf("%+v", r)
		}
	})
}

// The folds of the four turns polled last are kept, for two minutes.
func TestPolledTurnsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heldSession{}
		for i := range 10 {
			h.giveBack(h.borrow(core.TurnID(fmt.Sprint("turn ", i))))
		}
		kept := func() (ids []core.TurnID) {
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, f := range h.folds {
				ids = append(ids, f.id)
			}
			return ids
		}
		if ids := kept(); !slices.Equal(ids, []core.TurnID{"turn 6", "turn 7", "turn 8", "turn 9"}) {
			t.Errorf("kept are %q", ids)
		}
		<-time.After(2*time.Minute - time.Second)
		h.giveBack(h.borrow("turn 9")) // it is polled again
		<-time.After(2*time.Minute - time.Second)
		if ids := kept(); len(ids) != 4 {
			t.Errorf("kept before the time is over are %q", ids)
		}
		<-time.After(2 * time.Second)
		if ids := kept(); len(ids) > 0 {
			t.Errorf("kept for nobody are %q", ids)
		}
	})
}

// The caller of ServeFor can ask whether a turn runs for its client.
func TestServeForReportsARunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := coretest.Gateway(coretest.NewMemory(), hangs, coretest.Always(core.Verdict{Effect: core.Allow}))
		var works wire.Works
		in, say := io.Pipe()
		hear, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- New(Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()}).ServeFor(t.Context(), core.Local, in, out, &works)
		}()
		answers := wire.Lines(hear, 0)
		send := func(message string) {
			t.Helper()
			if _, err := io.WriteString(say, message+"\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := answers.Next(); err != nil {
				t.Fatal(err)
			}
		}
		send(greeting("c"))
		if works.Now() {
			t.Error("no turn runs")
		}
		send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"go","wait_seconds":0}}}`)
		if !works.Now() {
			t.Error("a turn runs")
		}
		say.Close()
		if err := errors.Join(<-ended, g.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
}

// A subscribed resource is followed until its client leaves.
func TestSubscriptionsEndWithTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d, _ := newTestDoor(t, func(context.Context, *core.Turn) (core.StopReason, error) { return core.StopEnd, nil })
		followed := func() int {
			d.watches.mu.Lock()
			defer d.watches.mu.Unlock()
			return len(d.watches.open)
		}
		v := visits(t, h, "curious")
		for range 5 {
			id := v.call(toolPrompt, `"prompt":"go"`).Session
			if w := v.do(t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"dragoman://session/%s/transcript"}}`, id)); w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"error"`) {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		if n := followed(); n != 5 {
			t.Errorf("%d sessions are followed", n)
		}
		<-time.After(guestIdle + time.Minute)
		synctest.Wait()
		if n := followed(); n != 0 {
			t.Errorf("%d sessions are followed for nobody", n)
		}
	})
}

// The events kept for clients that reconnect are bounded, however many there were.
func TestReplaysAreBounded(t *testing.T) {
	long := strings.Repeat("long ", maxText/5)
	g := coretest.Gateway(jsonl.New(t.TempDir()), func(ctx context.Context, t *core.Turn) (core.StopReason, error) {
		return core.StopEnd, t.Emit(ctx, core.TextDelta{Message: t.NewMessage(), Text: long})
	}, coretest.Always(core.Verdict{Effect: core.Allow}))
	h := New(Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()}).HTTP(func(*http.Request) access.Holder { return access.Owner(core.Local) })
	if h.replay != replayBytes {
		t.Errorf("%d bytes are kept", h.replay)
	}
	h.replay = 4 << 20 // a fourth of the answers exceeds it
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	session := visits(t, h, "first").call(toolPrompt, `"prompt":"go"`).Session
	answers, said := 0, 0
	for ; said < 3*h.replay; answers++ {
		v := visits(t, h, fmt.Sprint("client ", answers))
		w := v.ask(toolPrompt, fmt.Sprintf(`"prompt":"go","session_id":%q`, session))
		if n := strings.Count(w.Body.String(), "long "); !strings.Contains(w.Body.String(), `"status":"completed"`) || n < maxText/5 {
			t.Fatalf("%d times in %.500s", n, w.Body)
		}
		said += w.Body.Len()
		d := h.door(access.Owner(core.Local))
		d.clientOf(v.session).held[session].fade()
	}
	if grown := heap() - before; grown > 2*h.replay {
		t.Errorf("%d answers, %d MiB in all, take %d MiB", answers, said>>20, grown>>20)
	}
	h.Close()
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
