package aggregate

import (
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core"
	"dragoman/core/access"
)

// The server that keeps an aggregate's client can ask whether a turn runs for it in our
// agent.
func TestAggregateSaysThatATurnRuns(t *testing.T) {
	for _, version := range []string{`"2025-11-25"`, `1`} {
		var turn atomic.Bool
		a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "x", Endpoint: plays("dies")}}}, Options{
			Agent: standIn{works: turn.Load},
		})
		answered := make(chan wire.Message, 10)
		l := a.Connect(access.Owner(core.Local), t.TempDir(), false, func(m wire.Message, _ *wire.Call) { answered <- m })
		l.Take("1", wire.Message{ID: json.RawMessage("1"), Method: "initialize", Params: json.RawMessage(`{"protocolVersion":` + version + `,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)})
		if m := <-answered; m.Result == nil && version != "1" {
			t.Fatalf("%s", m.Error)
		}
		if l.Works() {
			t.Errorf("%s: no turn runs", version)
		}
		turn.Store(true)
		if !l.Works() {
			t.Errorf("%s: a turn runs", version)
		}
		l.Close()
	}
}

// However many clients speak over one connection, each by requests that name it, only a
// bounded number of them has connections to servers at a time.
func TestSidesAreBounded(t *testing.T) {
	a := aggregate(t, upstream.Options{Servers: []upstream.Server{{Name: "x", Endpoint: plays("dies")}}}, Options{})
	in, say := io.Pipe()
	hear, out := io.Pipe()
	c := a.newCaller(t.TempDir(), access.Owner(core.Local))
	c.shared, c.posted = true, true
	ended := make(chan error, 1)
	go func() { ended <- a.serve(t.Context(), c, in, out) }()
	answers := wire.Lines(hear, 0)
	for i := range 3 * maxSides {
		name := fmt.Sprint("client ", i)
		if _, err := io.WriteString(say, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"`+name+`","version":"1"}}}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := answers.Next(); err != nil {
			t.Fatal(err)
		}
		if n := len(c.sides()); n != min(i+1, maxSides) {
			t.Fatalf("%d sides after %d clients", n, i+1)
		}
	}
	say.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
