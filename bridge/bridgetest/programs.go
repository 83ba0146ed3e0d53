package bridgetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// PlayVar is the variable that turns a test's binary into one of the servers below.
const PlayVar = "BRIDGE_TEST_PLAYS"

// Main is the TestMain of a package whose tests start their own binary as a server.
func Main(m *testing.M) {
	role := os.Getenv(PlayVar)
	if role == "" {
		os.Exit(m.Run())
	}
	play(role)
	leave(0)
}

// leave ends a server at once. With os.Exit, and at main's end, the race detector sleeps for a
// second first, in each of several hundred processes.
func leave(code int) { syscall.Exit(code) }

func play(role string) {
	switch role {
	case "sdk":
		fmt.Fprintln(os.Stderr, "sdk server is up")
		if err := SDKServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	case "described":
		var tools map[string]string
		if err := json.Unmarshal([]byte(os.Getenv("TOOLS")), &tools); err != nil {
			panic(err)
		}
		DescribedServer(tools).Run(context.Background(), &mcp.StdioTransport{}) //nolint:errcheck // it ends with its input
	case "silent":
		bufio.NewReader(os.Stdin).WriteTo(os.Stderr)
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot find the license file")
		leave(3)
	case "script":
		script()
	case "repeats":
		repeats()
	}
}

// repeats offers a tool t that answers with a text of SIZE bytes.
func repeats() {
	size, _ := strconv.Atoi(os.Getenv("SIZE"))
	answer := `{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}`
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := answer
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"repeats","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// script answers each method according to the variable SCRIPT: lines of METHOD, a space, and one
// line to print, in which $ID is the request's id, $TOKEN its progress token, and $REASON that of
// a cancellation. "exit" ends the program. METHOD@CURSOR is the page after a cursor, METHOD#2 the
// second request of that method. A response of ours has the METHOD answer, and $ERROR is its
// error, $RESULT its result; $BEFORE is the id of the message before. "flood", "pages", "storm", "noise", "big" and
// "huge" print what their names suggest.
func script() {
	var replies [][2]string
	for line := range strings.Lines(os.Getenv("SCRIPT")) {
		method, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		replies = append(replies, [2]string{method, text})
	}
	times := map[string]int{}
	var before json.RawMessage
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Cursor          string
				ProtocolVersion json.RawMessage
				Reason          string
				Meta            struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
			Error, Result json.RawMessage
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		if m.Method == "" {
			m.Method = "answer"
		}
		times[m.Method]++
		asked := m.Method
		for _, name := range []string{m.Method + string(m.Params.ProtocolVersion), fmt.Sprintf("%s#%d", m.Method, times[m.Method]), m.Method + "@" + m.Params.Cursor} {
			if slices.ContainsFunc(replies, func(r [2]string) bool { return r[0] == name }) {
				asked = name
			}
		}
		for _, r := range replies {
			method, text := r[0], r[1]
			if method != asked {
				continue
			}
			switch {
			case text == "exit":
				fmt.Fprintln(os.Stderr, "fatal: told to exit")
				leave(4)
			case text == "flood":
				w := bufio.NewWriter(os.Stdout)
				for i := range 10000 {
					fmt.Fprintf(
						w,
						`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":10000}}`+"\n",
						m.Params.Meta.ProgressToken,
						i+1,
					)
				}
				w.Flush()
			case text == "pages": // 50 of 100 tools each
				at, _ := strconv.Atoi(m.Params.Cursor)
				var tools []string
				for i := range 100 {
					tools = append(
						tools,
						fmt.Sprintf(
							`{"name":"t%d","description":"number %[1]d","inputSchema":{"type":"object"}}`,
							100*at+i,
						),
					)
				}
				next := ""
				if at < 49 {
					next = fmt.Sprintf(`,"nextCursor":"%d"`, at+1)
				}
				fmt.Printf(
					`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]%s}}`+"\n",
					m.ID,
					strings.Join(tools, ","),
					next,
				)
				fmt.Fprintln(os.Stderr, "asked for a page")
			case text == "storm":
				w := bufio.NewWriter(os.Stdout)
				for range 1000 {
					fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				}
				w.Flush()
			case text == "noise":
				for i := range 10000 {
					fmt.Fprintf(os.Stderr, "%d %s\n", i, strings.Repeat("noise ", 20))
				}
			case text == "big":
				fmt.Printf(
					`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s END"}]}}`+"\n",
					m.ID,
					strings.Repeat("0123456789", 2<<20),
				)
			case text == "huge": // over the limit of one message; the id is last, as the official TypeScript SDK has it
				fmt.Printf(
					`{"result":{"content":[{"type":"text","text":"%s"}]},"jsonrpc":"2.0","id":%s}`+"\n",
					strings.Repeat("0123456789", 13<<19),
					m.ID,
				)
			default:
				fmt.Println(strings.NewReplacer("$ID", string(m.ID), "$BEFORE", string(before), "$REASON", m.Params.Reason, "$ERROR", string(m.Error), "$RESULT", string(m.Result)).Replace(text))
			}
		}
		before = m.ID
	}
}

// Place describes a server in the same form as upstream, whose own tests use this package.
type Place struct {
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string
	SSE     bool
}

// Program returns a server of this file, with more variables in its environment.
func Program(role string, env ...string) Place {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	given := map[string]string{PlayVar: role}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		given[name] = value
	}
	return Place{Command: self, Env: given}
}
