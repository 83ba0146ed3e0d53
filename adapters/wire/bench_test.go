package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
)

// engine starts a server on the two streams; it ends when in does.
type engine struct {
	name  string
	start func(b *testing.B, in io.ReadCloser, out io.WriteCloser) (wait func())
}

type benchParams struct {
	SessionID string `json:"sessionId"`
	Mode      string `json:"mode"`
}

func engines() []engine {
	set := func(_ context.Context, p benchParams) (benchParams, error) { return p, nil }
	return []engine{
		{"wire", func(b *testing.B, in io.ReadCloser, out io.WriteCloser) func() {
			methods := wire.Methods{"set": wire.Sync(wire.Func(set)), "note": wire.Sync(wire.Func(set))}
			c := wire.NewConn(in, out, wire.Options{})
			var owner sync.WaitGroup
			owner.Go(func() { c.Serve(b.Context(), methods.Handle) })
			return owner.Wait
		}},
		{"jrpc2", func(_ *testing.B, in io.ReadCloser, out io.WriteCloser) func() {
			s := jrpc2.NewServer(handler.Map{"set": handler.New(set), "note": handler.New(set)}, &jrpc2.ServerOptions{DisableBuiltin: true})
			s.Start(channel.Line(in, out))
			return func() { s.Wait() }
		}},
	}
}

// One request after the other, each waiting for its answer.
func BenchmarkRoundTrip(b *testing.B) {
	for _, e := range engines() {
		b.Run(e.name, func(b *testing.B) {
			fromPeer, toConn := osPipe(b)
			fromConn, toPeer := osPipe(b)
			wait := e.start(b, fromPeer, toPeer)
			answers := bufio.NewReader(fromConn)
			var msg []byte
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				msg = fmt.Appendf(msg[:0], `{"jsonrpc":"2.0","id":%d,"method":"set","params":{"sessionId":"0198f3c2-aaaa","mode":"code"}}`+"\n", i)
				if _, err := toConn.Write(msg); err != nil {
					b.Fatal(err)
				}
				if _, err := answers.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			toConn.Close()
			wait()
		})
	}
}

// Requests as fast as they can be written.
func BenchmarkRequests(b *testing.B) {
	const many = 1000
	for _, e := range engines() {
		b.Run(e.name, func(b *testing.B) {
			fromPeer, toConn := osPipe(b)
			fromConn, toPeer := osPipe(b)
			wait := e.start(b, fromPeer, toPeer)
			var blob []byte
			for i := range many {
				blob = fmt.Appendf(blob, `{"jsonrpc":"2.0","id":%d,"method":"set","params":{"sessionId":"0198f3c2-aaaa","mode":"code"}}`+"\n", i)
			}
			answers := bufio.NewReaderSize(fromConn, 1<<16)
			b.ReportAllocs()
			for b.Loop() {
				go toConn.Write(blob)
				for range many {
					if _, err := answers.ReadSlice('\n'); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/many, "ns/request")
			b.StopTimer()
			toConn.Close()
			wait()
		})
	}
}

func BenchmarkNotify(b *testing.B) {
	type update struct {
		SessionID string `json:"sessionId"`
		Text      string `json:"text"`
	}
	c := wire.NewConn(io.NopCloser(bytes.NewReader(nil)), discard{}, wire.Options{})
	var owner sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	owner.Go(func() { c.Writer().Run(ctx) })
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Notify("session/update", update{"0198f3c2-aaaa", "hello hello hello"}); err != nil {
			b.Fatal(err)
		}
		c.Writer().Room(b.Context(), wire.PumpRoom)
	}
	cancel()
	owner.Wait()
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

// What a pump does: encode a batch of updates into its buffer, and queue them together.
func BenchmarkPump(b *testing.B) {
	const batch = 50
	for _, framing := range []wire.Framing{wire.Newline, wire.ContentLength} {
		b.Run([]string{"newline", "content-length"}[framing], func(b *testing.B) {
			w := wire.NewWriter(discard{}, framing)
			var owner sync.WaitGroup
			ctx, cancel := context.WithCancel(b.Context())
			owner.Go(func() { w.Run(ctx) })
			var lines []byte
			b.ReportAllocs()
			for b.Loop() {
				lines = lines[:0]
				for range batch {
					lines = append(lines, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0198f3c2-aaaa","text":`...)
					lines = jsonscan.AppendString(lines, "hello, said the “dragoman”\n")
					lines = append(lines, "}}\n"...)
				}
				w.PutLines(lines)
				w.Room(b.Context(), wire.PumpRoom)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/message")
			cancel()
			owner.Wait()
		})
	}
}

func BenchmarkParse(b *testing.B) {
	small := []byte(`{"jsonrpc":"2.0","id":17,"method":"session/prompt","params":{"sessionId":"0198f3c2-aaaa","prompt":[{"type":"text","text":"what is in the README?"}]}}`)
	large := bytes.Replace(small, []byte("what"), bytes.Repeat([]byte("long text "), 100_000), 1)
	for name, text := range map[string][]byte{"small": small, "1 MB": large} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFrames(b *testing.B) {
	const n = 1000
	for _, framing := range []wire.Framing{wire.Newline, wire.ContentLength} {
		b.Run([]string{"newline", "content-length"}[framing], func(b *testing.B) {
			body := bytes.Repeat([]byte("x"), 150)
			frame := append(bytes.Clone(body), '\n')
			if framing == wire.ContentLength {
				frame = fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(body), body)
			}
			stream := bytes.Repeat(frame, n)
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				f := framing.Framer(bytes.NewReader(stream), 0)
				for range n {
					if _, err := f.Next(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
