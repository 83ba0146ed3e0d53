package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"

	"github.com/creachadair/jrpc2"
)

// serve runs a connection against a peer, in a bubble. stop hangs up, waits for Serve and checks that it returns nil.
func serve(t *testing.T, o wire.Options, handle func(*wire.Conn, *wire.Call)) (c *wire.Conn, p *wiretest.Peer, stop func()) {
	t.Helper()
	in, out, p := wiretest.New(o.Framing)
	c = wire.NewConn(in, out, o)
	served := make(chan error, 1)
	go func() { served <- c.Serve(t.Context(), func(call *wire.Call) { handle(c, call) }) }()
	return c, p, func() {
		t.Helper()
		p.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// play checks that a script's transcript is the script.
func play(t *testing.T, p *wiretest.Peer, script string) {
	t.Helper()
	got, err := p.Play(script, synctest.Wait)
	if err != nil {
		t.Errorf("%v", err)
	}
	if got != script {
		t.Errorf("got\n%s\nwant\n%s", got, script)
	}
}

// echo answers with the parameters, at once.
func echo(_ *wire.Conn, c *wire.Call) { c.Reply(c.Params, nil) }

func TestConnAnswersFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		c, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, c *wire.Call) {
			heard = append(heard, c.Method)
			c.Reply(c.Params, nil)
		})
		play(t, p, `-> {"jsonrpc":"2.0","id":9007199254740993,"method":"echo","params":{"a":1},"x":1}
<- {"jsonrpc":"2.0","id":9007199254740993,"result":{"a":1}}
-> {"id":"s\u00e9","method":"echo","params":[1]}
<- {"jsonrpc":"2.0","id":"s\u00e9","result":[1]}
-> {"jsonrpc":"2.0","id":0,"method":"echo","params":null}
<- {"jsonrpc":"2.0","id":0,"result":null}
-> {"jsonrpc":"2.0","id":null,"method":"note","params":[1]}
-> {"jsonrpc":"2.0","id":1.5,"method":"echo"}
<- {"jsonrpc":"2.0","id":1.5,"result":null}
-> {"jsonrpc":"2.0","id":{},"method":"echo"}
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid message: id must be a string or a number"}}
-> {"jsonrpc":"2.0","id":3,"Method":"echo"}
<- {"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"invalid message: neither a method nor a result nor an error"}}
-> {"jsonrpc":"2.0","id":4,"method":"echo","method":"panic"}
<- {"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"invalid message: duplicate member method"}}
-> 42
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be a JSON object"}}
an answer is never answered, however wrong it is
-> {"error":{"code":1}}
-> {"id":7,"result":1,"error":{}}
-> {"id":"x","result":1}
-> {"jsonrpc":"2.0","id":12,"method":"echo","params":[12]}
<- {"jsonrpc":"2.0","id":12,"result":[12]}
`)
		if got := strings.Join(heard, " "); got != "echo echo echo note echo echo" {
			t.Errorf("heard %s", got)
		}
		if s := c.Stats(); s != (wire.Stats{Broken: 4, Stray: 3}) {
			t.Errorf("%+v", s)
		}
		stop()
	})
}

func TestConnGoesOnBehindBrokenFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, stop := serve(t, wire.Options{Framing: wire.ContentLength, MaxMessage: 1000}, echo)
		asked := make(chan error, 1)
		go func() { asked <- c.Ask(t.Context(), "ask", nil, nil) }()
		synctest.Wait()
		frame := func(header, body string) string {
			return fmt.Sprintf("Content-Length: %d\r\n%s\r\n%s", len(body), header, body)
		}
		const utf16 = "Content-Type: x/y; charset=utf-16\r\n"
		p.Raw(frame(utf16, `{"id":1,"method":"echo"}`) + frame(utf16, `{"id":2}x`) + frame(utf16, `{"id":1,"result":2}`) +
			frame("", `{broken`) + "noise\n" + frame("", strings.Repeat("x", 1001)) + "\n\n" + frame("", `{"id":3,"method":"echo","params":[1]}`))
		for _, want := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"ask"}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"charset \"utf-16\" is not supported, only utf-8"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"charset \"utf-16\" is not supported, only utf-8"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not valid JSON: invalid character 'b' looking for beginning of object key string at byte 2"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"message exceeds 1000 bytes"}}`,
			`{"jsonrpc":"2.0","id":3,"result":[1]}`,
		} {
			if got, err := p.Next(); err != nil || got != want {
				t.Errorf("got %s, %v\nwant %s", got, err, want)
			}
		}
		if err := <-asked; err == nil || !strings.Contains(err.Error(), "utf-16") {
			t.Errorf("an answer that could not be read: %v", err)
		}
		stop()
	})
}

func TestBare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, stop := serve(t, wire.Options{Bare: true, Withdraw: wire.Withdrawal{Method: "w", Member: "id"}}, echo)
		play(t, p, `-> {"id":0,"method":"getThreads","params":null}
<- {"id":0,"result":null}
-> {bad
<- {"id":null,"error":{"code":-32700,"message":"not valid JSON: invalid character 'b' looking for beginning of object key string at byte 2"}}
`)
		c.Notify("n", nil)
		a, err := c.Start("r", map[string]int{"a": 1}, func(json.RawMessage, error) { t.Error("done after a withdrawal") })
		if err != nil || !a.Withdraw() || a.Withdraw() {
			t.Errorf("withdraw: %v", err)
		}
		c.SetBare(false)
		c.Notify("n", []int{1})
		for _, want := range []string{`{"method":"n"}`, `{"id":1,"method":"r","params":{"a":1}}`, `{"method":"w","params":{"id":1}}`, `{"jsonrpc":"2.0","method":"n","params":[1]}`} {
			if got, _ := p.Next(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		stop()
	})
}

func TestErrorsAsTheyAreSent(t *testing.T) {
	value := jrpc2.Error{Code: 5, Message: "by value"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{jrpc2.Errorf(-32002, "no session %q", "s").WithData(map[string]string{"id": "s"}), `{"code":-32002,"message":"no session \"s\"","data":{"id":"s"}}`},
		{fmt.Errorf("open: %w", jrpc2.Errorf(1, "inner")), `{"code":1,"message":"inner"}`},
		{value, `{"code":5,"message":"by value"}`},
		{&jrpc2.Error{Code: -32601}, `{"code":-32601,"message":"method not found"}`},
		{&jrpc2.Error{Code: 2, Message: "m", Data: json.RawMessage("{bad")}, `{"code":2,"message":"m"}`},
		{&jrpc2.Error{Code: 2, Message: "m", Data: json.RawMessage("{\n}")}, `{"code":2,"message":"m","data":{ }}`},
		{jrpc2.MethodNotFound.Err(), `{"code":-32601,"message":"method not found"}`},
		{context.DeadlineExceeded, `{"code":-32096,"message":"context deadline exceeded"}`},
		{fmt.Errorf("read: %w", context.Canceled), `{"code":-32097,"message":"read: context canceled"}`},
		{wire.ErrCanceled, `{"code":-32097,"message":"taken back by the caller: context canceled"}`},
		{errors.New("disk is full"), `{"code":-32603,"message":"disk is full"}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, call *wire.Call) { call.Reply("ignored", c.err) })
			play(t, p, `-> {"id":1,"method":"m"}`+"\n"+`<- {"jsonrpc":"2.0","id":1,"error":`+c.want+"}\n")
			stop()
		})
	}
}

func TestResultsAsTheyAreSent(t *testing.T) {
	for _, c := range []struct {
		result any
		want   string
	}{
		{nil, `"result":null`},
		{json.RawMessage(nil), `"result":null`},
		{json.RawMessage("{\n \"a\": 1.50 }"), `"result":{  "a": 1.50 }`},
		{struct{}{}, `"result":{}`},
		{map[string]any{"a": json.RawMessage(`{"n": 1e2}`)}, `"result":{"a":{"n":1e2}}`},
		{"<a&b>\n", `"result":"<a&b>\n"`},
		{(*int)(nil), `"result":null`},
		{json.RawMessage(`{"a":`), `"error":{"code":-32603,"message":"the result cannot be encoded: encode: not valid JSON"}`},
		{func() {}, `"error":{"code":-32603,"message":"the result cannot be encoded: unsupported type: func()"}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, call *wire.Call) {
				call.Reply(c.result, nil)
				call.Reply("a second answer", nil)
			})
			play(t, p, `-> {"id":1,"method":"m"}`+"\n"+`<- {"jsonrpc":"2.0","id":1,`+c.want+"}\n")
			stop()
		})
	}
}

func TestDuplicateIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open []*wire.Call
		_, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, call *wire.Call) {
			if call.Method == "answer" {
				for _, c := range open {
					c.Reply(c.Method, nil)
				}
				return
			}
			open = append(open, call)
		})
		play(t, p, `-> {"id":1,"method":"first"}
-> {"id":1,"method":"second"}
-> {"id":"1","method":"another id"}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a request with the id 1 is still open"}}
-> {"method":"answer"}
<- {"jsonrpc":"2.0","id":1,"result":"first"}
<- {"jsonrpc":"2.0","id":"1","result":"another id"}
-> {"id":1,"method":"again"}
-> {"method":"answer"}
<- {"jsonrpc":"2.0","id":1,"result":"again"}
`)
		stop()
	})
}

func TestCancelRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owner sync.WaitGroup
		var found []bool
		_, p, stop := serve(t, wire.Options{}, func(c *wire.Conn, call *wire.Call) {
			switch call.Method {
			case "cancel":
				found = append(found, c.CancelRequest(json.RawMessage(" "+string(call.Params[1:len(call.Params)-1]))))
			case "early": // its context is made after it was taken back
				c.CancelRequest(call.ID)
				call.Reply(nil, context.Cause(call.Context()))
			default:
				owner.Go(func() {
					<-call.Context().Done()
					call.Reply(nil, context.Cause(call.Context()))
				})
			}
		})
		play(t, p, `-> {"id":"a","method":"wait"}
-> {"method":"cancel","params":["b"]}
-> {"method":"cancel","params":["a"]}
<- {"jsonrpc":"2.0","id":"a","error":{"code":-32097,"message":"taken back by the caller: context canceled"}}
-> {"method":"cancel","params":["a"]}
-> {"id":2,"method":"early"}
<- {"jsonrpc":"2.0","id":2,"error":{"code":-32097,"message":"taken back by the caller: context canceled"}}
`)
		if fmt.Sprint(found) != "[false true false]" {
			t.Error(found)
		}
		stop()
		owner.Wait()
	})
}

// What the peer has taken back may stay without an answer, alone and in a batch; its id is free then.
func TestDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, c *wire.Call) {
			if c.Method == "drop" {
				ctx := c.Context()
				c.Drop()
				if ctx.Err() == nil {
					t.Error("the context goes on")
				}
			}
			c.Reply("late", nil)
		})
		play(t, p, `-> {"jsonrpc":"2.0","id":1,"method":"drop"}
-> {"jsonrpc":"2.0","id":1,"method":"echo"}
<- {"jsonrpc":"2.0","id":1,"result":"late"}
-> [{"jsonrpc":"2.0","id":1,"method":"drop"},{"jsonrpc":"2.0","id":2,"method":"echo"}]
<- [{"jsonrpc":"2.0","id":2,"result":"late"}]
-> [{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","id":2,"method":"drop"}]
<- [{"jsonrpc":"2.0","id":1,"result":"late"}]
-> [{"jsonrpc":"2.0","id":1,"method":"drop"}]
`)
		stop()
	})
}

func TestMembers(t *testing.T) {
	for object, want := range map[string]string{
		` {"a" : 1, "\u0062":[{"x":"}"}],"a":"\"" } `: `a=1 b=[{"x":"}"}] a="\"" `,
		`{}`: "", `[1]`: "", `"{"`: "", ``: "",
	} {
		got := ""
		for name, value := range wire.Members([]byte(object)) {
			got += string(name) + "=" + string(value) + " "
		}
		if got != want {
			t.Errorf("%s: %s, want %s", object, got, want)
		}
	}
}

func TestContextEndsWithTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, call *wire.Call) {
			before := call.Context()
			if before.Err() != nil {
				t.Error("an open call's context has ended")
			}
			call.Reply(nil, nil)
			if before.Err() == nil && call.ID != nil {
				t.Error("an answered call's context has not ended")
			}
		})
		play(t, p, `-> {"id":1,"method":"m"}
-> {"method":"m"}
<- {"jsonrpc":"2.0","id":1,"result":null}
`)
		stop()
	})
}

func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		o := wire.Options{Panicked: func(method string, v any, stack []byte) {
			if !strings.Contains(string(stack), "conn_test.go") {
				t.Errorf("the stack does not show where: %s", stack)
			}
			told = append(told, fmt.Sprint(method, ": ", v))
		}}
		c, p, stop := serve(t, o, func(_ *wire.Conn, call *wire.Call) {
			if call.Method == "answered" {
				call.Reply("before", nil)
			}
			_ = []string{"secret"}[len(call.Method)]
		})
		c.Start("question", nil, func(json.RawMessage, error) { panic("in done") })
		play(t, p, `<- {"jsonrpc":"2.0","id":1,"method":"question"}
-> {"id":1,"method":"request"}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}
-> {"method":"notification"}
-> {"id":2,"method":"answered"}
<- {"jsonrpc":"2.0","id":2,"result":"before"}
-> {"id":1,"result":1}
-> {"id":3,"method":"request"}
<- {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"internal error"}}
`)
		if len(told) != 5 || c.Stats().Panics != 5 || told[3] != "question: in done" || !strings.Contains(told[0], "out of range") {
			t.Errorf("%q, %+v", told, c.Stats())
		}
		stop()
	})
}
