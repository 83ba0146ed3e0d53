package aggregate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/access"
)

// standIn is an Agent that is no more than a server of the SDK's.
type standIn struct {
	works func() bool                               // whether a turn runs; nil: none ever does
	early func(io.ReadCloser, io.WriteCloser) error // serves the early dialect; nil: the server does
}

func (a standIn) ServeFor(ctx context.Context, p core.Principal, in io.ReadCloser, out io.WriteCloser, works *wire.Works) error {
	if a.works != nil {
		works.Set(a.works)
	}
	if a.early != nil {
		return a.early(in, out)
	}
	err := agentServer(ctx, p).Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	in.Close()
	out.Close()
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

func (a standIn) Connect(ctx context.Context, of access.Holder, hear func(proto.Message)) AgentConn {
	c := &standInConn{a: a, hear: hear, in: make(chan jsonrpc.Message), gone: make(chan struct{})}
	ss, err := agentServer(ctx, of.Principal).Connect(ctx, c, nil)
	if err != nil {
		panic(err)
	}
	c.ss = ss
	return c
}

// standInConn is a connection to it: a transport of the SDK's.
type standInConn struct {
	a    standIn
	ss   *mcp.ServerSession
	hear func(proto.Message)
	in   chan jsonrpc.Message
	gone chan struct{}
	once sync.Once
}

func (c *standInConn) Send(m proto.Message) {
	e := wire.AppendMessage(nil, enveloped(m))
	msg, err := jsonrpc.DecodeMessage(e)
	if err != nil {
		panic(err)
	}
	select {
	case c.in <- msg:
	case <-c.gone:
	}
}

func (c *standInConn) Works() bool { return c.a.works != nil && c.a.works() }

func (c *standInConn) Connect(context.Context) (mcp.Connection, error) { return transport{c}, nil }

func (c *standInConn) Close() {
	transport{c}.Close()
	c.ss.Wait() //nolint:errcheck // it ends as it likes
}

type transport struct{ *standInConn }

func (c transport) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.in:
		return m, nil
	case <-c.gone:
		return nil, io.EOF
	}
}

func (c transport) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	var e struct{ ID, Params, Result, Error json.RawMessage }
	var method struct{ Method string }
	if err := errors.Join(json.Unmarshal(b, &e), json.Unmarshal(b, &method)); err != nil {
		return err
	}
	c.hear(proto.Message{ID: e.ID, Method: method.Method, Params: e.Params, Result: e.Result, Error: e.Error})
	return nil
}

func (c transport) Close() error {
	c.once.Do(func() { close(c.gone) })
	return nil
}

func (c transport) SessionID() string { return "" }
