package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dragoman/adapters/wire"
)

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
