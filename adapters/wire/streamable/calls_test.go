package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

func TestCancelledID(t *testing.T) {
	for params, want := range map[string]string{
		`{"requestId":7}`: "7", `{"requestId":"a"}`: `"a"`,
		`{}`: "", `{"requestId":null}`: "", `{"REQUESTID":7}`: "", `{"requestId":7,"requestId":8}`: "", `[]`: "",
	} {
		if got := CancelledID(json.RawMessage(params)); string(got) != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
}

var (
	toolCall     = wire.Message{ID: json.RawMessage("1"), Method: "tools/call"}
	cancellation = wire.Message{Method: proto.NoteCancelled, Params: json.RawMessage(`{"requestId":1}`)}
)

// A cancellation ends a call that has not been passed on, and is passed on itself behind one that has.
func TestCallsAndCancellations(t *testing.T) {
	// The letters: begin, end, passed, cancel; W is a cancellation that waits for the next step.
	// Whether the client has hung up before makes no difference.
	for steps, cancelled := range map[string]bool{
		"b": false, "cb": true, "bp": false, "bpc": false, "bW": true, "bWp": true, "bWe": true,
		"becb": false, // it came too late, and its id is used again
		"cbeb": false, // it was meant for the first
		"ccb":  true,
		"bb":   false, // which whoever answers it refuses
		"bbpc": false,
	} {
		for _, hangsUp := range []bool{false, true} {
			t.Run(fmt.Sprint(steps, hangsUp), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client, hangUp := context.WithCancel(t.Context())
					defer hangUp()
					if hangsUp {
						hangUp()
					}
					var calls Calls
					var ctx context.Context
					var ends []func()
					var waiting chan struct{}
					for _, step := range steps {
						switch step {
						case 'b':
							var end func()
							ctx, end = calls.Take(client, "s", toolCall)
							ends = append(ends, end)
						case 'e':
							ends[len(ends)-1]()
							ends = ends[:len(ends)-1]
						case 'p':
							calls.Passed("s", "1")
						case 'c':
							calls.Take(t.Context(), "s", cancellation)
						case 'W':
							waiting = make(chan struct{})
							go func() {
								defer close(waiting)
								calls.Take(t.Context(), "s", cancellation)
							}()
							synctest.Wait()
							select {
							case <-waiting:
								t.Error("the cancellation does not wait")
							default:
							}
						}
					}
					if got := Canceled(ctx); got != cancelled {
						t.Errorf("cancelled %v", got)
					}
					calls.Passed("s", "1")
					if waiting != nil {
						<-waiting
					}
					for _, end := range ends {
						end()
					}
				})
			})
		}
	}
}

// What is remembered has a limit.
func TestCallsForgetTheOldest(t *testing.T) {
	var calls Calls
	begins := func(key string) bool {
		ctx, end := calls.begin(t.Context(), key)
		defer end()
		return ctx.Err() == nil
	}
	long := strings.Repeat("x", maxKey+1)
	calls.cancel(long)
	for i := range maxRemembered + 1 {
		calls.cancel(fmt.Sprint(i))
	}
	for key, want := range map[string]bool{long: true, "0": true, "1": false, fmt.Sprint(maxRemembered): false} {
		if begins(key) != want {
			t.Errorf("the call %.10s begins: %v", key, !want)
		}
	}
	for i := range 2 * maxRemembered {
		begins(fmt.Sprint("x", i))
	}
	if n := len(calls.ended.keys); n != maxRemembered || len(calls.ended.order) != n || len(calls.overtaken.keys) != len(calls.overtaken.order) {
		t.Errorf("%d are remembered", n)
	}
}
