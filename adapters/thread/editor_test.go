package thread

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core/ide"
)

// The disk takes the peer's place only if the peer does not know the request or the file, or
// answers without a text. Any other refusal is reported in the peer's words.
func TestRefusalsOfThePeer(t *testing.T) {
	in, out, peer := wiretest.New(wire.Newline)
	conn := wire.NewConn(in, out, wire.Options{Framing: wire.Newline})
	served := make(chan error, 1)
	go func() { served <- conn.Serve(t.Context(), func(*wire.Call) {}) }()
	defer func() {
		peer.Hangup()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	read, bytes := ide.ReadFile{Path: "/w/a.txt"}, ide.ReadBytes{Path: "/w/a.png"}
	for _, c := range []struct {
		call         ide.Call
		answer, want string
	}{
		{read, `"result":{"content":"","version":3}`, "ide.FileText{ 3}"},
		{read, `"result":null`, "lacks: the editor answered readTextFile without a text"},
		{read, `"result":{"version":3}`, "lacks: the editor answered readTextFile without a text"},
		{bytes, `"result":{}`, "lacks: the editor answered readBinaryFile without the file's content"},
		{read, `"error":{"code":-32601,"message":"Method not found"}`, "lacks: the editor does not know readTextFile"},
		{read, `"error":{"code":-32002,"message":"gone"}`, "lacks: the editor has no such file"},
		{read, `"error":{"code":-32603,"message":"ENOENT: no such file or directory"}`, "lacks: the editor has no such file"},
		{read, `"error":{"code":-32603,"message":"Permission denied"}`, "readTextFile: Permission denied"},
		{read, `"error":{"code":-32602,"message":""}`, "readTextFile: the client answered with error -32602"},
	} {
		e := &editor{conn: conn, thread: "t"}
		done := make(chan string, 1)
		go func() {
			reply, err := e.Do(t.Context(), c.call)
			lacks := &ide.Lacks{}
			switch {
			case errors.As(err, &lacks):
				done <- "lacks: " + lacks.Error()
			case err != nil:
				done <- err.Error()
			default:
				done <- fmt.Sprintf("%T%v", reply, reply)
			}
		}()
		var q struct{ ID int }
		msg, err := peer.Next()
		if err != nil || json.Unmarshal([]byte(msg), &q) != nil {
			t.Fatal(msg, err)
		}
		if err := peer.Send(fmt.Sprintf(`{"id":%d,%s}`, q.ID, c.answer)); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got != c.want {
			t.Errorf("%T answered by %s: got %q, want %q", c.call, c.answer, got, c.want)
		}
	}
}
