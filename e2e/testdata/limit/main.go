// Command limit is an agent without anything: it speaks ACP, asks a model behind HTTP and passes its
// text on. It keeps no session, asks nobody and checks nothing: what any agent between an editor and a
// model costs at the least.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: limit URL, that of an OpenAI-compatible service")
	}
	a := &agent{url: os.Args[1] + "/chat/completions", out: bufio.NewWriterSize(os.Stdout, 64<<10)}
	if err := a.serve(); err != nil {
		log.Fatal(err)
	}
}

type agent struct {
	url     string
	last    int // session
	prompts sync.WaitGroup

	mu  sync.Mutex // guards the field below
	out *bufio.Writer
}

type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		SessionID string
		Prompt    []struct{ Text string }
	}
}

// serve answers requests until the input ends.
func (a *agent) serve() error {
	defer a.prompts.Wait()
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil // the client has left
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		switch r.Method {
		case "initialize":
			a.reply(r.ID, `{"protocolVersion":1,"agentCapabilities":{}}`)
		case "session/new":
			a.last++
			a.reply(r.ID, fmt.Sprintf(`{"sessionId":"s%d"}`, a.last))
		case "session/prompt":
			a.prompts.Go(func() {
				if err := a.prompt(r); err != nil {
					log.Print(err)
				}
				a.reply(r.ID, `{"stopReason":"end_turn"}`)
			})
		}
	}
}

func (a *agent) reply(id json.RawMessage, result string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	a.out.Flush() //nolint:errcheck // a client that has left is seen by its input
}

// prompt passes the model's text on. What has been encoded is written when nothing more has arrived.
func (a *agent) prompt(r request) error {
	var text strings.Builder
	for _, p := range r.Params.Prompt {
		text.WriteString(p.Text)
	}
	body, err := json.Marshal(map[string]any{"stream": true, "messages": []any{map[string]any{"role": "user", "content": text.String()}}})
	if err != nil {
		return err
	}
	resp, err := http.Post(a.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	head := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`, r.Params.SessionID)
	in := bufio.NewReaderSize(resp.Body, 16<<10)
	var buf []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil || bytes.HasPrefix(line, []byte("data: [DONE]")) {
			return a.write(buf)
		}
		if piece := contentOf(line); len(piece) > 0 {
			buf = append(append(append(buf, head...), piece...), "\"}}}}\n"...)
		}
		if in.Buffered() == 0 && len(buf) > 0 || len(buf) > 32<<10 {
			if err := a.write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
}

func (a *agent) write(b []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.out.Write(b); err != nil {
		return err
	}
	return a.out.Flush()
}

// contentOf returns the text of a chunk as it stands there: it is JSON on both sides.
func contentOf(line []byte) []byte {
	const name = `"content":"`
	_, rest, ok := bytes.Cut(line, []byte(name))
	if !ok {
		return nil
	}
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			return rest[:i]
		}
	}
	return nil
}
