package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// message is a JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// failure is a JSON-RPC error.
type failure struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (f *failure) Error() string { return fmt.Sprintf("error %d: %s", f.Code, f.Message) }

// Codes of failures.
const (
	codeInvalid  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeAuth     = -32000
	codeNotFound = -32002
)

// peer is the connection with the client.
type peer struct {
	out   io.Writer
	token chan struct{} // held by who writes

	mu      sync.Mutex // guards the fields below
	last    int
	pending map[string]chan message
}

func newPeer(out io.Writer) *peer {
	return &peer{out: out, token: make(chan struct{}, 1), pending: map[string]chan message{}}
}

// raw writes bytes as they are. It waits for who writes, and for the client to read.
func (p *peer) raw(ctx context.Context, b []byte) error {
	select {
	case p.token <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.token }()
	_, err := p.out.Write(b)
	return err
}

func (p *peer) send(ctx context.Context, m message) error {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return p.raw(ctx, append(b, '\n'))
}

func (p *peer) notify(ctx context.Context, method string, params any) error {
	return p.send(ctx, message{Method: method, Params: encode(params)})
}

// request sends a request and returns its result. If ctx ends first it returns that at once, and a
// response is dropped.
func (p *peer) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	p.mu.Lock()
	p.last++
	id := strconv.Itoa(p.last)
	answered := make(chan message, 1)
	p.pending[id] = answered
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.pending, id)
		p.mu.Unlock()
	}()
	if err := p.send(ctx, message{ID: json.RawMessage(id), Method: method, Params: encode(params)}); err != nil {
		return nil, err
	}
	select {
	case m := <-answered:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answered takes a response of the client.
func (p *peer) answered(m message) {
	p.mu.Lock()
	waiting := p.pending[string(m.ID)]
	delete(p.pending, string(m.ID))
	p.mu.Unlock()
	if waiting != nil {
		waiting <- m
	}
}

// respond answers a request of the client.
func (p *peer) respond(ctx context.Context, id json.RawMessage, result any, err error) error {
	m := message{ID: id}
	if err == nil {
		m.Result = encode(result)
		return p.send(ctx, m)
	}
	f, ok := err.(*failure) //nolint:errorlint // failures are returned as they are
	if !ok {
		f = &failure{Code: codeInternal, Message: err.Error()}
	}
	m.Error = f
	return p.send(ctx, m)
}

// encode returns a value as JSON; nil as an empty object.
func encode(v any) json.RawMessage {
	if v == nil {
		return json.RawMessage(`{}`)
	}
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(err.Error())
	}
	return b
}

// object is a JSON object.
type object = map[string]any
