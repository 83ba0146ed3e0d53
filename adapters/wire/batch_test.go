package wire_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"dragoman/adapters/wire"
)

func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held []*wire.Call
		c, p, stop := serve(t, wire.Options{MaxBatch: 4, MaxOpen: 3}, func(_ *wire.Conn, call *wire.Call) {
			switch call.Method {
			case "hold":
				held = append(held, call)
			case "release":
				for i := range held {
					held[len(held)-1-i].Reply("held", nil)
				}
				held = nil
			default:
				call.Reply(call.Params, nil)
			}
		})
		asked := make(chan json.RawMessage, 1)
		c.Start("q", nil, func(r json.RawMessage, _ error) { asked <- r })
		play(t, p, `<- {"jsonrpc":"2.0","id":1,"method":"q"}
-> [{"id":1,"method":"echo","params":[6]},{"method":"note"},{"id":2,"method":"echo"}]
<- [{"jsonrpc":"2.0","id":1,"result":[6]},{"jsonrpc":"2.0","id":2,"result":null}]
-> [ {"method":"note"} , {"id":1,"result":"answer"} ]
-> [1,{"id":8,"method":"echo"},[],{"id":9}]
<- [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be a JSON object"}},{"jsonrpc":"2.0","id":8,"result":null},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be a JSON object"}},{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"invalid message: neither a method nor a result nor an error"}}]
-> []
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"empty batch"}}
-> [{},{},{},{},{}]
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch has at most 4 messages"}}
-> [{"id":1,"method":"m"},
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not valid JSON: unexpected end of JSON input at byte 23"}}
the answers leave together, when the last is there
-> [{"id":1,"method":"hold"},{"id":1,"method":"hold"},{"id":2,"method":"hold"},{"id":3,"method":"echo"}]
-> {"id":4,"method":"echo"}
<- {"jsonrpc":"2.0","id":4,"result":null}
-> {"method":"release"}
<- [{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a request with the id 1 is still open"}},{"jsonrpc":"2.0","id":3,"result":null},{"jsonrpc":"2.0","id":2,"result":"held"},{"jsonrpc":"2.0","id":1,"result":"held"}]
a batch is held to the bound of open requests too
-> [{"id":1,"method":"hold"},{"id":2,"method":"hold"},{"id":3,"method":"hold"},{"id":4,"method":"hold"}]
-> {"method":"release"}
<- [{"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"more than 3 requests are open"}},{"jsonrpc":"2.0","id":3,"result":"held"},{"jsonrpc":"2.0","id":2,"result":"held"},{"jsonrpc":"2.0","id":1,"result":"held"}]
`)
		if r := <-asked; string(r) != `"answer"` {
			t.Errorf("answered %s", r)
		}
		stop()
	})
}

func TestBatchesRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, stop := serve(t, wire.Options{MaxBatch: -1}, echo)
		play(t, p, `-> [{"id":1,"method":"echo","params":[6]}]
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not accepted"}}
`)
		stop()
	})
}
