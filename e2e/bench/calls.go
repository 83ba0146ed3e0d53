package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// calls are calls of an MCP server's tool, directly and through the gateway.
func (b *bench) calls() {
	const everything = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
	server := filepath.Join(b.tmp, "everything")
	if text, err := exec.Command("go", "build", "-o", server, everything).CombinedOutput(); err != nil {
		check(fmt.Errorf("go build %s: %w\n%s", everything, err, text))
	}
	home, work := b.home(fmt.Sprintf("mcp_servers:\n  up: {command: %q}\n", server))
	p := place{home, work}
	http := []string{b.dragoman, "mcp", "--http", "127.0.0.1:0", "--no-auth"}
	ways := []struct {
		name   string
		direct int // which one is it compared with
		dial   func() *caller
	}{
		{"stdio, direct", 0, func() *caller { return b.overPipe(p, server) }},
		{"stdio, `--only up`", 0, func() *caller { return b.overPipe(p, b.dragoman, "mcp", "--only", "up") }},
		{"stdio, all servers as one", 0, func() *caller { return b.overPipe(p, b.dragoman, "mcp") }},
		{"HTTP, direct", 3, func() *caller { return b.overHTTP(p, "", server, "-http", freeAddress(), "-stateless=false") }},
		{"HTTP, `/mcp/up`", 3, func() *caller { return b.overHTTP(p, "/up", http...) }},
		{"HTTP, all servers as one", 3, func() *caller { return b.overHTTP(p, "", http...) }},
	}
	callers := []int{1, 16, 64}
	rate, wait, used := make([][]sample, len(ways)), make([]sample, len(ways)), make([]sample, len(ways))
	for i := range ways {
		rate[i] = make([]sample, len(callers))
	}
	for range rounds {
		var clients []*caller
		for _, w := range ways {
			c := w.dial()
			c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			c.flood(16, 200*time.Millisecond)
			clients = append(clients, c)
		}
		for range 3 {
			for n, many := range callers {
				for i, c := range clients {
					before := cpuOf(c.pid)
					calls, took := c.flood(many, 250*time.Millisecond)
					rate[i][n] = append(rate[i][n], calls/0.25)
					if many == 1 {
						wait[i] = append(wait[i], took.median())
					}
					used[i] = append(used[i], float64((cpuOf(c.pid)-before).Nanoseconds())/1000/calls)
				}
			}
		}
		for _, c := range clients {
			c.stop()
		}
	}
	rows := [][]string{row("", "calls/s of 1 caller", "of direct", "of 16", "of direct", "of 64", "of direct", "p50 of 1, ms", "own CPU, µs")}
	for i, w := range ways {
		cells := row(w.name)
		for n := range callers {
			cells = append(cells, number(rate[i][n].median()), fmt.Sprintf("%.2f", rate[i][n].median()/rate[w.direct][n].median()))
		}
		rows = append(rows, append(cells, number(wait[i].median()), number(used[i].least())))
	}
	b.heading("Calls of MCP servers", "The tool `test_simple_text` of the Go SDK's everything-server over one session (n = 6, medians), and the processor time of the process that the client speaks to.")
	b.table(rows...)
}

type place struct{ home, work string }

// command prepares a program in a place.
func (b *bench) command(p place, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = p.work
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + b.tmp}
	return cmd
}

// caller is a client of MCP that does little itself, so that the other side is what is measured.
type caller struct {
	pid  int
	send func(line string) string // over HTTP it returns the answer
	stop func()

	last    atomic.Int64
	answers sync.Map // of chan struct{}, by id; over a pipe
}

func (c *caller) call(method, params string) {
	id := c.last.Add(1)
	done := make(chan struct{})
	c.answers.Store(id, done)
	switch text := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)); {
	case text == "":
		<-done
	case !strings.Contains(text, `"result"`):
		fail(fmt.Errorf("%s: %s", method, text))
	}
}

// fail ends the program: goroutines cannot use check.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

// flood has so many callers call for a while. It returns the number of calls, and how long each took.
func (c *caller) flood(callers int, d time.Duration) (calls float64, took sample) {
	var wg sync.WaitGroup
	each := make([]sample, callers)
	end := time.Now().Add(d)
	for i := range callers {
		wg.Go(func() {
			for {
				at := time.Now()
				if at.After(end) {
					return
				}
				c.call("tools/call", `{"name":"test_simple_text","arguments":{}}`)
				each[i].took(time.Since(at))
			}
		})
	}
	wg.Wait()
	for _, s := range each {
		took = append(took, s...)
	}
	return float64(len(took)), took
}

func (b *bench) overPipe(p place, args ...string) *caller {
	cmd := b.command(p, b.profiled(args)...)
	in, err := cmd.StdinPipe()
	check(err)
	out, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	c := &caller{pid: cmd.Process.Pid}
	var put sync.Mutex
	c.send = func(line string) string {
		put.Lock()
		defer put.Unlock()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			fail(err)
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
			var id int64
			if _, rest, ok := bytes.Cut(line, []byte(`"id":`)); ok {
				for _, d := range rest {
					if d < '0' || d > '9' {
						break
					}
					id = id*10 + int64(d-'0')
				}
			}
			if done, ok := c.answers.LoadAndDelete(id); ok {
				if !bytes.Contains(line, []byte(`"result"`)) {
					fail(errors.New(string(line)))
				}
				close(done.(chan struct{}))
			}
		}
	}()
	fetched := b.fetch(args)
	c.stop = func() {
		in.Close()
		<-read
		cmd.Wait() //nolint:errcheck // it ends as it likes
		<-fetched
	}
	return c
}

func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	defer l.Close()
	return l.Addr().String()
}

var (
	origin  = regexp.MustCompile(`(http://)?127[.:0-9]+(/mcp)?`)
	address = regexp.MustCompile(`127[.:0-9]+`)
)

// overHTTP starts a server that says its address on standard error, and talks to it at the path behind
// that.
func (b *bench) overHTTP(p place, path string, args ...string) *caller {
	cmd := b.command(p, b.profiled(args)...)
	errs, err := cmd.StderrPipe()
	check(err)
	check(cmd.Start())
	said := bufio.NewReader(errs)
	line, err := said.ReadString('\n')
	check(err)
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		io.Copy(io.Discard, said) //nolint:errcheck // until it ends
	}()
	url := origin.FindString(line) + path
	if !strings.HasPrefix(url, "http") {
		url = "http://" + url
	}
	for { // the line may come before the listening
		if c, err := net.Dial("tcp", address.FindString(line)); err == nil {
			c.Close()
			break
		}
		time.Sleep(time.Millisecond)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var session atomic.Pointer[string]
	c := &caller{pid: cmd.Process.Pid}
	c.send = func(line string) string {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(line))
		if err != nil {
			fail(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if id := session.Load(); id != nil {
			req.Header.Set("Mcp-Session-Id", *id)
			req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		resp, err := client.Do(req)
		if err != nil {
			fail(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			fail(err)
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" && session.Load() == nil {
			session.Store(&id)
		}
		return string(text) + " "
	}
	fetched := b.fetch(args)
	c.stop = func() {
		client.CloseIdleConnections()
		_ = cmd.Process.Signal(os.Interrupt)
		cmd.Wait() //nolint:errcheck // it ends as it likes
		<-rest
		<-fetched
	}
	return c
}
