package ecatest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// message is a message in either direction.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *fault          `json:"error,omitempty"`
}

type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// read reads a message behind its headers.
func read(in *bufio.Reader) (m message, err error) {
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return m, err
			}
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

// output writes messages.
type output struct {
	mu sync.Mutex // guards the stream
	w  io.Writer
}

func (o *output) raw(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = io.WriteString(o.w, text) // the client has left
}

func (o *output) write(m message) {
	m.Version = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	o.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
}

func (o *output) notify(method string, params any) {
	o.write(message{Method: method, Params: toJSON(params)})
}

func toJSON(v any) json.RawMessage {
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
