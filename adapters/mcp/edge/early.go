package edge

import (
	"encoding/json"
	"strings"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// A client of the early dialect has a number for a version; one spoke it before versions were
// dates. The SDK, and all code behind it, sees a client of the oldest version with a date. Its
// answers suit both: members that a client of 2024-11-05 expects stay in them. Things with
// another name in the dialect get that name, and of our notifications the client receives those
// that it knows or has asked for. Replacing an unknown version by the one that will be answered
// is negotiation, and not a part of this.

// Filter rewrites the messages of one client. A nil one leaves them unchanged.
type Filter struct {
	version   json.RawMessage // the client's, a number
	templates any             // the list of resource templates; the dialect has no method for it
}

// begins checks the parameters of initialize, and turns them into those of a version that the SDK
// knows. The filter is for the client; nil: it needs none.
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

// BeginsBody does the work of begins for a whole initialize.
func BeginsBody(body []byte, templates any) ([]byte, *Filter) {
	var m map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil {
		return body, nil
	}
	var f *Filter
	m["params"], f = begins(m["params"], templates)
	return encoded(m), f
}

// heard returns today's name of a client's notification.
func (f *Filter) heard(method string) string {
	if f != nil && method == proto.NoteEarlyInitialized {
		return proto.NoteInitialized
	}
	return method
}

// Body does the work of heard for a whole notification.
func (f *Filter) Body(m wire.Message, body []byte) []byte {
	if name := f.heard(m.Method); m.ID == nil && name != m.Method {
		return wire.Edit(body, wire.Set("method", encoded(name)))
	}
	return body
}

// sends reports whether the client gets a notification of ours: it gets none about changed lists.
func (f *Filter) sends(method string) bool {
	switch method {
	case proto.NoteProgress, proto.NoteMessage, proto.NoteResourceUpdated:
		return true
	}
	return f == nil
}

// fault returns the code and the data of an error for the client, which knows one code, and no
// data.
func (f *Filter) fault(code int64, data json.RawMessage) (int64, json.RawMessage) {
	if f == nil {
		return code, data
	}
	return proto.CodeClosed, nil
}

// earlyCapabilities are all capabilities of the dialect.
var earlyCapabilities = json.RawMessage(
	`{"experimental":{},"logging":{},"prompts":{},"resources":{"subscribe":true},"tools":{}}`,
)

// result adds the members that the client expects to a result.
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
	delete(r, "ttlMs") // the SDK adds them at every version
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

// joined returns the text of a list of contents, or of messages with a content each.
func joined(list json.RawMessage) json.RawMessage {
	type content struct {
		Text    string `json:"text"`
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	var items []content
	_ = json.Unmarshal(list, &items) // an item without text adds none
	texts := make([]string, 0, len(items))
	for _, c := range items {
		if t := c.Text + c.Content.Text; t != "" {
			texts = append(texts, t)
		}
	}
	return encoded(strings.Join(texts, "\n"))
}

// described fills in the descriptions that the client shows of every prompt and argument.
func described(list json.RawMessage) json.RawMessage {
	var prompts []map[string]json.RawMessage
	if json.Unmarshal(list, &prompts) != nil {
		return list
	}
	for _, p := range prompts {
		args := []map[string]json.RawMessage{}
		_ = json.Unmarshal(p["arguments"], &args) // no arguments: an empty list
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

// typed adds a contentType to each item of a list of contents.
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
