package edge

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// NewLocal returns a link to a client of this process, without bytes: hear receives the messages
// to the client, and [Link.Take] takes the client's. hear must not block.
func NewLocal(hear func(proto.Message), o Options) *Link {
	l := newLink(o)
	l.hear = hear
	return l
}

// Take passes a message of a client of this process to the SDK at once. After the end of the link
// messages are dropped.
func (l *Link) Take(ctx context.Context, p proto.Message) {
	m := wire.Message{ID: p.ID, Method: p.Method, Params: p.Params, Result: p.Result, Error: p.Error}
	var err error
	switch m.Kind() {
	case wire.Response:
		err = l.answered(ctx, m)
	case wire.Notification:
		err = l.notified(ctx, m)
	case wire.Request:
		err = l.request(ctx, m, nil)
	}
	if err != nil && m.Kind() == wire.Request {
		_ = l.fault(nil, 0, m.ID, wire.ErrClosed) // writing to a client of this process never fails
	}
}

// say sends the client a request or a notification of the SDK.
func (l *Link) say(m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && l.hear != nil {
		said := proto.Message{Method: r.Method, Params: r.Params}
		if r.IsCall() {
			said.ID = encoded(r.ID.Raw())
		}
		l.hear(said)
		return nil
	}
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return l.out.Put(b)
}
