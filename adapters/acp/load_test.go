package acp_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`

func newSession(t *testing.T, peer *wiretest.Peer) {
	t.Helper()
	if err := peer.Send(hello, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`); err != nil {
		t.Fatal(err)
	}
	peer.Until(t, `"id":1`)
}

func promptLine(id int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":%q}]}}`, id, text)
}

// A prompt and its cancel in one write: the cancel is never lost.
func TestCancelInOneWrite(t *testing.T) {
	g := newGateway(coretest.NewMemory(), nil, false)
	peer, stop := serve(t, g)
	newSession(t, peer)
	for i := range 500 {
		if err := peer.Send(promptLine(10+i, "hang"), `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`); err != nil {
			t.Fatal(err)
		}
		if got := peer.Until(t, fmt.Sprintf(`"id":%d`, 10+i)); !strings.Contains(got, `"stopReason":"cancelled"`) {
			t.Fatalf("prompt %d: %s", i, got)
		}
	}
	stop()
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A cancel ends the running turn and all prompts that were read before it, each answered.
func TestCancelEndsTheQueue(t *testing.T) {
	g := newGateway(coretest.NewMemory(), nil, false)
	peer, stop := serve(t, g)
	newSession(t, peer)
	if err := peer.Send(promptLine(2, "hang"), promptLine(3, "say two"), promptLine(4, "say three"),
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`, promptLine(5, "say four")); err != nil {
		t.Fatal(err)
	}
	for open := 4; open > 0; {
		msg := peer.Until(t, `"stopReason"`)
		if want := "cancelled"; !strings.Contains(msg, want) && !strings.Contains(msg, `"id":5,"result":{"stopReason":"end_turn"}`) {
			t.Errorf("got %s", msg)
		}
		open--
	}
	stop()
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// 1,000 turns and the end of the connection leave no goroutine.
func TestGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	g := newGateway(coretest.NewMemory(), nil, false)
	peer, stop := serve(t, g)
	newSession(t, peer)
	for i := range 1000 {
		if err := peer.Send(promptLine(10+i, "say hello")); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, fmt.Sprintf(`"id":%d`, 10+i))
	}
	if err := peer.Send(promptLine(5000, "hang")); err != nil {
		t.Fatal(err)
	}
	peer.Until(t, "one moment")
	stop()
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
	// Goroutines that end by themselves may need a moment more.
	for left := time.After(30 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		select {
		case <-left:
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		default:
		}
	}
}

// A client that resumes a session is told its usage: nothing else would before the next turn.
func TestResumeTellsTheUsage(t *testing.T) {
	g := newGateway(coretest.NewMemory(), nil, false)
	peer, stop := serve(t, g)
	newSession(t, peer)
	if err := peer.Send(promptLine(2, "plan it")); err != nil {
		t.Fatal(err)
	}
	peer.Until(t, `"id":2`)
	stop()
	peer, stop = serve(t, g)
	if err := peer.Send(hello, `{"jsonrpc":"2.0","id":4,"method":"session/resume","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`); err != nil {
		t.Fatal(err)
	}
	peer.Until(t, `"id":4`)
	if got := peer.Until(t, `"usage_update"`); !strings.Contains(got, `"used":12,"size":1000`) {
		t.Errorf("got %s", got)
	}
	stop()
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A session whose end was taken back loads like any other.
func TestLoadOfASessionWhoseEndIsHidden(t *testing.T) {
	g := newGateway(coretest.NewMemory(), nil, false)
	peer, stop := serve(t, g)
	newSession(t, peer)
	sess, err := g.Open(t.Context(), core.Local, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := peer.Send(promptLine(2, "say one")); err != nil {
		t.Fatal(err)
	}
	peer.Until(t, `"id":2`)
	head := sess.Head()
	if err := peer.Send(promptLine(3, "say two")); err != nil {
		t.Fatal(err)
	}
	peer.Until(t, `"id":3`)
	a := sess.Attach(core.Client{Name: "other", Role: core.Decide})
	if err := a.Truncate(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	a.Close()
	stop()
	peer, stop = serve(t, g)
	if err := peer.Send(hello, `{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`); err != nil {
		t.Fatal(err)
	}
	peer.Until(t, `"text":"one"`)
	peer.Until(t, `"id":4`)
	stop()
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whatever the order in which a refused turn ends and the next one begins, the next one is never
// removed with it.
func TestARefusalRemovesNothingElse(t *testing.T) {
	for range 50 {
		g := newGateway(coretest.NewMemory(), nil, false)
		peer, stop := serve(t, g)
		newSession(t, peer)
		if err := peer.Send(promptLine(2, "refuse no"), promptLine(3, "say the end")); err != nil {
			t.Fatal(err)
		}
		for open := 2; open > 0; open-- {
			peer.Until(t, `"stopReason"`)
		}
		if err := peer.Send(`{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, `"text":"say the end"`)
		peer.Until(t, `"text":"the end"`)
		peer.Until(t, `"id":4`)
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
