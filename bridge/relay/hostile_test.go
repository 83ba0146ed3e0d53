package relay

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core/access"
	"dragoman/core/jsonscan"
)

// hostile opens a client's session with a server that a script plays, through each
// face of a relay.
func hostile(t *testing.T, script string, o *mcp.ClientOptions, f func(*testing.T, *mcp.ClientSession)) {
	t.Helper()
	for face, connect := range faces {
		t.Run(face, func(t *testing.T) {
			g := watched(t, filepath.Join(t.TempDir(), "pins.json"), upstream.Server{Name: "up", Endpoint: plays("script", "SCRIPT="+script)})
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, o).
				Connect(bridgetest.Patient(t), connect(t, g.Server), &mcp.ClientSessionOptions{ProtocolVersion: proto.Legacy})
			if err != nil {
				t.Fatal(err)
			}
			defer cs.Close()
			f(t, cs)
		})
	}
}

func callT(t *testing.T, cs *mcp.ClientSession, name string) (string, error) {
	t.Helper()
	p := &mcp.CallToolParams{Name: name}
	p.SetProgressToken("tok")
	res, err := cs.CallTool(bridgetest.Patient(t), p)
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func TestRelayOfJunkAndNoise(t *testing.T) {
	t.Parallel()
	hostile(t, "initialize Welcome to the server!\ninitialize noise\n"+bridgetest.Greeting+"tools/list [not json\n"+bridgetest.OneTool("")+
		"tools/call {{{\ntools/call noise\ntools/call {\"level\":\"info\"}\n"+bridgetest.ToolDone, nil, func(t *testing.T, cs *mcp.ClientSession) {
		if s, err := callT(t, cs, "t"); s != "done" || err != nil {
			t.Errorf("%q, %v", s, err)
		}
	})
}

func TestRelayOfTenThousandProgressNotifications(t *testing.T) {
	t.Parallel()
	last, n := 0.0, make(chan int, 1)
	count := 0
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		count++
		if r.Params.Progress != last+1 || r.Params.ProgressToken != "tok" {
			t.Errorf("%v after %v for %v", r.Params.Progress, last, r.Params.ProgressToken)
		}
		if last = r.Params.Progress; last == 10000 {
			n <- count
			last, count = 0, 0
		}
	}}
	hostile(t, bridgetest.Greeting+bridgetest.OneTool("")+"tools/call flood\n"+bridgetest.ToolDone, o, func(t *testing.T, cs *mcp.ClientSession) {
		if s, err := callT(t, cs, "t"); s != "done" || err != nil {
			t.Errorf("%q, %v", s, err)
		}
		select {
		case got := <-n:
			if got != 10000 {
				t.Errorf("%d came", got)
			}
		case <-bridgetest.Patient(t).Done():
			t.Error("the last one did not come")
		}
	})
}

// The SDK's client takes no lines of that size, so the one over a pipe is plain. It ends its input
// while it reads the answer, and gets all of it.
func TestRelayOfTwentyMegabytes(t *testing.T) {
	t.Parallel()
	g := watched(t, filepath.Join(t.TempDir(), "pins.json"), upstream.Server{Name: "up", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+"tools/call big\n")})
	t.Run("pipe", func(t *testing.T) {
		tr := faces["pipe"](t, g.Server).(*mcp.IOTransport)
		fmt.Fprintln(tr.Writer, hello1+"\n"+call2)
		said := bufio.NewReader(tr.Reader)
		if _, err := said.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		begins := make([]byte, 1<<20)
		if _, err := io.ReadFull(said, begins); err != nil {
			t.Fatal(err)
		}
		tr.Writer.Close()
		rest, err := io.ReadAll(said)
		if err != nil || len(begins)+len(rest) < 20<<20 || !strings.HasSuffix(string(rest), `789 END"}]}}`+"\n") {
			t.Errorf("%d bytes, %v", len(begins)+len(rest), err)
		}
	})
	t.Run("http", func(t *testing.T) {
		if s, err := callT(t, joined(t, faces["http"](t, g.Server)), "t"); len(s) != 20<<20+4 || err != nil {
			t.Errorf("%d bytes, %v", len(s), err)
		}
	})
}

func TestRelayOfFiveThousandTools(t *testing.T) {
	t.Parallel()
	hostile(t, bridgetest.Greeting+"tools/list pages\n"+bridgetest.ToolDone, nil, func(t *testing.T, cs *mcp.ClientSession) {
		if s, err := callT(t, cs, "t4999"); s != "done" || err != nil { // which nobody has listed
			t.Errorf("%q, %v", s, err)
		}
		n := 0
		for tool, err := range cs.Tools(bridgetest.Patient(t), nil) {
			if err != nil || tool.Name != fmt.Sprintf("t%d", n) {
				t.Fatalf("%d: %v, %v", n, tool, err)
			}
			n++
		}
		if n != 5000 {
			t.Errorf("%d tools", n)
		}
	})
}

// A cursor that comes again ends our own listing before a call.
func TestRelayOfACursorThatComesAgain(t *testing.T) {
	again := `{"jsonrpc":"2.0","id":$ID,"result":{"nextCursor":"again","tools":[{"name":"t","inputSchema":{"type":"object"}}]}}` + "\n"
	hostile(t, bridgetest.Greeting+"tools/list "+again+"tools/list@again "+again+bridgetest.ToolDone, nil, func(t *testing.T, cs *mcp.ClientSession) {
		if s, err := callT(t, cs, "t"); s != "done" || err != nil {
			t.Errorf("%q, %v", s, err)
		}
	})
}

// What a server says or asks while we list its tools is not taken for the list.
func TestRelayOfAServerThatTalksWhileItLists(t *testing.T) {
	t.Parallel()
	hostile(t, bridgetest.Greeting+`tools/list {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"wait"}}
tools/list {"jsonrpc":"2.0","id":"q","method":"ping"}
`+bridgetest.OneTool("")+bridgetest.ToolDone, nil, func(t *testing.T, cs *mcp.ClientSession) {
		if s, err := callT(t, cs, "t"); s != "done" || err != nil {
			t.Errorf("%q, %v", s, err)
		}
	})
}

func TestRelayOfAStormOfChangedLists(t *testing.T) {
	t.Parallel()
	hostile(t, bridgetest.Greeting+bridgetest.OneTool("")+"tools/call storm\n"+bridgetest.ToolDone, nil, func(t *testing.T, cs *mcp.ClientSession) {
		for range 3 {
			if s, err := callT(t, cs, "t"); s != "done" || err != nil {
				t.Errorf("%q, %v", s, err)
			}
		}
	})
}

// A server that dies in the middle of a call is told of, with its last words.
func TestRelayOfAServerThatDies(t *testing.T) {
	g := watched(t, filepath.Join(t.TempDir(), "pins.json"), upstream.Server{Name: "up", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+bridgetest.OneTool("")+"tools/call exit")})
	if said := talk(t, g.Server, hello1, call2); !strings.Contains(said, `"id":2,"error"`) || !strings.Contains(said, "exit code 4; it said: fatal: told to exit") {
		t.Errorf("said %s", said)
	}
	if got := g.outcomes(t, 1); got != "t error" {
		t.Errorf("audited %s", got)
	}
}

// A server that never answers keeps neither other calls nor the client's leaving.
func TestRelayOfAServerThatNeverAnswers(t *testing.T) {
	hostile(t, bridgetest.Greeting+bridgetest.OneTool("")+`ping {"jsonrpc":"2.0","id":$ID,"result":{}}`, nil, func(t *testing.T, cs *mcp.ClientSession) {
		ctx, cancel := context.WithCancel(bridgetest.Patient(t))
		gone := make(chan error, 1)
		go func() {
			_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "t"})
			gone <- err
		}()
		if err := cs.Ping(bridgetest.Patient(t), nil); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-gone; err == nil {
			t.Error("it was answered")
		}
	})
	silent := watched(t, "", upstream.Server{Name: "up", Endpoint: plays("silent")})
	if said := talkUntil(t, silent.Server, 0, hello1); !strings.Contains(said, `"id":1,"error"`) { // the client sends no more
		t.Errorf("said %s", said)
	}
}

// A server that lists nothing in time is told of, and its calls are refused.
func TestRelayOfAListThatNeverComes(t *testing.T) {
	called := map[string]func(*testing.T, *Server) string{
		"pipe": func(t *testing.T, r *Server) string {
			c := bridgetest.NewRaw(t, faces["pipe"](t, r).(*mcp.IOTransport))
			c.Say(hello1)
			c.Until(`"id":1,`)
			c.Say(call2)
			return c.Next()
		},
		"http": func(t *testing.T, r *Server) string {
			h := r.HTTP("", func(*http.Request) access.Holder { return access.Owner("p") })
			defer h.Close()
			return postTo(h, postTo(h, "", hello1).Header().Get(proto.HeaderSession), call2).Body.String()
		},
	}
	for face, call := range called {
		t.Run(face, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := watched(t, filepath.Join(t.TempDir(), "pins.json"), upstream.Server{Name: "up", Endpoint: plays("nobody")})
				g.connect = func(string) *upstream.Link {
					l, _ := answering(func(m wire.Message) bool { return m.Method == proto.MethodInitialize })
					return l
				}
				begun := time.Now()
				if got := call(t, g.Server); !strings.Contains(got, `"id":2,"error"`) || !strings.Contains(got, "did not list its tools: it took too long") {
					t.Error(got)
				}
				if took := time.Since(begun); took != g.export.Server.StartFor() {
					t.Errorf("after %v", took)
				}
			})
		})
	}
}

// Malformed tools of a list are repaired or left out, and the others handed on byte for byte,
// however odd; and a question that a client has not offered to answer is the client's
// to refuse.
func TestRelayOfOddLists(t *testing.T) {
	const odd = `{"name":"a.b/c d","inputSchema":null},{"name":"","inputSchema":{}},{"name":7},{"name":"dup", "n":1.50,"inputSchema":{"type":"object"}},{"name":"dup","n":1.5},{"name":"list","inputSchema":{"type":["object"]}},{"NAME":"folded"},null`
	const kept = `{"name":"a.b/c d","inputSchema":{"type":"object"}},{"name":"dup", "n":1.50,"inputSchema":{"type":"object"}},{"name":"list","inputSchema":{"type":"object"}}`
	script := bridgetest.Greeting + `tools/list {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"your password?"}}
tools/list {"jsonrpc":"2.0","id":$ID,"result":{"tools":[` + odd + `]}}
` + bridgetest.ToolDone
	g := watched(t, filepath.Join(t.TempDir(), "pins.json"), upstream.Server{Name: "up", Endpoint: plays("script", "SCRIPT="+script)})
	said := talk(t, g.Server, hello1, `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
	if !strings.Contains(said, `"tools":[`+kept+`]`) || !strings.Contains(said, `"method":"elicitation/create"`) {
		t.Errorf("said %s", said)
	}
	for _, name := range []string{"a.b/c d", "list"} {
		g.ended = make(chan struct{}, 100)
		if said := talk(t, g.Server, hello1, strings.Replace(call2, `"t"`, string(jsonscan.AppendString(nil, name)), 1)); !strings.Contains(said, `"done"`) {
			t.Errorf("%s: %s", name, said)
		}
	}
}
