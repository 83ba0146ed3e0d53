package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/creachadair/jrpc2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
)

// answer writes the SDK's answer under the client's own id. A call that the client has cancelled
// is not answered (Basic, Cancellation).
func (l *Link) answer(r *jsonrpc.Response) error {
	c := l.take(r.ID)
	if c == nil {
		return nil
	}
	defer l.left()
	if c.Canceled() {
		return l.put(c.in, c.slot, nil)
	}
	if r.Error != nil {
		if c.method == proto.MethodInitialize {
			l.refusedHello(c)
		}
		fault, _ := plainFault(c.method, r.Error)
		return l.fault(c.in, c.slot, c.raw, fault)
	}
	result, filter := r.Result, l.filtered()
	switch {
	case filter != nil:
		result = filter.result(c.method, result)
	case c.method == proto.MethodInitialize:
		l.negotiated(result)
	case c.lane == l.modern && c.method == proto.MethodCallTool:
		result = withoutContent(result)
	case c.method == proto.MethodListen:
		var r, meta map[string]json.RawMessage
		if json.Unmarshal(result, &r) == nil && json.Unmarshal(r["_meta"], &meta) == nil && meta != nil {
			result = withSubscription(r, meta, c.raw)
		}
	}
	if l.hear != nil {
		l.hear(proto.Message{ID: c.raw, Result: result})
		return nil
	}
	b := append(appendHead(nil, c.raw), `,"result":`...)
	return l.put(c.in, c.slot, append(wire.AppendRaw(b, result), '}'))
}

// withoutContent removes the content, which the SDK writes as null, from a result that asks for
// input (2026-07-28, Multi round-trip requests): such a result has none.
func withoutContent(result json.RawMessage) json.RawMessage {
	var r map[string]json.RawMessage
	if !bytes.Contains(result, []byte(`"`+proto.ResultInputRequired+`"`)) ||
		json.Unmarshal(result, &r) != nil || string(r["content"]) != "null" {
		return result
	}
	delete(r, "content")
	return encoded(r)
}

// encoded encodes a value that was read from JSON, with texts and structures of our own: it never
// fails.
func encoded(v any) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}

// negotiated records the version that an initialize has led to.
func (l *Link) negotiated(result json.RawMessage) {
	var r struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(result, &r) != nil {
		return
	}
	l.mu.Lock()
	l.version = r.Version
	l.mu.Unlock()
}

// refuse answers a message that never became a call; an id of nil is null.
func (l *Link) refuse(in *batch, id json.RawMessage, err error) {
	l.fault(in, in.begin(), id, err) //nolint:errcheck // nobody reads after the connection has ended
}

// fault answers with an error.
func (l *Link) fault(in *batch, at int, id json.RawMessage, err error) error {
	filter := l.filtered()
	if l.hear != nil {
		l.hear(proto.Message{ID: id, Error: appendFault(nil, err, filter)})
		return nil
	}
	return l.put(in, at, AppendError(nil, id, err, filter))
}

// put queues an answer, or adds it to its batch; a nil one only counts as one of the batch's
// answers.
func (l *Link) put(in *batch, at int, answer []byte) error {
	if in != nil {
		answer = in.end(at, answer)
	}
	if answer == nil {
		return nil
	}
	return l.out.Put(answer)
}

func appendHead(dst []byte, id json.RawMessage) []byte {
	return wire.AppendRaw(append(dst, `{"jsonrpc":"2.0","id":`...), id)
}

// AppendError appends a whole error answer.
func AppendError(dst []byte, id json.RawMessage, err error, f *Filter) []byte {
	return append(appendFault(append(appendHead(dst, id), `,"error":`...), err, f), '}')
}

// appendFault appends an error object. The SDK gives plain errors the code 0; they are about
// requests that are invalid in the state of the connection.
func appendFault(dst []byte, err error, f *Filter) []byte {
	code, message, data := int64(jrpc2.InvalidRequest), err.Error(), json.RawMessage(nil)
	if e, ok := errors.AsType[*jrpc2.Error](err); ok {
		code, message, data = int64(e.Code), e.Message, e.Data
	} else if b, err := jsonrpc.EncodeMessage(&jsonrpc.Response{Error: err}); err == nil {
		var m struct {
			Error jsonrpc.Error `json:"error"`
		}
		if json.Unmarshal(b, &m) == nil && m.Error.Code != 0 {
			code, message, data = m.Error.Code, m.Error.Message, m.Error.Data
		}
	}
	code, data = f.fault(code, data)
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, code, 10)
	dst = jsonscan.AppendString(append(dst, `,"message":`...), message)
	if len(data) > 0 {
		dst = wire.AppendRaw(append(dst, `,"data":`...), data)
	}
	return append(dst, '}')
}

// batch collects the answers to one batch, which are sent as one array after the last one
// (2025-03-26, Base protocol, Batching), in the order of the requests. A nil batch is a single
// message.
type batch struct {
	mu    sync.Mutex // guards the fields below
	open  int        // the number of answers still missing
	slots [][]byte
}

// begin adds one more expected answer, and returns its index.
func (b *batch) begin() int {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open++
	b.slots = append(b.slots, nil)
	return len(b.slots) - 1
}

// end stores an answer at its index; a nil one is left out. The last call returns the whole
// array, unless it is empty.
func (b *batch) end(at int, answer []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slots[at] = answer
	if b.open--; b.open > 0 {
		return nil
	}
	given := slices.DeleteFunc(b.slots, func(s []byte) bool { return s == nil })
	if len(given) == 0 {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(given, []byte{','})...), ']')
}

// batch handles the messages of an array, one after the other. Only 2025-03-26 has batches.
func (l *Link) batch(ctx context.Context, b []byte) error {
	l.mu.Lock()
	version := l.version
	l.mu.Unlock()
	var list []json.RawMessage
	switch err := json.Unmarshal(b, &list); {
	case version != proto.Batches:
		l.refuse(nil, nil, jrpc2.Errorf(jrpc2.InvalidRequest, "batches are not part of this protocol version"))
		return nil
	case err != nil || len(list) == 0 || len(list) > maxBatch:
		l.refuse(nil, nil, jrpc2.Errorf(jrpc2.InvalidRequest, "a batch has 1 to %d messages", maxBatch))
		return nil
	}
	all := new(batch)
	mine := all.begin() // so that it does not end before the last message has been read
	for _, m := range list {
		if err := l.message(ctx, bytes.TrimSpace(m), all); err != nil {
			return err
		}
	}
	return l.put(all, mine, nil)
}
