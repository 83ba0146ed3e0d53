package edge

import (
	"encoding/json"
	"strings"

	proto "dragoman/adapters/proto/mcp"
)

// begins looks at the parameters of initialize. A number for a version marks the early
// dialect (one client spoke it before versions were dates): the SDK sees the oldest
// version instead, and the answers are made to suit both. A version that nobody knows
// becomes the one that will be answered. number is the early dialect's version, or nil.
func begins(params json.RawMessage) (_, number json.RawMessage) {
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return params, nil
	}
	raw := p["protocolVersion"]
	var name string
	switch {
	case len(raw) > 0 && strings.IndexByte("-0123456789", raw[0]) >= 0:
		number, name = raw, proto.Oldest
	case json.Unmarshal(raw, &name) != nil || proto.IsLegacy(name):
		return params, nil
	default:
		name = proto.Legacy
	}
	p["protocolVersion"] = encoded(name)
	return encoded(p), number
}

// BeginsBody does to a whole initialize what begins does to its parameters.
func BeginsBody(body []byte) (_ []byte, number json.RawMessage) {
	var m map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil {
		return body, nil
	}
	m["params"], number = begins(m["params"])
	return encoded(m), number
}

// begun notes what initialize has told of the client. One behind it is refused, and tells nothing.
func (l *Link) begun(c *Call, number json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hello == nil {
		l.hello, l.early = c, number
	}
}

// refusedHello notes that an initialize was refused: the next one counts.
func (l *Link) refusedHello(c *Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hello == c {
		l.hello, l.early = nil, nil
	}
}

// earlyNotification reports whether the early dialect knows a notification of ours, or
// has asked for it: it never looks for lists that change.
func earlyNotification(method string) bool {
	switch method {
	case proto.NoteProgress, proto.NoteMessage, proto.NoteResourceUpdated:
		return true
	}
	return false
}

// earlyCapabilities are those that the early dialect has.
var earlyCapabilities = json.RawMessage(
	`{"experimental":{},"logging":{},"prompts":{},"resources":{"subscribe":true},"tools":{}}`,
)

// earlyResult adds to a result what the early dialect looks for. What a client of
// 2024-11-05 looks for stays.
func earlyResult(method string, version, result json.RawMessage, templates any) json.RawMessage {
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
		r["protocolVersion"], r["capabilities"] = version, earlyCapabilities
		var info map[string]json.RawMessage
		if json.Unmarshal(r["serverInfo"], &info) == nil {
			delete(info, "title")
			r["serverInfo"] = encoded(info)
		}
		delete(r, "instructions")
	case proto.MethodListResources:
		r["resourceTemplates"] = encoded(templates)
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

// described fills in what the early dialect shows of every prompt and each of its arguments.
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
