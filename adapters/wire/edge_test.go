package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"testing/synctest"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
)

// shout is an edge whose peer writes methods in capitals, and hears each notification twice.
type shout struct{}

func (shout) Read(msg []byte) []byte {
	return bytes.ReplaceAll(msg, []byte(`"ECHO"`), []byte(`"echo"`))
}

func (shout) Answer(msg []byte) []byte {
	return bytes.ReplaceAll(msg, []byte(`"yes"`), []byte(`"YES"`))
}

func (shout) Send(dst, msg []byte) []byte {
	for range 2 {
		dst = append(append(dst, bytes.ToUpper(msg)...), '\n')
	}
	return dst
}

// An edge sees every message of the peer's, in a batch as well, and every message of ours by
// its kind; from the moment it is put in, until it is taken out.
func TestEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out, peer := wiretest.New(wire.Newline)
		conn := wire.NewConn(in, out, wire.Options{})
		served := make(chan error, 1)
		go func() {
			served <- conn.Serve(t.Context(), func(call *wire.Call) {
				switch call.Method {
				case "echo":
					call.Reply("yes", nil)
				case "on":
					conn.SetEdge(shout{})
				case "off":
					conn.SetEdge(nil)
				case "tell":
					if conn.Notify("note", nil) != nil || conn.PutLines([]byte("{\"method\":\"a\"}\n{\"method\":\"b\"}\n")) != nil || conn.Room(context.Background(), 1<<20) != nil {
						t.Error("it was not told")
					}
				}
			})
		}()
		if err := peer.Send(
			`{"id":1,"method":"echo"}`, `{"method":"on"}`, `{"id":2,"method":"ECHO"}`, `[{"id":3,"method":"ECHO"}]`, `{"method":"tell"}`,
			`{"method":"off"}`, `{"method":"tell"}`, `{"id":4,"method":"echo"}`,
		); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`{"jsonrpc":"2.0","id":1,"result":"yes"}`, `{"jsonrpc":"2.0","id":2,"result":"YES"}`, `[{"jsonrpc":"2.0","id":3,"result":"YES"}]`,
			`{"JSONRPC":"2.0","METHOD":"NOTE"}`, `{"JSONRPC":"2.0","METHOD":"NOTE"}`, `{"METHOD":"A"}`, `{"METHOD":"A"}`, `{"METHOD":"B"}`, `{"METHOD":"B"}`,
			`{"jsonrpc":"2.0","method":"note"}`, `{"method":"a"}`, `{"method":"b"}`, `{"jsonrpc":"2.0","id":4,"result":"yes"}`,
		} {
			if got, err := peer.Next(); err != nil || got != want {
				t.Fatalf("got %s, %v, want %s", got, err, want)
			}
		}
		peer.Hangup()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// What is kept of requests is bounded, and forgotten with their answers.
func TestPending(t *testing.T) {
	var p wire.Pending
	note := func(id string) { p.Note(wire.Message{ID: json.RawMessage(id), Method: "m" + id}) }
	take := func(id string) string { return p.Take(wire.Message{ID: json.RawMessage(id)}) }
	if got := take("0"); got != "" {
		t.Errorf("nothing was noted, and it has %q", got)
	}
	note("7")
	if got, again := take("7"), take("7"); got != "m7" || again != "" {
		t.Errorf("got %q, then %q", got, again)
	}
	kept := 0
	for i := range 2 * wire.DefaultMaxOpen {
		note(strconv.Itoa(i))
	}
	for i := range 2 * wire.DefaultMaxOpen {
		if take(strconv.Itoa(i)) != "" {
			kept++
		}
	}
	if kept != wire.DefaultMaxOpen {
		t.Errorf("%d requests were kept", kept)
	}
}
