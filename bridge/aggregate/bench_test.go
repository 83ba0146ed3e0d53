package aggregate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core"
)

// BenchmarkCalls calls a tool of a program through an aggregate: by the SDK's client, and by one
// that allocates nothing, so that what is left is the aggregate's own.
func BenchmarkCalls(b *testing.B) {
	b.Run("sdk", func(b *testing.B) {
		in, out := benched(b, plays("sdk"))
		bridgetest.CallEcho(b, &mcp.IOTransport{Reader: in, Writer: out})
	})
	b.Run("own", func(b *testing.B) { called(b, 1) })
	b.Run("1MiB", func(b *testing.B) {
		called(b, 1<<20)
	})
}

// benched connects a client over a pipe.
func benched(b *testing.B, server func(context.Context) (upstream.Endpoint, error)) (io.ReadCloser, io.WriteCloser) {
	box := upstream.New(upstream.Options{Servers: []upstream.Server{{Name: "up", Endpoint: server}}, Environ: os.Environ(), Grace: bridgetest.Patience})
	down, fromDown := io.Pipe()
	toDown, up := io.Pipe()
	all := New(box, Options{Agent: standIn{}, Servers: []string{"*"}})
	go all.Serve(context.Background(), b.TempDir(), core.Local, down, up) //nolint:errcheck // it ends with the pipes
	return toDown, fromDown
}

// called calls a tool that answers with a text of a size, by a client that reads up to the line's end.
func called(b *testing.B, size int) {
	in, out := benched(b, plays("repeats", fmt.Sprint("SIZE=", size)))
	b.Cleanup(func() { out.Close() })
	r := bufio.NewReaderSize(in, 1<<20)
	say := func(line []byte) {
		if _, err := out.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	line := func() {
		for {
			_, err := r.ReadSlice('\n')
			if err == nil {
				return
			}
			if err != bufio.ErrBufferFull { //nolint:errorlint // as it is returned
				b.Fatal(err)
			}
		}
	}
	say([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"))
	line()
	say([]byte(`{"jsonrpc":"2.0","id":0,"method":"tools/list"}` + "\n"))
	line()
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"text":"x"}}}` + "\n")
	for b.Loop() {
		say(call)
		line()
	}
}
