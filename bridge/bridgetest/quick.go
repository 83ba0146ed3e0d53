package bridgetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"

	proto "dragoman/adapters/proto/mcp"
)

// Quick is a client of a server with a tool t. A call allocates next to nothing in the client, so
// that what is measured is the gateway's.
type Quick struct {
	tb   testing.TB
	say  func(line string) (answer []byte)
	call string
}

// quickMeta describes the client in requests of 2026-07-28.
const quickMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + proto.Modern +
	`","io.modelcontextprotocol/clientInfo":{"name":"quick","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// QuickPipe returns a client over a pipe, which has introduced itself at a version and asked for
// the tools.
func QuickPipe(tb testing.TB, version string, in io.Reader, out io.Writer) *Quick {
	tb.Helper()
	r := bufio.NewReaderSize(in, 1<<20)
	var line []byte
	q := &Quick{tb: tb}
	q.say = func(text string) []byte {
		line = append(append(line[:0], text...), '\n')
		if _, err := out.Write(line); err != nil {
			tb.Fatal(err)
		}
		for {
			answer, err := r.ReadSlice('\n')
			if err == nil {
				return answer
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				tb.Fatal(err)
			}
		}
	}
	q.begin(version)
	return q
}

// QuickHTTP is QuickPipe for a handler, without a network.
func QuickHTTP(tb testing.TB, version string, h http.Handler) *Quick {
	tb.Helper()
	w := &quickResponse{header: http.Header{}}
	var body bytes.Reader
	r := (&http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/mcp"}, Body: io.NopCloser(&body), Header: http.Header{},
		RemoteAddr: "127.0.0.1:1", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "localhost",
	}).WithContext(context.Background())
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(proto.HeaderVersion, version)
	q := &Quick{tb: tb}
	var text []byte
	q.say = func(line string) []byte {
		text = append(text[:0], line...)
		body.Reset(text)
		r.ContentLength = int64(len(line))
		if version == proto.Modern {
			r.Header[proto.HeaderMethod] = quickMethods[line[:20]]
			r.Header[proto.HeaderName] = quickName
		}
		clear(w.header)
		w.body = w.body[:0]
		h.ServeHTTP(w, r)
		if id := w.header.Get(proto.HeaderSession); id != "" {
			r.Header.Set(proto.HeaderSession, id)
		}
		return w.body
	}
	q.begin(version)
	return q
}

// The lines of the client differ in their first bytes.
var (
	quickName    = []string{"t"}
	quickMethods = map[string][]string{
		quickLine("tools/list", "")[:20]: {proto.MethodListTools},
		quickLine("tools/call", "")[:20]: {proto.MethodCallTool},
	}
)

func quickLine(method, params string) string {
	return `{"method":"` + method + `","jsonrpc":"2.0","id":1,"params":{` + params + `}}`
}

func (q *Quick) begin(version string) {
	q.tb.Helper()
	list, call := quickLine(proto.MethodListTools, ""), `"name":"t","arguments":{"text":"x"}`
	if version == proto.Modern {
		list, call = quickLine(proto.MethodListTools, quickMeta), call+","+quickMeta
	} else {
		q.say(quickLine(proto.MethodInitialize, `"protocolVersion":"`+version+
			`","capabilities":{},"clientInfo":{"name":"quick","version":"1"}`))
	}
	q.call = quickLine(proto.MethodCallTool, call)
	if list := q.say(list); !bytes.Contains(list, []byte(`"name":"t"`)) {
		q.tb.Fatalf("the tools are %s", list)
	}
}

// Call calls the tool.
func (q *Quick) Call() {
	if answer := q.say(q.call); !bytes.Contains(answer[:min(len(answer), 1000)], []byte(`"result":`)) {
		q.tb.Fatalf("the answer is %s", answer)
	}
}

// quickResponse is a response in memory that is used again.
type quickResponse struct {
	header http.Header
	body   []byte
}

func (w *quickResponse) Header() http.Header { return w.header }

func (w *quickResponse) WriteHeader(int) {}

func (w *quickResponse) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}

// Quicks are the ways of a quick client, by transport and version: pipe and http begin one of a
// version.
func Quicks(pipe, http func(tb testing.TB, version string) *Quick) map[string]func(testing.TB) *Quick {
	all := map[string]func(testing.TB) *Quick{}
	for _, version := range Eras {
		all["pipe/"+version] = func(tb testing.TB) *Quick { return pipe(tb, version) }
		all["http/"+version] = func(tb testing.TB) *Quick { return http(tb, version) }
	}
	return all
}

// Bench measures the calls of quick clients.
func Bench(b *testing.B, ways map[string]func(testing.TB) *Quick) {
	b.Helper()
	for _, name := range slices.Sorted(maps.Keys(ways)) {
		b.Run(name, func(b *testing.B) {
			q := ways[name](b)
			b.ReportAllocs()
			for b.Loop() {
				q.Call()
			}
		})
	}
}

// Budget fails if a call of a quick client allocates more often than its budget allows.
func Budget(t *testing.T, ways map[string]func(testing.TB) *Quick, most map[string]float64) {
	t.Helper()
	if Race {
		t.Skip("the race detector allocates, too")
	}
	for _, name := range slices.Sorted(maps.Keys(ways)) {
		t.Run(name, func(t *testing.T) {
			q := ways[name](t)
			for range 2000 { // until tables and buffers have their sizes
				q.Call()
			}
			if n := testing.AllocsPerRun(1000, q.Call); n > most[name] {
				t.Errorf("%v allocations for a call, of %v", n, most[name])
			} else {
				t.Logf("%v allocations for a call", n)
			}
		})
	}
}
