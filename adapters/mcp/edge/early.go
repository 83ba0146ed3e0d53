package edge

import (
	"encoding/json"
	"strings"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// A client of the first days has a number for a version; one spoke it before versions were
// dates. To the SDK, and to all that lies behind, it is a client of the oldest version with
// a date. Its answers suit both: what a client of 2024-11-05 looks for stays in them. What
// it has a name of its own for, it says in that, and of our notifications it gets those that it
// knows or has asked for. That a version nobody knows becomes the one that will be answered
// is negotiation, and none of this.

// Filter rewrites the messages of one client. A nil one leaves all as it is.
type Filter struct {
	version   json.RawMessage // the client's, a number
	templates any             // the list of resource templates, which has no method of its own
}

// begins looks at the parameters of initialize, and makes them those of a version that the
// SDK knows. The filter is the client's; nil: it needs none.
func begins(params json.RawMessage, templates any) (json.RawMessage, *Filter) {
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return params, nil
	}
	raw := p["protocolVersion"]
	var name string
	var f *Filter
	switch {
	case len(raw) > 0 && strings.IndexByte("-0123456789", raw[0]) >= 0:
		f, name = &Filter{raw, templates}, proto.Oldest
	case json.Unmarshal(raw, &name) != nil || proto.IsLegacy(name):
		return params, nil
	default:
		name = proto.Legacy
	}
	p["protocolVersion"] = encoded(name)
	return encoded(p), f
}

// BeginsBody does to a whole initialize what begins does to its parameters.
func BeginsBody(body []byte, templates any) ([]byte, *Filter) {
	var m map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil {
		return body, nil
	}
	var f *Filter
	m["params"], f = begins(m["params"], templates)
	return encoded(m), f
}

// heard is the name that a notification of the client's has today.
func (f *Filter) heard(method string) string {
	if f != nil && method == proto.NoteEarlyInitialized {
		return proto.NoteInitialized
	}
	return method
}

// Body does to a whole notification what heard does to its method.
func (f *Filter) Body(m wire.Message, body []byte) []byte {
	if name := f.heard(m.Method); m.ID == nil && name != m.Method {
		return wire.Edit(body, wire.Set("method", encoded(name)))
	}
	return body
}

// sends reports whether the client gets a notification of ours: it never looks for lists
// that change.
func (f *Filter) sends(method string) bool {
	switch method {
	case proto.NoteProgress, proto.NoteMessage, proto.NoteResourceUpdated:
		return true
	}
	return f == nil
}

// fault is the code and the data of an error: the client knows one code, and no data.
func (f *Filter) fault(code int64, data json.RawMessage) (int64, json.RawMessage) {
	if f == nil {
		return code, data
	}
	return proto.CodeClosed, nil
}

// earlyCapabilities are all that there were.
var earlyCapabilities = json.RawMessage(
	`{"experimental":{},"logging":{},"prompts":{},"resources":{"subscribe":true},"tools":{}}`,
)

// result adds to a result what the client looks for.
func (f *Filter) result(method string, result json.RawMessage) json.RawMessage {
	if f == nil {
		return result
	}
	switch method {
	case proto.MethodSubscribe, proto.MethodUnsubscribe, proto.MethodSetLevel:
		return json.RawMessage("null")
	}
	var r map[string]json.RawMessage
	if json.Unmarshal(result, &r) != nil {
		return result
	}
	delete(r, "ttlMs") // what the SDK adds at every version
	delete(r, "cacheScope")
	switch method {
	case proto.MethodInitialize:
		r["protocolVersion"], r["capabilities"] = f.version, earlyCapabilities
		var info map[string]json.RawMessage
		if json.Unmarshal(r["serverInfo"], &info) == nil {
			delete(info, "title")
			r["serverInfo"] = encoded(info)
		}
		delete(r, "instructions")
	case proto.MethodListResources:
		r["resourceTemplates"] = encoded(f.templates)
	case proto.MethodListPrompts:
		r["prompts"] = described(r["prompts"])
	case proto.MethodGetPrompt:
		r["prompt"] = joined(r["messages"])
	case proto.MethodCallTool:
		r["output"] = joined(r["content"])
	case proto.MethodReadResource:
		r["contents"] = typed(r["contents"])
	}
	return encoded(r)
}

// joined is the text of a list of contents, or of messages with a content each.
func joined(list json.RawMessage) json.RawMessage {
	type content struct {
		Text    string `json:"text"`
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	var items []content
	_ = json.Unmarshal(list, &items) // what has no text adds none
	texts := make([]string, 0, len(items))
	for _, c := range items {
		if t := c.Text + c.Content.Text; t != "" {
			texts = append(texts, t)
		}
	}
	return encoded(strings.Join(texts, "\n"))
}

// described fills in what the client shows of every prompt and each of its arguments.
func described(list json.RawMessage) json.RawMessage {
	var prompts []map[string]json.RawMessage
	if json.Unmarshal(list, &prompts) != nil {
		return list
	}
	for _, p := range prompts {
		args := []map[string]json.RawMessage{}
		_ = json.Unmarshal(p["arguments"], &args) // without any there are none
		for _, a := range args {
			if a["description"] == nil {
				a["description"] = json.RawMessage(`""`)
			}
			if a["required"] == nil {
				a["required"] = json.RawMessage("false")
			}
		}
		p["arguments"] = encoded(args)
	}
	return encoded(prompts)
}

// typed adds a contentType to each of a list of contents.
func typed(list json.RawMessage) json.RawMessage {
	var items []map[string]json.RawMessage
	if json.Unmarshal(list, &items) != nil {
		return list
	}
	for _, c := range items {
		kind := "text"
		if c["blob"] != nil {
			kind = "blob"
		}
		c["contentType"] = encoded(kind)
	}
	return encoded(items)
}
