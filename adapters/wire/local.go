package wire

import (
	"context"
	"encoding/json"
	"strconv"

	"dragoman/core/jsonscan"
)

// Send receives the output of a connection without a stream. within is the call that the message
// answers or belongs to; nil: it belongs to none. It is called in the order of the messages
// of each call, must not block, and may keep the message.
type Send func(m Message, within *Call)

// NewLocal returns a connection without a stream. It passes its output to send, as decoded
// messages; the peer's messages are passed to [Conn.Take]. It has the same table of requests as
// any other connection, but no bytes, queue or goroutine. Options that concern a stream have no
// effect.
func NewLocal(send Send, o Options) *Conn {
	o.MaxOpen = orDefault(o.MaxOpen, DefaultMaxOpen)
	return &Conn{opts: o, send: send, calls: map[string]*Call{}, asked: map[int64]*Ask{}}
}

// Take handles a valid message of the peer; handle is called for a request or notification, as by
// [Conn.Serve]. key identifies a request for [Conn.CancelRequest] and for the check against
// duplicate ids; it is the id itself, unless several peers share the connection. ctx is the
// connection's: whoever ends it must also call [Conn.End].
func (c *Conn) Take(ctx context.Context, key string, m Message, handle func(*Call)) {
	if m.Kind() == Response {
		c.answered(m, nil)
		return
	}
	c.start(&Call{ID: m.ID, Method: m.Method, Params: m.Params, conn: c, ctx: ctx, key: key}, handle)
}

// End ends a connection without a stream: all our requests fail with ErrClosed.
func (c *Conn) End() { c.release() }

// Key names the call among those that are open on its connection.
func (c *Call) Key() string { return c.key }

// Notify queues a notification that belongs to the call, as [Conn.Notify] does.
func (c *Call) Notify(method string, params any) error {
	return c.conn.notify(method, params, c)
}

// ValidJSON is a JSON text that needs no check, because it was taken from a parsed message or
// made from such texts.
type ValidJSON json.RawMessage

// answerOf returns the answer that appendAnswer appends as a Message.
func answerOf(id json.RawMessage, result any, err error) Message {
	m := Message{ID: id, HasID: true, Versioned: true}
	if err == nil {
		if m.Result, err = textOf(result); err == nil {
			return m
		}
		err = cannotEncode(err)
	}
	m.Result, m.Error = nil, appendError(nil, err)
	return m
}

// textOf returns the text that AppendJSON appends, without a copy of a ValidJSON.
func textOf(v any) (json.RawMessage, error) {
	if t, ok := v.(ValidJSON); ok && len(t) > 0 {
		return json.RawMessage(t), nil
	}
	return AppendJSON(nil, v)
}

// messageOf is a request of ours, or with id 0 a notification.
func messageOf(id int64, method string, params any) (m Message, err error) {
	m = Message{Method: method, Versioned: true}
	if id != 0 {
		m.HasID, m.ID = true, strconv.AppendInt(nil, id, 10)
	}
	if params != nil {
		m.Params, err = textOf(params)
	}
	return m, err
}

// AppendMessage appends a message as a line, without a line feed.
func AppendMessage(dst []byte, m Message) []byte {
	dst = appendHead(dst, false)
	if m.ID != nil || m.Method == "" {
		dst = append(AppendRaw(append(dst, `"id":`...), m.ID), ',')
	}
	switch {
	case m.Method != "":
		dst = jsonscan.AppendString(append(dst, `"method":`...), m.Method)
		if m.Params != nil {
			dst = AppendRaw(append(dst, `,"params":`...), m.Params)
		}
	case m.Error != nil:
		dst = AppendRaw(append(dst, `"error":`...), m.Error)
	default:
		dst = AppendRaw(append(dst, `"result":`...), m.Result)
	}
	return append(dst, '}')
}
