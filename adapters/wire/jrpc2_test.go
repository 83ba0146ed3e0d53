package wire_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"dragoman/adapters/wire"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
)

// An implementation of JSON-RPC that is not ours at the other end: it asks us over both framings, and answers our
// questions. Order is not looked at, as it keeps none.
func TestAgainstJRPC2(t *testing.T) {
	for name, c := range map[string]struct {
		framing wire.Framing
		theirs  channel.Framing
	}{
		"newline":        {wire.Newline, channel.Line},
		"content-length": {wire.ContentLength, channel.Header("")},
		"lsp":            {wire.ContentLength, channel.LSP},
	} {
		t.Run(name, func(t *testing.T) {
			fromPeer, toConn := osPipe(t)
			fromConn, toPeer := osPipe(t)
			conn := wire.NewConn(fromPeer, toPeer, wire.Options{Framing: c.framing})
			var owner sync.WaitGroup
			methods := wire.Methods{
				"double": wire.Sync(wire.Func(func(_ context.Context, p struct {
					N int `json:"n"`
				},
				) (int, error) {
					return 2 * p.N, nil
				})),
				"fail": wire.Async(func(call *wire.Call, _ struct{}) error {
					owner.Go(func() { call.Reply(nil, jrpc2.Errorf(7, "no").WithData([]int{1})) })
					return nil
				}),
				"ask back": wire.Async(func(call *wire.Call, _ struct{}) error {
					owner.Go(func() {
						var answer string
						err := conn.Ask(call.Context(), "name", map[string]int{"a": 1}, &answer)
						call.Reply(answer, err)
					})
					return nil
				}),
			}
			owner.Go(func() {
				if err := conn.Serve(t.Context(), methods.Handle); err != nil {
					t.Errorf("Serve: %v", err)
				}
			})
			client := jrpc2.NewClient(c.theirs(fromConn, toConn), &jrpc2.ClientOptions{
				OnCallback: handler.New(func(_ context.Context, req *jrpc2.Request) (any, error) { return req.Method() + req.ParamString(), nil }),
			})
			var asking sync.WaitGroup
			for g := range 4 {
				asking.Go(func() {
					for i := range 200 {
						var n int
						if err := client.CallResult(t.Context(), "double", map[string]int{"n": g + i}, &n); err != nil || n != 2*(g+i) {
							t.Errorf("double %d: %d, %v", g+i, n, err)
						}
					}
				})
			}
			asking.Wait()
			var s string
			if err := client.CallResult(t.Context(), "ask back", nil, &s); err != nil || s != `name{"a":1}` {
				t.Errorf("ask back: %q, %v", s, err)
			}
			_, err := client.Call(t.Context(), "fail", nil)
			if got := fmt.Sprint(err); got != "[7] no" {
				t.Error(got)
			}
			rsps, err := client.Batch(t.Context(), []jrpc2.Spec{{Method: "double", Params: map[string]int{"n": 4}}, {Method: "note", Notify: true}, {Method: "unknown"}})
			if err != nil || len(rsps) != 2 || rsps[0].ResultString() != "8" || rsps[1].Error().Code != jrpc2.MethodNotFound {
				t.Errorf("batch: %v, %v", rsps, err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			owner.Wait()
			if s := conn.Stats(); s != (wire.Stats{}) {
				t.Errorf("%+v", s)
			}
		})
	}
}
