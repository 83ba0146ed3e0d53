package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
<- {"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"invalid message: member method stands there twice"}}
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

// A request and what takes it back in one write: the request is always registered first.
func TestCallsAreHeardInOrder(t *testing.T) {
	const pairs = 500
	synctest.Test(t, func(t *testing.T) {
		turns := map[string]bool{}
		lost := 0
		_, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, c *wire.Call) {
			switch id := string(c.Params); c.Method {
			case "prompt":
				turns[id] = true
				go c.Reply(nil, nil)
			case "cancel":
				if !turns[id] {
					lost++
				}
			}
		})
		for i := range pairs {
			p.Send(fmt.Sprintf(`{"id":%d,"method":"prompt","params":[%d]}`, i, i), fmt.Sprintf(`{"method":"cancel","params":[%d]}`, i))
		}
		for range pairs {
			if _, err := p.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if lost > 0 || len(turns) != pairs {
			t.Errorf("%d of %d cancels came before their prompts", lost, pairs)
		}
		stop()
	})
}

// A pump writes the updates of a turn, releases the answer to its prompt, and goes on with the next turn at once: 6,000
// updates, 2,000 answers, everything at its place, with other goroutines writing in between.
func TestAnswersKeepTheirPlace(t *testing.T) {
	const turns, updates = 2000, 3
	eachFraming(t, func(t *testing.T, framing wire.Framing) {
		fromPeer, toConn := osPipe(t)
		fromConn, toPeer := osPipe(t)
		c := wire.NewConn(fromPeer, toPeer, wire.Options{Framing: framing})
		all, hangup := context.WithCancel(t.Context())
		prompts := make(chan *wire.Call, turns) // all of them: the handler must not wait
		var owner sync.WaitGroup
		owner.Go(func() {
			err := c.Serve(t.Context(), func(call *wire.Call) {
				if call.Method == "prompt" {
					prompts <- call
				} else {
					call.Reply(call.Params, nil)
				}
			})
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
			close(prompts)
		})
		owner.Go(func() {
			var lines []byte
			for turn := 0; ; turn++ {
				call, ok := <-prompts
				if !ok {
					return
				}
				lines = lines[:0]
				for i := range updates {
					if i%2 == 1 {
						c.Writer().PutLines(lines)
						lines = lines[:0]
						c.Notify("u", []int{turn, i})
						continue
					}
					lines = fmt.Appendf(lines, `{"jsonrpc":"2.0","method":"u","params":[%d,%d]}`+"\n", turn, i)
				}
				c.Writer().PutLines(lines)
				call.Reply(json.RawMessage(call.Params), nil)
			}
		})
		owner.Go(func() {
			w := wire.NewWriter(toConn, framing)
			for i := range turns {
				w.Put(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"prompt","params":[%d]}`, i, i))
				w.Put(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"e%d","method":"echo","params":[%d]}`, i, i))
			}
			w.Run(all)
		})
		f := framing.Framer(fromConn, 0)
		turn, update, echoes := 0, 0, 0
		for turn < turns || echoes < turns {
			b, err := f.Next()
			if err != nil {
				t.Fatalf("in turn %d: %v", turn, err)
			}
			want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"u","params":[%d,%d]}`, turn, update)
			if update == updates {
				want = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":[%d]}`, turn, turn)
			}
			switch string(b) {
			case want:
				if update++; update > updates {
					turn, update = turn+1, 0
				}
			case fmt.Sprintf(`{"jsonrpc":"2.0","id":"e%d","result":[%d]}`, echoes, echoes):
				echoes++
			default:
				t.Fatalf("turn %d, update %d: %s", turn, update, b)
			}
		}
		hangup()
		owner.Wait()
	})
}

// With as many requests open as may be, one more is refused at once, and the answers that close them are still heard: as
// a gate for the reader this would be a deadlock.
func TestOpenRequestsAreBounded(t *testing.T) {
	const limit = 40
	synctest.Test(t, func(t *testing.T) {
		var owner sync.WaitGroup
		c, p, stop := serve(t, wire.Options{MaxOpen: limit}, func(c *wire.Conn, call *wire.Call) {
			owner.Go(func() {
				var answer string
				err := c.Ask(call.Context(), "may I", call.Params, &answer)
				call.Reply(answer, err)
			})
		})
		var script strings.Builder
		for i := range limit {
			fmt.Fprintf(&script, `{"id":"p%d","method":"prompt","params":[%d]}`+"\n", i, i)
		}
		p.Raw(script.String())
		questions := map[string]string{} // our id → the peer's
		for range limit {
			var q struct {
				ID     json.RawMessage
				Params []int
			}
			msg, err := p.Next()
			if err != nil || json.Unmarshal([]byte(msg), &q) != nil {
				t.Fatal(msg, err)
			}
			questions[string(q.ID)] = fmt.Sprintf("p%d", q.Params[0])
		}
		play(t, p, `-> {"id":"one more","method":"prompt","params":[0]}
<- {"jsonrpc":"2.0","id":"one more","error":{"code":-32000,"message":"more than 40 requests are open"}}
`)
		for ours, theirs := range questions {
			play(t, p, `-> {"id":`+ours+`,"result":"`+theirs+`"}
<- {"jsonrpc":"2.0","id":"`+theirs+`","result":"`+theirs+`"}
`)
		}
		if s := c.Stats(); s != (wire.Stats{Refused: 1}) {
			t.Errorf("%+v", s)
		}
		// There is room again.
		p.Send(`{"id":1,"method":"prompt"}`)
		if msg, _ := p.Next(); !strings.Contains(msg, "may I") {
			t.Error(msg)
		}
		stop()
		owner.Wait()
	})
}

// A client that asks and does not read stops being read itself, soon; when it reads, all goes on and nothing is lost.
func TestUnreadAnswersStopTheReading(t *testing.T) {
	for _, c := range []struct {
		name    string
		options wire.Options
		text    int // bytes of an answer
		most    int // answers given while none is read
	}{
		{"by number", wire.Options{}, 10, wire.DefaultMaxReplies + 65536/46},
		{"by size", wire.Options{}, 60_000, 2 + wire.DefaultMaxReplyBytes/60_000 + 2},
		{"small bound", wire.Options{MaxReplies: 3}, 60_000, 3 + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const requests = 10_000
				answer := strings.Repeat("x", c.text)
				var given atomic.Int64
				_, p, stop := serve(t, c.options, func(_ *wire.Conn, call *wire.Call) {
					given.Add(1)
					call.Reply(answer, nil)
				})
				n := min(requests, 12<<20/c.text)
				var owner sync.WaitGroup
				owner.Go(func() {
					for i := range n {
						if err := p.Send(fmt.Sprintf(`{"id":%d,"method":"m"}`, i)); err != nil {
							t.Error(err)
						}
					}
				})
				synctest.Wait()
				if got := given.Load(); got > int64(c.most) {
					t.Errorf("%d answers with nobody reading, expected at most %d", got, c.most)
				}
				for i := range n {
					msg, err := p.Next()
					if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"%s"}`, i, answer); err != nil || msg != want {
						t.Fatalf("answer %d: %.100s, %v", i, msg, err)
					}
				}
				owner.Wait()
				stop()
			})
		})
	}
}

// A client that does not read its updates is still heard.
func TestBlockedOutputDoesNotStopTheReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var owner sync.WaitGroup
		c, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, call *wire.Call) {
			cancel(errors.New(call.Method))
		})
		sent := 0
		owner.Go(func() {
			line := []byte(`{"method":"update","params":"` + strings.Repeat("x", 1000) + `"}` + "\n")
			for c.Writer().Room(ctx, wire.PumpRoom) == nil {
				c.Writer().PutLines(line)
				sent++
			}
		})
		synctest.Wait()
		p.Send(`{"method":"cancel"}`)
		owner.Wait() // the cancel has been heard
		if err := context.Cause(ctx); err.Error() != "cancel" {
			t.Error(err)
		}
		for range sent {
			if _, err := p.Next(); err != nil {
				t.Fatal(err)
			}
		}
		stop()
	})
}

func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, stop := serve(t, wire.Options{}, echo)
		type reply struct {
			Outcome string `json:"outcome"`
		}
		for _, s := range []struct{ answer, want string }{
			{`{"id":%d,"result":{"outcome":"allow","Outcome":"deny"}}`, "allow"},
			{`{"id":%d.0,"result":{"outcome":"a float"}}`, "a float"},
			{`{"id":%d,"result":null}`, ""},
			{`{"id":%d,"result":{"outcome":5}}`, "! the answer to may I: outcome: expected a string, got number"},
			{`{"id":%d,"error":{"code":-32800,"message":"no","data":[1]}}`, "! [-32800] no"},
			{`{"id":%d,"error":"text"}`, "! [-32603] text"},
			{`{"id":%d,"error":[]}`, "! [-32603] the peer answered with an error that cannot be read"},
			{`{"id":%d,"result":1,"error":{}}`, "! the answer to may I: [-32600] invalid message: both a result and an error"},
		} {
			done := make(chan string, 1)
			go func() {
				var r reply
				if err := c.Ask(t.Context(), "may I", map[string]string{"a": "b"}, &r); err != nil {
					r.Outcome = "! " + err.Error()
				}
				done <- r.Outcome
			}()
			var q struct{ ID int }
			msg, err := p.Next()
			if json.Unmarshal([]byte(msg), &q) != nil || msg != fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"may I","params":{"a":"b"}}`, q.ID) {
				t.Fatal(msg, err)
			}
			p.Send(fmt.Sprintf(s.answer, q.ID))
			if got := <-done; got != s.want {
				t.Errorf("%s: got %q, want %q", s.answer, got, s.want)
			}
		}
		var e *jrpc2.Error
		go func() {
			p.Next()
			p.Send(`{"id":9,"error":{"code":7,"message":"m","data":{"k":1}}}`)
		}()
		if err := c.Ask(t.Context(), "m", nil, nil); !errors.As(err, &e) || e.Code != 7 || string(e.Data) != `{"k":1}` {
			t.Errorf("%v", err)
		}
		if err := c.Ask(t.Context(), "m", func() {}, nil); err == nil {
			t.Error("asked with what cannot be encoded")
		}
		stop()
	})
}

func TestWithdrawalAndLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, stop := serve(t, wire.Options{Withdraw: wire.Withdrawal{Method: "$/cancel_request", Member: "requestId"}}, echo)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("nobody decided"))
		defer cancel()
		if err := c.Ask(ctx, "may I", nil, nil); err == nil || err.Error() != "nobody decided" {
			t.Errorf("Ask: %v", err)
		}
		if err := c.Ask(ctx, "never sent", nil, nil); err == nil || err.Error() != "nobody decided" {
			t.Errorf("Ask with an ended context: %v", err)
		}
		// The client has a request of its own with the same id; the late answer is not its.
		play(t, p, `
<- {"jsonrpc":"2.0","id":1,"method":"may I"}
<- {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}
`[1:]+`-> {"id":1,"method":"echo","params":["mine"]}
-> {"id":1,"result":{"outcome":"late"}}
<- {"jsonrpc":"2.0","id":1,"result":["mine"]}
-> {"id":77,"result":{"outcome":"never asked"}}
-> {"id":-1,"result":1}
-> {"id":"1","error":{}}
`)
		if s := c.Stats(); s != (wire.Stats{Late: 1, Stray: 3}) {
			t.Errorf("%+v", s)
		}
		stop()
	})
}

// Withdrawals and answers cross on the wire: each question has exactly one outcome, and each answer is taken or counted.
func TestWithdrawalsCrossAnswers(t *testing.T) {
	const asks = 2000
	fromPeer, toConn := osPipe(t)
	fromConn, toPeer := osPipe(t)
	c := wire.NewConn(fromPeer, toPeer, wire.Options{Withdraw: wire.Withdrawal{Method: "$/cancel_request", Member: "requestId"}})
	var owner, asking sync.WaitGroup
	owner.Go(func() {
		if err := c.Serve(t.Context(), func(*wire.Call) {}); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	answers := 0
	owner.Go(func() { // the peer answers everything
		f := wire.Lines(fromConn, 0)
		for {
			b, err := f.Next()
			if err != nil {
				return
			}
			if m, err := wire.Parse(b); err != nil || m.Kind() == wire.Notification {
				continue
			} else if _, err := fmt.Fprintf(toConn, `{"id":%s,"result":%s}`+"\n", m.ID, m.Params); err != nil {
				return // all have been asked
			}
			answers++
		}
	})
	var answered, withdrawn atomic.Int64
	for g := range 4 {
		asking.Go(func() {
			for i := range asks {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 > 0 {
					go cancel()
				}
				want := [2]int{g, i}
				var got [2]int
				switch err := c.Ask(ctx, "q", want, &got); {
				case errors.Is(err, context.Canceled):
					withdrawn.Add(1)
				case err != nil:
					t.Error(err)
				case got != want:
					t.Errorf("asked %v, was answered %v", want, got)
				default:
					answered.Add(1)
				}
				cancel()
			}
		})
	}
	asking.Wait()
	if err := c.Ask(t.Context(), "the last", []int{1}, nil); err != nil {
		t.Error(err)
	}
	answered.Add(1)
	toConn.Close()
	owner.Wait()
	if n := answered.Load() + withdrawn.Load(); n != 4*asks+1 {
		t.Errorf("%d outcomes of %d questions", n, 4*asks+1)
	}
	if s := c.Stats(); s.Stray > 0 || s.Late > uint64(withdrawn.Load()) || int64(s.Late)+answered.Load() != int64(answers) {
		t.Errorf("%d answered, %d withdrawn, %d answers, %+v", answered.Load(), withdrawn.Load(), answers, s)
	}
}

// Answers come on the reading goroutine: what stands before one has been handled, and what stands behind it has not.
func TestAnswersComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		c, p, stop := serve(t, wire.Options{}, func(_ *wire.Conn, call *wire.Call) { heard = append(heard, call.Method) })
		const n = 200
		for range n {
			c.Start("q", nil, func(r json.RawMessage, err error) { heard = append(heard, string(r)) })
		}
		var want, in strings.Builder
		for i := range n {
			fmt.Fprintf(&in, `{"method":"a%d"}`+"\n"+`{"id":%d,"result":%d}`+"\n", i, i+1, i)
			fmt.Fprintf(&want, "a%d %d ", i, i)
		}
		p.Raw(in.String())
		synctest.Wait()
		if got := strings.Join(heard, " ") + " "; got != want.String() {
			t.Errorf("heard %s", got)
		}
		stop()
	})
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

// Whoever has the answer can use the id again.
func TestIDIsFreeWithItsAnswer(t *testing.T) {
	fromPeer, toConn := osPipe(t)
	fromConn, toPeer := osPipe(t)
	c := wire.NewConn(fromPeer, toPeer, wire.Options{})
	var owner, answering sync.WaitGroup
	owner.Go(func() {
		err := c.Serve(t.Context(), func(call *wire.Call) { answering.Go(func() { call.Reply("yes", nil) }) })
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	f := wire.Lines(fromConn, 0)
	for i := range 5000 {
		io.WriteString(toConn, `{"id":1,"method":"m"}`+"\n")
		if b, err := f.Next(); err != nil || string(b) != `{"jsonrpc":"2.0","id":1,"result":"yes"}` {
			t.Fatalf("round %d: %s, %v", i, b, err)
		}
	}
	toConn.Close()
	owner.Wait()
	answering.Wait()
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

func TestEndReleasesEverybody(t *testing.T) {
	errShutdown := errors.New("shutting down")
	for _, c := range []struct {
		name  string
		end   func(p *wiretest.Peer, cancel context.CancelCauseFunc)
		serve error // what Serve returns
		cause error // of the contexts
	}{
		{"hangup", func(p *wiretest.Peer, _ context.CancelCauseFunc) { p.Hangup() }, nil, wire.ErrClosed},
		{"death", func(p *wiretest.Peer, _ context.CancelCauseFunc) { p.Close() }, nil, wire.ErrClosed},
		{"within a frame", func(p *wiretest.Peer, _ context.CancelCauseFunc) { p.Raw(`{"id":1,`); p.Close() }, nil, wire.ErrClosed},
		{"shutdown", func(_ *wiretest.Peer, cancel context.CancelCauseFunc) { cancel(errShutdown) }, errShutdown, errShutdown},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out, p := wiretest.New(wire.Newline)
				conn := wire.NewConn(in, out, wire.Options{})
				ctx, cancel := context.WithCancelCause(t.Context())
				var owner sync.WaitGroup
				var ended atomic.Int64
				served := make(chan error, 1)
				go func() {
					served <- conn.Serve(ctx, func(call *wire.Call) {
						owner.Go(func() {
							<-call.Context().Done()
							if err := context.Cause(call.Context()); !errors.Is(err, c.cause) {
								t.Errorf("a call ended by %v", err)
							}
							ended.Add(1)
							call.Reply("too late", nil)
						})
					})
				}()
				for i := range 10 {
					p.Send(fmt.Sprintf(`{"id":%d,"method":"wait"}`, i))
					owner.Go(func() {
						if err := conn.Ask(t.Context(), "wait", nil, nil); !errors.Is(err, wire.ErrClosed) {
							t.Errorf("Ask: %v", err)
						}
						ended.Add(1)
					})
				}
				synctest.Wait()
				start := time.Now()
				c.end(p, cancel)
				if err := <-served; !errors.Is(err, c.serve) {
					t.Errorf("Serve: %v", err)
				}
				owner.Wait()
				if n := ended.Load(); n != 20 || time.Since(start) > 0 {
					t.Errorf("%d of 20 ended, after %v", n, time.Since(start))
				}
				for what, err := range map[string]error{
					"Ask":    conn.Ask(t.Context(), "m", nil, nil),
					"Notify": conn.Notify("m", nil),
					"Room":   conn.Writer().Room(t.Context(), 1),
				} {
					if !errors.Is(err, wire.ErrClosed) {
						t.Errorf("%s after the end: %v", what, err)
					}
				}
				cancel(nil)
			})
		})
	}
}

// The end comes while the output is blocked: for a peer that is alive and does not read, after the linger.
func TestEndWithBlockedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out, p := wiretest.New(wire.Newline)
		c := wire.NewConn(in, out, wire.Options{Linger: 3 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- c.Serve(ctx, func(*wire.Call) {}) }()
		c.Notify("n", strings.Repeat("x", 1<<20))
		synctest.Wait()
		start := time.Now()
		cancel()
		if err := <-served; !errors.Is(err, context.Canceled) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		p.Close()
	})
}

// The peer closes what we write to, but not what we read from: it has left all the same.
func TestBrokenOutputEndsTheConnection(t *testing.T) {
	fromPeer, _ := osPipe(t)
	fromConn, toPeer := osPipe(t)
	c := wire.NewConn(fromPeer, toPeer, wire.Options{})
	fromConn.Close()
	c.Notify("n", nil)
	if err := c.Serve(t.Context(), func(*wire.Call) {}); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }
func (f failing) Close() error              { return nil }

func TestServeReturnsWhatFailed(t *testing.T) {
	bad := errors.New("disk on fire")
	_, out := wiretest.Pipe()
	if err := wire.NewConn(failing{bad}, out, wire.Options{}).Serve(t.Context(), nil); !errors.Is(err, bad) {
		t.Errorf("reading: %v", err)
	}
	in, _ := wiretest.Pipe()
	c := wire.NewConn(in, failing{bad}, wire.Options{})
	c.Notify("n", nil)
	if err := c.Serve(t.Context(), nil); !errors.Is(err, bad) {
		t.Errorf("writing: %v", err)
	}
}

// A peer that ends its own side still gets its answers, if the connection drains.
func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name  string
		drain time.Duration
		want  string
	}{
		{"no", 0, "sync"},
		{"long enough", 5 * time.Second, "sync async"},
		{"too short", time.Second, "sync"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out, p := wiretest.New(wire.Newline)
				conn := wire.NewConn(in, out, wire.Options{Drain: c.drain})
				var owner sync.WaitGroup
				p.Send(`{"id":"sync","method":"m"}`, `{"id":"async","method":"m"}`)
				p.Hangup()
				err := conn.Serve(t.Context(), func(call *wire.Call) {
					if string(call.ID) == `"sync"` {
						call.Reply(nil, nil)
						return
					}
					owner.Go(func() { <-time.After(2 * time.Second); call.Reply(nil, nil) })
				})
				if err != nil {
					t.Error(err)
				}
				var got []string
				for {
					msg, err := p.Next()
					if err != nil {
						break
					}
					got = append(got, strings.Split(msg, `"`)[7])
				}
				if strings.Join(got, " ") != c.want {
					t.Errorf("got %q", got)
				}
				owner.Wait()
			})
		})
	}
}

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
<- {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch holds at most 4 messages"}}
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

// Connections come and go without a trace.
func TestGoroutinesEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 200 {
		fromPeer, toConn := osPipe(t)
		fromConn, toPeer := osPipe(t)
		c := wire.NewConn(fromPeer, toPeer, wire.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var owner sync.WaitGroup
		owner.Go(func() { c.Serve(ctx, func(call *wire.Call) { call.Reply(nil, nil) }) })
		owner.Go(func() { c.Ask(ctx, "q", nil, nil) })
		io.WriteString(toConn, `{"id":1,"method":"m"}`+"\n")
		f := wire.Lines(fromConn, 0)
		f.Next()
		f.Next()
		if i%2 == 0 {
			cancel()
		} else {
			toConn.Close()
		}
		owner.Wait()
		cancel()
	}
	if after := runtime.NumGoroutine(); after > before+2 {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines, %d before:\n%s", after, before, buf[:runtime.Stack(buf, true)])
	}
}
