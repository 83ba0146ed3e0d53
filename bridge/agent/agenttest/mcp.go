package agenttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// mcpServer is an MCP server that the client names when it opens a session. It is connected to when
// a tool is wanted first.
type mcpServer struct {
	Type    string    `json:"type,omitempty"`
	Name    string    `json:"name"`
	Command string    `json:"command,omitempty"`
	Args    []string  `json:"args,omitempty"`
	Env     []mcpPair `json:"env,omitempty"`
	URL     string    `json:"url,omitempty"`
	Headers []mcpPair `json:"headers,omitempty"`

	once  sync.Once
	token chan struct{}

	// The fields below belong to who has the token.
	begun   bool
	last    int
	session string // of HTTP
	in      io.WriteCloser
	out     *bufio.Reader

	mu      sync.Mutex // guards the field below
	program func()     // ends the program
}

// mcpPair is a variable or a header.
type mcpPair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// call sends a request and returns its result. The first one is preceded by initialize.
func (m *mcpServer) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	m.once.Do(func() { m.token = make(chan struct{}, 1) })
	select {
	case m.token <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-m.token }()
	if !m.begun {
		if err := m.begin(ctx); err != nil {
			return nil, fmt.Errorf("MCP server %s: %w", m.Name, err)
		}
		m.begun = true
	}
	return m.exchange(ctx, method, params)
}

func (m *mcpServer) begin(ctx context.Context) error {
	if m.URL == "" {
		program := exec.Command(m.Command, m.Args...)
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, Variable+"=") {
				program.Env = append(program.Env, v)
			}
		}
		for _, v := range m.Env {
			program.Env = append(program.Env, v.Name+"="+v.Value)
		}
		program.Stderr = os.Stderr
		in, err := program.StdinPipe()
		if err != nil {
			return err
		}
		out, err := program.StdoutPipe()
		if err != nil {
			return err
		}
		if err := program.Start(); err != nil {
			return err
		}
		m.in, m.out = in, bufio.NewReader(out)
		m.mu.Lock()
		m.program = func() {
			_ = in.Close()
			_ = program.Wait() // what it ended with does not matter
		}
		m.mu.Unlock()
	}
	_, err := m.exchange(ctx, "initialize", object{"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "scripted", "version": "1.0.0"}})
	if err != nil {
		return err
	}
	_, err = m.exchange(ctx, "notifications/initialized", nil)
	return err
}

// exchange sends a message and returns the result of a request.
func (m *mcpServer) exchange(ctx context.Context, method string, params any) (json.RawMessage, error) {
	msg := message{Version: "2.0", Method: method, Params: encode(params)}
	if !strings.HasPrefix(method, "notifications/") {
		m.last++
		msg.ID = json.RawMessage(strconv.Itoa(m.last))
	}
	if m.URL == "" {
		if _, err := m.in.Write(append(encode(msg), '\n')); err != nil || msg.ID == nil {
			return nil, err
		}
		return m.await(msg.ID, m.out, m.in)
	}
	return m.post(ctx, msg)
}

// await reads up to the response of a request. What the server wants to know is answered at w.
func (m *mcpServer) await(id json.RawMessage, r *bufio.Reader, w io.Writer) (json.RawMessage, error) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data:"))
		var answer message
		if json.Unmarshal(line, &answer) != nil {
			continue // a comment or another field of an event stream
		}
		switch {
		case answer.Method != "" && answer.ID != nil && w != nil:
			reply := message{Version: "2.0", ID: answer.ID, Error: &failure{Code: codeMethod, Message: "not supported"}}
			if answer.Method == "ping" {
				reply.Error, reply.Result = nil, json.RawMessage(`{}`)
			}
			if _, err := w.Write(append(encode(reply), '\n')); err != nil {
				return nil, err
			}
		case answer.Method == "" && bytes.Equal(answer.ID, id):
			if answer.Error != nil {
				return nil, answer.Error
			}
			return answer.Result, nil
		}
	}
}

// post sends a message over HTTP.
func (m *mcpServer) post(ctx context.Context, msg message) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(encode(msg)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range m.Headers {
		req.Header.Set(h.Name, h.Value)
	}
	if m.session != "" {
		req.Header.Set("Mcp-Session-Id", m.session)
	}
	if msg.Method != "initialize" {
		req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		b, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return nil, fmt.Errorf("%s: %s", res.Status, bytes.TrimSpace(b))
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		m.session = id
	}
	if msg.ID == nil {
		return nil, nil
	}
	body := io.MultiReader(res.Body, strings.NewReader("\n")) // a JSON body may end without a line break
	return m.await(msg.ID, bufio.NewReader(body), nil)
}

// closeServers ends the servers that were started.
func (s *session) closeServers() {
	for _, m := range s.servers {
		m.mu.Lock()
		end := m.program
		m.program = nil
		m.mu.Unlock()
		if end != nil {
			end()
		}
	}
}

// tools lists the names of a server's tools.
func (m *mcpServer) tools(ctx context.Context) (names []string, err error) {
	for cursor := ""; ; {
		params := object{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		result, err := m.call(ctx, "tools/list", params)
		if err != nil {
			return nil, err
		}
		var r struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		if err := json.Unmarshal(result, &r); err != nil {
			return nil, err
		}
		for _, t := range r.Tools {
			names = append(names, t.Name)
		}
		if cursor = r.NextCursor; cursor == "" {
			return names, nil
		}
	}
}

func listMCP(ctx context.Context, t *turn, _ string) error {
	for _, m := range t.s.servers {
		names, err := m.tools(ctx)
		if err != nil {
			return stay(ctx, t, err)
		}
		if err := t.say(ctx, m.Name+": "+strings.Join(names, " ")); err != nil {
			return err
		}
	}
	return nil
}

// callMCP calls a tool of the first server that has it, and says its result as JSON.
func callMCP(ctx context.Context, t *turn, arg string) error {
	name, args, _ := strings.Cut(arg, " ")
	if args == "" {
		args = "{}"
	}
	for _, m := range t.s.servers {
		names, err := m.tools(ctx)
		if err != nil {
			return stay(ctx, t, err)
		}
		for _, n := range names {
			if n != name {
				continue
			}
			result, err := m.call(ctx, "tools/call", object{"name": name, "arguments": json.RawMessage(args)})
			if err != nil {
				return stay(ctx, t, err)
			}
			return t.say(ctx, string(result))
		}
	}
	return t.say(ctx, "no MCP tool "+name)
}

// stay says what went wrong, unless the turn was cancelled.
func stay(ctx context.Context, t *turn, err error) error {
	if errors.Is(err, errCanceled) {
		return err
	}
	return t.say(ctx, err.Error())
}
