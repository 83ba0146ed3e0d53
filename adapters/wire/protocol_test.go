package wire_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
)

// mirror answers each call with its own name. A name in capitals speaks without "jsonrpc".
type mirror struct {
	name  string
	ended *[]string
}

func (e mirror) Begin(_ context.Context, c *wire.Conn) (handle func(*wire.Call), end func()) {
	c.SetBare(strings.ToUpper(e.name) == e.name)
	return func(call *wire.Call) { call.Reply(e.name+" "+call.Method, nil) }, func() { *e.ended = append(*e.ended, e.name) }
}

// The first call chooses who serves the stream, for good. What is no call is answered before it in the usual form, and
// chooses nothing; nor does a peer that leaves without one.
func TestFirstCallChoosesTheProtocol(t *testing.T) {
	for _, c := range []struct{ name, script, ended string }{
		{"one", `-> {"jsonrpc":"2.0","id":1,"method":"one"}
<- {"jsonrpc":"2.0","id":1,"result":"one one"}
-> {"jsonrpc":"2.0","id":2,"method":"TWO"}
<- {"jsonrpc":"2.0","id":2,"result":"one TWO"}
`, "one"},
		{"the other, in one write, behind faults", `-> {broken
-> {"jsonrpc":"2.0","id":7,"result":null}
-> {"id":1,"method":"TWO"}
-> {"id":2,"method":"one"}
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not valid JSON: invalid character 'b' looking for beginning of object key string at byte 2"}}
<- {"id":1,"result":"TWO TWO"}
<- {"id":2,"result":"TWO one"}
`, "TWO"},
		{"faults alone", `-> [
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not valid JSON: unexpected end of JSON input at byte 1"}}
`, ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out, peer := wiretest.New(wire.Newline)
				conn := wire.NewConn(in, out, wire.Options{Framing: wire.Newline})
				var chosen, ended []string
				served := make(chan error, 1)
				go func() {
					served <- conn.ServeFirst(t.Context(), func(method string) wire.Protocol {
						chosen = append(chosen, method)
						return mirror{method, &ended}
					})
				}()
				got, err := peer.Play(c.script, synctest.Wait)
				if err != nil || got != c.script {
					t.Errorf("%v, got\n%swant\n%s", err, got, c.script)
				}
				peer.Hangup()
				if err := <-served; err != nil {
					t.Error(err)
				}
				if want := strings.Fields(c.ended); !slices.Equal(chosen, want) || !slices.Equal(ended, want) {
					t.Errorf("chosen %q, ended %q, want each %q", chosen, ended, want)
				}
			})
		})
	}
}
