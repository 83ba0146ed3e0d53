package permit

import (
	"encoding/json"
	"strings"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// kept are the capabilities of a client that is asked nothing: by none of them it is asked
// for an answer of its user or its model.
var kept = map[string]bool{"roots": true, "extensions": true}

// unasked returns a message in which its sender declares only the capabilities that are kept.
func unasked(body []byte, m wire.Message) []byte {
	if m.Params == nil || m.Params[0] != '{' {
		return body
	}
	params := reduced(m.Params, "capabilities")
	params = wire.Edit(params, metaOf(params)...)
	return wire.Edit(body, wire.Set("params", params))
}

// metaOf replaces the metadata of parameters, if there are any.
func metaOf(params json.RawMessage) []wire.Member {
	meta, ok := wire.Object(params)["_meta"]
	if !ok || meta[0] != '{' {
		return nil
	}
	return []wire.Member{wire.Set("_meta", reduced(meta, proto.MetaCapabilities))}
}

// reduced returns an object whose capabilities, under that name, are those that are kept. A member
// that could be mistaken for them or for metadata, because it is spelled in another case or is the second
// one, is removed.
func reduced(object json.RawMessage, name string) json.RawMessage {
	var members []wire.Member
	seen := map[string]bool{}
	for n, value := range wire.Members(object) {
		s := string(n)
		isCaps, isMeta := strings.EqualFold(s, name), strings.EqualFold(s, "_meta")
		if isCaps || isMeta {
			if seen[s] || s != name && s != "_meta" {
				continue
			}
			seen[s] = true
		}
		if isCaps {
			value = keep(value)
		}
		members = append(members, wire.Set(s, value))
	}
	return wire.Edit(nil, members...)
}

// keep returns the capabilities that are kept.
func keep(caps json.RawMessage) json.RawMessage {
	var members []wire.Member
	for n, value := range wire.Members(caps) {
		if kept[string(n)] {
			members = append(members, wire.Set(string(n), value))
		}
	}
	return wire.Edit(nil, members...)
}
