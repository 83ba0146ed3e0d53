package wire_test

import (
	"context"
	"testing"
	"testing/synctest"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
)

func TestConversation(t *testing.T) {
	const script = `-> {"jsonrpc":"2.0","id":0,"method":"echo","params":{"text":"a<b"}}
<- {"jsonrpc":"2.0","id":0,"result":"a<b"}
-> {"id":"x","method":"nothing"}
<- {"jsonrpc":"2.0","id":"x","result":null}
-> {"jsonrpc":"2.0","method":"unheard"}
-> {"jsonrpc":"2.0","id":1,"method":"unheard"}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: \"unheard\""}}
-> {"jsonrpc":"2.0","id":2,"method":"echo","params":{"text":5}}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid params: text: expected a string, got number"}}
-> {broken
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not valid JSON: invalid character 'b' looking for beginning of object key string at byte 2"}}
`
	type text struct{ Text string }
	methods := wire.Methods{
		"echo": wire.Sync(wire.Func(func(_ context.Context, p struct {
			Text string `json:"text"`
		},
		) (string, error) {
			return p.Text, nil
		})),
		"nothing": wire.Async(func(c *wire.Call, _ text) error { c.Reply(nil, nil); return nil }),
	}
	for _, framing := range []wire.Framing{wire.Newline, wire.ContentLength} {
		synctest.Test(t, func(t *testing.T) {
			in, out, peer := wiretest.New(framing)
			conn := wire.NewConn(in, out, wire.Options{Framing: framing})
			served := make(chan error)
			go func() { served <- conn.Serve(t.Context(), methods.Handle) }()
			got, err := peer.Play(script, synctest.Wait)
			if err != nil {
				t.Error(err)
			}
			if got != script {
				t.Errorf("framing %d: got\n%s\nwant\n%s", framing, got, script)
			}
			peer.Hangup()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}
