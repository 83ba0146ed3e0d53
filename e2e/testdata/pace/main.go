// Pace is an ACP agent for measurements. A prompt "pace N MS" is answered with N updates, one every
// MS milliseconds, whose text is the time at which each was sent, in nanoseconds; "flat N SIZE" with
// N updates of SIZE characters at once.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Prompt []struct{ Text string }
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`
		case "session/new":
			result = `{"sessionId":"s"}`
		case "session/prompt":
			prompt(out, m.Params.Prompt[len(m.Params.Prompt)-1].Text)
			result = `{"stopReason":"end_turn"}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		out.Flush()
	}
}

func prompt(out *bufio.Writer, text string) {
	var what string
	var n, size int
	fmt.Sscan(text, &what, &n, &size)
	chunk := strings.Repeat("x", size)
	for range n {
		if what == "pace" {
			time.Sleep(time.Duration(size) * time.Millisecond)
			chunk = fmt.Sprintf("%d ", time.Now().UnixNano())
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`+"\n", chunk)
		if what == "pace" {
			out.Flush()
		}
	}
}
