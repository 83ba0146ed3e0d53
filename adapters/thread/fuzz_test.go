package thread_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"dragoman/adapters/thread"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/jsonscan"
)

// Whatever the params of a method, it is answered, nothing panics, and the next request is
// answered too.
func FuzzCalls(f *testing.F) {
	for _, seed := range []struct{ method, params string }{
		{"sendMessage", `{"threadId":"s1","message":{"role":"assistant","chunks":[{"type":"text","chunk":"x"}]}}`},
		{"readTextFile", `{"threadId":"s1","path":"../a","lineOffset":-1,"lineLimit":99999999999}`},
		{"globSearch", `{"threadId":"s1","pattern":"**/[a-z]*"}`},
		{"streamMessageChunk", `{"threadId":"s1","chunk":{"type":"image"}}`},
	} {
		f.Add(seed.method, []byte(seed.params))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		if !json.Valid(params) || strings.ContainsAny(string(params), "\n\r") {
			t.Skip()
		}
		errs, logged := observer.New(zapcore.ErrorLevel)
		log := zap.New(errs)
		g := newGateway(coretest.NewMemory())
		in, out, peer := wiretest.New(wire.Newline)
		served := make(chan error, 1)
		go func() {
			s := thread.New(thread.Options{Gateway: g, Principal: core.Local, Cwd: dir, Log: log})
			conn := wire.NewConn(in, out, wire.Options{Framing: wire.Newline, Panicked: func(method string, v any, _ []byte) {
				log.Error("handler panicked", zap.String("method", method), zap.Any("panic", v))
			}})
			served <- conn.ServeFirst(t.Context(), func(string) wire.Protocol { return s })
		}()
		name := jsonscan.AppendString(nil, method)
		if err := peer.Send(`{"id":0,"method":"createThread"}`, fmt.Sprintf(`{"id":"fuzz","method":%s,"params":%s}`, name, params), `{"id":"next","method":"getThreads"}`); err != nil {
			t.Fatal(err)
		}
		for open := 2; open > 0; {
			msg, err := peer.Next()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(msg, `"id":"fuzz"`) || strings.Contains(msg, `"id":"next"`) || strings.Contains(msg, `"id":null`) {
				open--
			}
		}
		peer.Close()
		<-served
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, entry := range logged.All() {
			t.Errorf("logged: %s %v", entry.Message, entry.ContextMap())
		}
	})
}
