package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/ide"
)

// The disk, or a shell of our own, takes the client's place only if the client does not
// know the request or the file, or answers without a text. Any other refusal is
// reported in the client's words.
func TestRefusalsOfTheClient(t *testing.T) {
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
	e := editor{conn: conn, caps: acp.ClientCapabilities{}, terminals: "x:"}
	read, write, open := ide.ReadFile{Path: "/w/a.txt"}, ide.WriteFile{Path: "/w/a.txt", Text: "x"}, ide.OpenTerminal{Command: "sh"}
	const missing = `"error":{"code":-32603,"message":"Internal error","data":{"details":"ENOENT: no such file or directory, open '/w/a.txt'"}}`
	for _, c := range []struct {
		of           ide.Editor
		call         ide.Call
		answer, want string
	}{
		{e, read, `"result":{"content":"typed"}`, "ide.FileText{typed 0}"},
		{e, read, `"result":{"content":""}`, "ide.FileText{ 0}"},
		{e, read, `"result":null`, "lacks: the editor answered fs/read_text_file without a text"},
		{e, read, `"result":{}`, "lacks: the editor answered fs/read_text_file without a text"},
		{e, read, `"result":{"content":null}`, "lacks: the editor answered fs/read_text_file without a text"},
		{e, read, `"result":{"content":7}`, "the editor did not read the file: the answer to fs/read_text_file: content: expected a string, got number"},
		{e, read, `"error":{"code":-32601,"message":"Method not found"}`, "lacks: the editor does not know fs/read_text_file"},
		{e, read, `"error":{"code":-32002,"message":"Resource not found"}`, "lacks: the editor has no such file"},
		{e, read, missing, "lacks: the editor has no such file"},
		{e, read, `"error":{"code":-32603,"message":"Permission denied by the client"}`, "the editor did not read the file: Permission denied by the client"},
		{e, read, `"error":{"code":-32603,"message":"Internal error","data":{"details":"EACCES: permission denied"}}`, "the editor did not read the file: Internal error: EACCES: permission denied"},
		{e, read, `"error":{"code":-32602,"message":""}`, "the editor did not read the file: the client answered with error -32602"},
		{e, read, `"error":{"code":-32603,"message":"Permission denied","data":null}`, "the editor did not read the file: Permission denied"},
		{e, write, `"result":null`, "ide.Done{}"},
		{e, write, `"error":{"code":-32601,"message":"Method not found"}`, "lacks: the editor does not know fs/write_text_file"},
		{e, write, missing, "lacks: the editor has no such file"},
		{e, write, `"error":{"code":-32000,"message":"buffer is read-only","data":["why"]}`, `the editor did not write the file: buffer is read-only: ["why"]`},
		{e, write, `"error":"no"`, "the editor did not write the file: no"},
		{e, open, `"result":{"terminalId":"7"}`, "ide.TerminalOpened{x:7}"},
		{e, open, `"error":{"code":-32601,"message":"Method not found"}`, "lacks: the editor does not know terminal/create"},
		{e, open, `"error":{"code":-32603,"message":"no terminals today"}`, "the editor did not open a terminal, so the command did not run: no terminals today"},
		{e, open, `"result":null`, "the editor answered with no terminalId, so the command was not run a second time here; check whether it has run before you try again"},
	} {
		done := make(chan string, 1)
		go func() {
			reply, err := c.of.Do(t.Context(), c.call)
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
		if err := peer.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, q.ID, c.answer)); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got != c.want {
			t.Errorf("%T answered by %s: got %q, want %q", c.call, c.answer, got, c.want)
		}
	}
}

// A file is not sent in a line of more than 1 MiB, as it is encoded there, so it is written on the disk.
func TestLargeFilesAreNotSent(t *testing.T) {
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
	e := editor{conn: conn}
	for _, text := range []string{strings.Repeat("x", 1<<20), strings.Repeat("\"", 512<<10), strings.Repeat("\x01", 180<<10)} {
		_, err := e.Do(t.Context(), ide.WriteFile{Path: "/w/a.txt", Text: text})
		if lacks := (*ide.Lacks)(nil); !errors.As(err, &lacks) || lacks.Error() != "the editor is not sent a line of more than 1 MiB" {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := e.Do(t.Context(), ide.WriteFile{Session: core.SessionID(strings.Repeat("s", 256)), Path: "/" + strings.Repeat("d/", 2048), Text: strings.Repeat("x", maxWritten-len(`""`))})
		wrote <- err
	}()
	msg, err := peer.Next()
	if err != nil || len(msg) > 1<<20 {
		t.Errorf("a line of %d bytes, %v", len(msg), err)
	}
	if err := peer.Send(`{"jsonrpc":"2.0","id":1,"result":null}`); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}
