package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	proto "dragoman/adapters/proto/mcp"
)

// answerWriter makes what the SDK writes suit the client, as link.answer does over a pipe: it takes content that is null out of
// results that ask for input, gives plain errors a code, and answers the early dialect in its own shapes. The SDK writes a
// whole event, or a whole body, at once.
type answerWriter struct {
	http.ResponseWriter
	method string          // of the request; "": it is no call
	early  json.RawMessage // the early dialect's version; nil: another one
	begins func(id string) // notes the session that the request has begun, before the client knows of it; nil: it has one
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w *answerWriter) Write(b []byte) (int, error) {
	if id := w.Header().Get(proto.HeaderSession); id != "" && w.begins != nil {
		w.begins(id)
		w.begins = nil
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

// events changes the messages of an event stream; an event that the dialect does not know is left out.
func (w *answerWriter) events(b []byte) []byte {
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

// message changes one message; nil: the dialect does not know it.
func (w *answerWriter) message(b []byte) []byte {
	if w.early == nil && !bytes.Contains(b, []byte(`"error":`)) && !bytes.Contains(b, []byte(`"content":null`)) {
		return b
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(b, &m) != nil {
		return b
	}
	var method string
	if raw, ok := m["method"]; ok {
		if w.early != nil && m["id"] == nil && json.Unmarshal(raw, &method) == nil && !earlyNotification(method) {
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
		said, plain := plainFault(w.method, &err)
		if !plain && err.Code != 0 && w.early == nil {
			return b
		}
		return appendError(nil, id, said, w.early != nil)
	}
	result := m["result"]
	switch {
	case w.early != nil:
		result = earlyResult(w.method, w.early, result)
	case w.method == proto.MethodCallTool:
		result = withoutContent(result)
	}
	return append(append(append(appendHead(nil, id), `,"result":`...), result...), '}')
}
