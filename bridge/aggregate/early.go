package aggregate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// bypass connects a client of the early dialect to our agent alone, and passes messages on as
// they are, because the answers of that dialect have another form. Other clients do not use it.
type bypass struct {
	mu    sync.Mutex // guards the fields below
	agent AgentConn  // of such a client without a pipe; nil: the client speaks a later one
	begun bool       // a message has come without a pipe
}

// early returns the bypass of a new client.
func early() *bypass { return new(bypass) }

// serve serves a client of the early dialect over its pipe, until that has ended. For another
// client it returns false and the whole pipe, as soon as the first message has arrived.
func (b *bypass) serve(
	ctx context.Context, c *caller, in io.ReadCloser, out io.WriteCloser,
) (io.ReadCloser, bool, error) {
	stop := context.AfterFunc(ctx, func() { in.Close() })
	r, begins := readAhead(in)
	stop()
	if !begins {
		return r, false, nil
	}
	return nil, true, c.agg.agent.ServeFor(ctx, c.of.Principal, r, out, nil)
}

// take handles a message of a client without a pipe, if the client speaks the early dialect.
func (b *bypass) take(ctx context.Context, c *caller, m wire.Message, send wire.Send) bool {
	agent := b.connected(ctx, c, m, send)
	if agent == nil {
		return false
	}
	agent.Send(decoded(m))
	return true
}

// connected returns the agent's connection to a client of the early dialect, which begins with the
// first message; nil: the client speaks a later one.
func (b *bypass) connected(ctx context.Context, c *caller, m wire.Message, send wire.Send) AgentConn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent == nil && !b.begun && m.Method == proto.MethodInitialize && numbered(m.Params) {
		conn := c.agg.agent.Connect(ctx, c.of, func(m proto.Message) { send(enveloped(m), nil) })
		b.agent = conn
		c.owned.Go(func() {
			<-ctx.Done()
			conn.Close()
		})
	}
	b.begun = true
	return b.agent
}

// works reports whether a turn runs for a client of the early dialect without a pipe.
func (b *bypass) works() bool {
	b.mu.Lock()
	agent := b.agent
	b.mu.Unlock()
	return agent != nil && agent.Works()
}

// readAhead reports whether the first message on a pipe begins the early dialect, and returns the
// whole pipe.
func readAhead(in io.ReadCloser) (io.ReadCloser, bool) {
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	for n := 1; ; n = r.Buffered() + 1 {
		_, err := r.Peek(n)
		line, _ = r.Peek(r.Buffered())
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
			break
		}
		if err != nil { // the next reader gets it too
			break
		}
	}
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	begins := json.Unmarshal(line, &m) == nil && m.Method == proto.MethodInitialize && numbered(m.Params)
	return &lookahead{r, in}, begins
}

// lookahead is a stream of which a part was read ahead.
type lookahead struct {
	io.Reader
	io.Closer
}

// numbered reports whether an initialize names its version by a number, as the early dialect
// does.
func numbered(params json.RawMessage) bool {
	for name, value := range wire.Members(params) {
		if string(name) == "protocolVersion" {
			return len(value) > 0 && bytes.IndexByte([]byte("-0123456789"), value[0]) >= 0
		}
	}
	return false
}
