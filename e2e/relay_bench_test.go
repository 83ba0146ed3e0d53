package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkCalls is a tool's call, to the SDK's own server and through the gateway
// to it, over a pipe and over HTTP, by 1, 16 and 64 callers at once over one session. Over a
// pipe also through a program that does no more than copy lines (testdata/lines).
func BenchmarkCalls(b *testing.B) {
	dragoman, _ := needPlain(b)
	server := filepath.Join(b.TempDir(), "everything")
	if text, err := exec.Command("go", "build", "-o", server, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, text)
	}
	lines := filepath.Join(b.TempDir(), "lines")
	if text, err := exec.Command("go", "build", "-o", lines, "./testdata/lines").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, text)
	}
	p := newPlace(b)
	cfg := p.config(b, fmt.Sprintf("mcp_servers:\n  up: {command: %q}\n", server))
	ours := func(flags ...string) []string {
		return append([]string{dragoman.binary, "--config", cfg, "mcp"}, flags...)
	}
	for _, c := range []struct {
		name string
		dial func(b *testing.B) *bulk
	}{
		{"pipe/direct", func(b *testing.B) *bulk { return p.overPipe(b, server) }},
		{"pipe/lines", func(b *testing.B) *bulk { return p.overPipe(b, lines, server) }},
		{"pipe/relay", func(b *testing.B) *bulk { return p.overPipe(b, ours("--only", "up")...) }},
		{"pipe/aggregate", func(b *testing.B) *bulk { return p.overPipe(b, ours()...) }},
		{"http/direct", func(b *testing.B) *bulk {
			return p.overHTTP(b, "", server, "-http", freeAddress(b), "-stateless=false")
		}},
		{"http/relay", func(b *testing.B) *bulk {
			return p.overHTTP(b, "/up", ours("--http", "127.0.0.1:0", "--no-auth")...)
		}},
		{"http/aggregate", func(b *testing.B) *bulk {
			return p.overHTTP(b, "", ours("--http", "127.0.0.1:0", "--no-auth")...)
		}},
	} {
		for _, callers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/%d", c.name, callers), func(b *testing.B) {
				s := c.dial(b)
				s.call(b, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
				s.send(b, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				const params = `{"name":"test_simple_text","arguments":{}}`
				for range 200 {
					s.call(b, "tools/call", params)
				}
				b.ResetTimer()
				took := make([]time.Duration, b.N)
				var next atomic.Int64
				began := time.Now()
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() {
						for {
							i := int(next.Add(1)) - 1
							if i >= b.N {
								return
							}
							at := time.Now()
							s.call(b, "tools/call", params)
							took[i] = time.Since(at)
						}
					})
				}
				wg.Wait()
				all := time.Since(began)
				b.StopTimer()
				slices.Sort(took)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(took[b.N/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(took[b.N*99/100].Microseconds()), "p99-µs")
				b.ReportMetric(float64(b.N)/all.Seconds(), "calls/s")
				b.ReportMetric(rss(s.pid), "MiB")
			})
		}
	}
}

// bulk is a client that does little itself, so that the other side is what is
// measured.
type bulk struct {
	pid  int
	send func(b *testing.B, line string) string // over HTTP it returns the answer

	last    atomic.Int64
	answers sync.Map // of chan struct{}, by id; over a pipe
}

func (s *bulk) call(b *testing.B, method, params string) {
	id := s.last.Add(1)
	done := make(chan struct{})
	s.answers.Store(id, done)
	text := s.send(b, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	if text == "" {
		<-done
	} else if !strings.Contains(text, `"result"`) {
		b.Errorf("%s: %s", method, text)
	}
}

func (p *place) overPipe(b *testing.B, args ...string) *bulk {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir = p.env, p.work
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	s := &bulk{pid: cmd.Process.Pid}
	var put sync.Mutex
	s.send = func(b *testing.B, line string) string {
		put.Lock()
		defer put.Unlock()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			b.Error(err)
		}
		return ""
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var m struct {
				ID     int64
				Result json.RawMessage
			}
			if json.Unmarshal(line, &m) != nil || m.Result == nil {
				b.Errorf("said %s", line)
			}
			if done, ok := s.answers.LoadAndDelete(m.ID); ok {
				close(done.(chan struct{}))
			}
		}
	}()
	b.Cleanup(func() {
		in.Close()
		<-read
		cmd.Wait() //nolint:errcheck // it ends as it likes
	})
	return s
}

func freeAddress(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// overHTTP starts a server that says its address on standard error, and talks to it
// at the path behind that.
func (p *place) overHTTP(b *testing.B, path string, args ...string) *bulk {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir = p.env, p.work
	errs, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it has ended then
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	said := bufio.NewReader(errs)
	line, err := said.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	go io.Copy(io.Discard, said) //nolint:errcheck // until it ends
	url := regexp.MustCompile(`(http://)?127[.:0-9]+(/mcp)?`).FindString(line) + path
	if !strings.HasPrefix(url, "http") {
		url = "http://" + url
	}
	address := regexp.MustCompile(`127[.:0-9]+`).FindString(line)
	for { // the line may come before the listening
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			break
		}
		runtime.Gosched()
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var session atomic.Pointer[string]
	s := &bulk{pid: cmd.Process.Pid}
	s.send = func(b *testing.B, line string) string {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(line))
		if err != nil {
			b.Error(err)
			return " "
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if id := session.Load(); id != nil {
			req.Header.Set("Mcp-Session-Id", *id)
			req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		resp, err := client.Do(req)
		if err != nil {
			b.Error(err)
			return " "
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			b.Error(err)
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" && session.Load() == nil {
			session.Store(&id)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			return " "
		}
		return string(text)
	}
	return s
}
