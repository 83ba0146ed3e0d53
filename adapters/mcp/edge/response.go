package edge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/creachadair/jrpc2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// ResponseWriter corrects the SDK's output over HTTP for the client, as a [Link] does over a
// pipe: it removes content that is null from results that ask for input, gives plain errors a
// code, and passes messages through the client's filter. The SDK writes a whole event, or a whole
// body, at once.
type ResponseWriter struct {
	http.ResponseWriter
	Method string  // of the request; "": it is not a call
	Filter *Filter // the client's
	// Begins records the session that the request has begun, before the client knows of it; nil:
	// the request belongs to a session.
	Begins func(id string)
}

// Unwrap is called by http.ResponseController.
func (w *ResponseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w *ResponseWriter) Write(b []byte) (int, error) {
	if id := w.Header().Get(proto.HeaderSession); id != "" && w.Begins != nil {
		w.Begins(id)
		w.Begins = nil
	}
	out := b
	switch kind := w.Header().Get("Content-Type"); {
	case strings.HasPrefix(kind, "text/event-stream"):
		out = w.events(b)
	case strings.HasPrefix(kind, "application/json"):
		out = w.message(b)
	}
	if len(out) > 0 {
		if _, err := w.ResponseWriter.Write(out); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// events rewrites the messages of an event stream; it drops events that the filter does not send.
func (w *ResponseWriter) events(b []byte) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if data = bytes.TrimSpace(data); ok && len(data) > 0 {
			m := w.message(data)
			if m == nil {
				return nil
			}
			line = append(append([]byte("data: "), m...), '\n')
		}
		out = append(out, line...)
	}
	return out
}

// message rewrites one message; nil: the filter does not send it.
func (w *ResponseWriter) message(b []byte) []byte {
	if w.Filter == nil && !bytes.Contains(b, []byte(`"error":`)) && !bytes.Contains(b, []byte(`"content":null`)) {
		return b
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(b, &m) != nil {
		return b
	}
	var method string
	if raw, ok := m["method"]; ok {
		if m["id"] == nil && json.Unmarshal(raw, &method) == nil && !w.Filter.sends(method) {
			return nil
		}
		return b
	}
	id := json.RawMessage(cmp.Or(string(m["id"]), "null"))
	if raw, ok := m["error"]; ok {
		var err jsonrpc.Error
		if json.Unmarshal(raw, &err) != nil {
			return b
		}
		said, plain := plainFault(w.Method, &err)
		if !plain && err.Code != 0 && w.Filter == nil {
			return b
		}
		return AppendError(nil, id, said, w.Filter)
	}
	result := m["result"]
	switch {
	case w.Filter != nil:
		result = w.Filter.result(w.Method, result)
	case w.Method == proto.MethodCallTool:
		result = withoutContent(result)
	}
	return append(append(append(appendHead(nil, id), `,"result":`...), result...), '}')
}

// ParseBody parses a body like a line on a pipe, so that both refuse the same messages. For a
// batch, which the SDK answers, it checks each message and returns an empty Message.
func ParseBody(body []byte) (wire.Message, error) {
	if !bytes.HasPrefix(body, []byte("[")) {
		return wire.Parse(body)
	}
	var all []json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return wire.Message{}, jrpc2.Errorf(jrpc2.ParseError, "not valid JSON: %v", err)
	}
	for _, one := range all {
		m, err := wire.Parse(one)
		if err == nil {
			err = m.CheckID()
		}
		if err != nil {
			return m, err
		}
	}
	return wire.Message{}, nil
}
