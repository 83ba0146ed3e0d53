package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/wire"

	"github.com/creachadair/jrpc2"
)

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
