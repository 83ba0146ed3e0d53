package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/acp"
	"dragoman/adapters/eca"
	"dragoman/adapters/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/wiretest"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/program/programtest"
	"dragoman/cmd/internal/secrets"
	"dragoman/cmd/internal/servers"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
	"dragoman/core/jsonl"
)

// idleFace is a protocol: a client's first messages, and those that run a turn in a session of
// its own. begin sends the messages and returns a part of the last answer.
type idleFace struct {
	framing wire.Framing
	serve   func(*connection, string) server
	hello   string
	begin   func(c *idleClient, n int)
}

// idleClient is a client of a protocol.
type idleClient struct {
	*wiretest.Peer
	t     *testing.T
	work  string
	hello string // the response to the first message
}

// ask sends a message and reads up to one that contains text, which it returns.
func (c *idleClient) ask(message, text string) string {
	c.t.Helper()
	lines := strings.Split(strings.TrimSuffix(c.all(message, text), "\n"), "\n")
	return lines[len(lines)-1]
}

// all is ask that returns all messages up to that one; "" is not sent.
func (c *idleClient) all(message, text string) string {
	c.t.Helper()
	if message != "" {
		if err := c.Send(message); err != nil {
			c.t.Fatal(err)
		}
	}
	var b strings.Builder
	for {
		m, err := c.Next()
		if err != nil {
			c.t.Fatal(err)
		}
		b.WriteString(m + "\n")
		if strings.Contains(m, text) {
			return b.String()
		}
	}
}

var idleFaces = map[string]idleFace{
	"acp": {
		wire.Newline, func(h *connection, _ string) server {
			return acp.New(acp.Options{Gateway: h.Gateway, Board: h.profiles.Board(), Principal: h.principal, Profiles: h.profiles, Log: h.log, Servers: true, Providers: h.profiles.Providers()})
		},
		`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`,
		func(c *idleClient, n int) {
			m := c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"new%d","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, n, c.work), fmt.Sprintf(`"id":"new%d"`, n))
			_, id, _ := strings.Cut(m, `"sessionId":"`)
			id, _, _ = strings.Cut(id, `"`)
			c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"go%d","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"read README.md then stream 100 of 2000"}]}}`, n, id), fmt.Sprintf(`"id":"go%d"`, n))
		},
	},
	"eca": {
		wire.ContentLength, func(h *connection, _ string) server {
			return ecaServer{eca.New(eca.Options{Gateway: h.Gateway, Board: h.profiles.Board(), Principal: h.principal, Profiles: h.profiles, Log: h.log, Welcome: h.welcome, Configure: h.profiles.Configure, Shutdown: h.Close})}
		},
		`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"processId":null,"clientInfo":{"name":"x"},"capabilities":{"codeAssistant":{"chat":true}},"workspaceFolders":[{"name":"w","uri":"file://WORK"}]}}`,
		func(c *idleClient, n int) {
			c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"go%d","method":"chat/prompt","params":{"chatId":"chat%d","message":"read README.md then stream 100 of 2000"}}`, n, n), `"state":"finished"`)
		},
	},
	"mcp": {
		wire.Newline, func(h *connection, work string) server {
			return mcp.New(mcp.Options{Gateway: h.Gateway, Board: h.profiles.Board(), Principal: h.principal, Profiles: h.profiles, Log: h.log, Roots: []string{work}, Cwd: work})
		},
		`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		func(c *idleClient, n int) {
			c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"go%d","method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"read README.md then stream 100 of 2000"}}}`, n), fmt.Sprintf(`"id":"go%d"`, n))
		},
	},
}

// inPlace returns a home and a workspace, and a program in them.
func inPlace(t *testing.T) (o setup.Options, work string) {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "README.md"), []byte(strings.Repeat("hello\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	// In a bubble of synctest no time passes while a sandbox is open: it listens on sockets of the system.
	programtest.Write(t, filepath.Join(home, "config.yaml"), "policy: {sandbox: none}\n")
	env := map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	e := &program.Environment{Version: "v0.0.0-test", Lookup: lookup, Out: io.Discard, Err: io.Discard, Flags: program.Flags{Config: filepath.Join(home, "config.yaml")}}
	log, err := setup.OpenLog(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	kept := secrets.New(e, nil)
	return setup.Options{Env: e, Secrets: kept, Servers: servers.New(e, kept), Log: log}, work
}

// connect does the work of serveStdio, without signals, and connects a client. At the end the
// client leaves without notice.
func (f idleFace) connect(t *testing.T, o setup.Options, work string) (c *idleClient, end func()) {
	t.Helper()
	h, endAll := inProcess(t, o)
	c, leave := f.join(t, h, core.Local, f.hello, work)
	return c, func() {
		leave()
		endAll()
	}
}

// inProcess returns the gateway of a process without connections.
func inProcess(t *testing.T, o setup.Options) (h *gateway, end func()) {
	t.Helper()
	dir, err := o.Env.DataDir()
	if err != nil {
		t.Fatal(err)
	}
	h = &gateway{log: o.Log.Logger, process: setup.New(o)}
	store := jsonl.New(dir)
	h.Gateway = core.New(h.process.Config(store))
	h.process.Join(h.Gateway)
	return h, func() {
		if err := errors.Join(h.Close(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
		h.process.Close()
	}
}

// join connects a client of a principal to a gateway. At the end it leaves without notice.
func (f idleFace) join(t *testing.T, h *gateway, p core.Principal, hello, work string) (c *idleClient, leave func()) {
	t.Helper()
	conn := &connection{h, p, h.process.Client(setup.ClientOptions{Principal: p, People: true, Quiet: true})}
	in, out, peer := wiretest.New(f.framing)
	ended := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() { ended <- f.serve(conn, work).Serve(ctx, in, out) }()
	c = &idleClient{Peer: peer, t: t, work: work}
	c.hello = c.ask(strings.ReplaceAll(hello, "WORK", work), `"id":"hello"`)
	return c, func() {
		end()
		<-ended
		conn.profiles.Close()
	}
}

// leftOpen makes a client of a protocol open sessions, each with a turn, without closing any.
// look is called when some were opened and have been silent for a while: first, many later, and
// many more later.
func leftOpen(t *testing.T, f idleFace, first, many int, look func()) {
	t.Helper()
	o, work := inPlace(t)
	synctest.Test(t, func(t *testing.T) {
		c, end := f.connect(t, o, work)
		n := 0
		for _, more := range []int{first, many, many} {
			for range more {
				n++
				f.begin(c, n)
				<-time.After(2 * time.Second)
			}
			<-time.After(3 * time.Minute)
			for c.Pending() {
				if _, err := c.Next(); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			look()
		}
		end()
	})
}

// Two editors, of two protocols and in two processes, have a session open and take turns in it.
// The one that prompts first sees the additions of the other, once; if it is too early, the error
// names the process that has the session.
func TestTwoProcessesTakeTurns(t *testing.T) {
	o, work := inPlace(t)
	synctest.Test(t, func(t *testing.T) {
		zed, leaveZed := idleFaces["acp"].connect(t, o, work)
		emacs, leaveEmacs := idleFaces["eca"].connect(t, o, work)
		m := zed.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, work), `"id":"new"`)
		_, id, _ := strings.Cut(m, `"sessionId":"`)
		id, _, _ = strings.Cut(id, `"`)
		prompts := 0
		fromZed := func(text string) string {
			prompts++
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":"go%d","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, prompts, id, text)
		}
		fromEmacs := func(text string) string {
			prompts++
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":"go%d","method":"chat/prompt","params":{"chatId":%q,"message":%q}}`, prompts, id, text)
		}
		zed.ask(fromZed("think of one"), `"id":"go1"`)
		emacs.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"open","method":"chat/open","params":{"chatId":%q}}`, id), `"id":"open"`)
		if said := emacs.all(fromEmacs("think of early"), `"state":"finished"`); !strings.Contains(said, "in use by another process") {
			t.Errorf("it is not a minute yet: %s", said)
		}
		<-time.After(2 * time.Minute)
		emacs.ask(fromEmacs("think of two"), `"state":"finished"`)
		if said := zed.all(fromZed("think of early"), `"id":"go4"`); !strings.Contains(said, "in use by another process") {
			t.Errorf("another process has it: %s", said)
		}
		<-time.After(2 * time.Minute)
		said := zed.all(fromZed("think of three"), `"id":"go5"`)
		if n, m := strings.Count(said, `think of two`), strings.Index(said, "two"); n != 1 || m > strings.Index(said, "three") {
			t.Errorf("what the other added is not shown once and first: %s", said)
		}
		<-time.After(2 * time.Minute)
		said = emacs.all(fromEmacs("think of four"), `"id":"go6"`)
		said += emacs.all("", `"state":"finished"`)
		if n, m := strings.Count(said, `think of three`), strings.Index(said, "three"); n != 1 || m > strings.Index(said, "four") {
			t.Errorf("what the other added is not shown once and first: %s", said)
		}
		leaveZed()
		leaveEmacs()
	})
}

// heapNow returns the size of the heap in bytes, after garbage collections that free no more: finalizers
// and pools release what only the next one frees.
func heapNow() int {
	for least := math.MaxInt; ; {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if int(m.HeapAlloc) >= least {
			return least
		}
		least = int(m.HeapAlloc)
	}
}

// descriptors counts open descriptors; false: the system does not report them.
func descriptors() (int, bool) {
	list, err := os.ReadDir("/proc/self/fd")
	return len(list), err == nil
}

// Sessions that a client has used and left open cost no descriptor and no goroutine, and at most
// 16 KiB each. DRAGOMAN_SESSIONS=2000 makes the client open as many.
func TestSessionsLeftOpenCostLittle(t *testing.T) {
	for name, f := range idleFaces {
		t.Run(name, func(t *testing.T) {
			const first, most = 10, 16 << 10
			many := 50
			if n, err := strconv.Atoi(os.Getenv("DRAGOMAN_SESSIONS")); err == nil {
				many = n / 2
			}
			var heap, open, goroutines []int
			leftOpen(t, f, first, many, func() {
				n, _ := descriptors()
				heap, open, goroutines = append(heap, heapNow()), append(open, n), append(goroutines, runtime.NumGoroutine())
			})
			each := min(heap[2]-heap[1], heap[1]-heap[0]) / many // what the process itself keeps shows in one of them
			t.Logf("%d bytes each; descriptors %d, goroutines %d", each, open, goroutines)
			if each > most {
				t.Errorf("a session that is left open takes %d bytes", each)
			}
			if open[2] > open[0] || goroutines[2] > goroutines[0] {
				t.Errorf("%d sessions have %d descriptors and %d goroutines, %d have %d and %d", first, open[0], goroutines[0], first+2*many, open[2], goroutines[2])
			}
		})
	}
}
