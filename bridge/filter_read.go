package bridge

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
)

// callOf is what a call names.
func callOf(m wire.Message) (name string, args json.RawMessage, err error) {
	if err := distinct(m.Params, "name", "arguments"); err != nil {
		return "", nil, err
	}
	var raw json.RawMessage
	for key, value := range wire.Members(m.Params) {
		switch string(key) {
		case "name":
			raw = value
		case "arguments":
			args = value
		}
	}
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &name) != nil {
		return "", nil, jrpc2.Errorf(jrpc2.InvalidParams, "tools/call: name must be a string")
	}
	return name, args, nil
}

// plainly refuses what a client says that a server might read as something else than
// we do.
func plainly(line []byte, messages []wire.Message) error {
	if len(line) > 0 && line[0] == '{' {
		return distinct(line, "method", "params", "id")
	}
	for _, m := range messages {
		if m.Kind() == wire.Request {
			var list []json.RawMessage
			if err := json.Unmarshal(line, &list); err != nil {
				return jrpc2.Errorf(jrpc2.ParseError, "not valid JSON")
			}
			for _, item := range list {
				if err := distinct(item, "method", "params", "id"); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return nil
}

// distinct refuses an object in which one of the names stands twice, or in another case:
// some take the first of two, some the last, and some are careless about the case.
func distinct(object []byte, names ...string) error {
	seen := 0
	for key := range wire.Members(object) {
		for i, name := range names {
			if !strings.EqualFold(string(key), name) {
				continue
			}
			if string(key) != name || seen&(1<<i) != 0 {
				return jrpc2.Errorf(jrpc2.InvalidRequest, "%q stands beside %q: what is meant is not clear", key, name)
			}
			seen |= 1 << i
		}
	}
	return nil
}

// toolPage takes the answer to tools/list apart.
func toolPage(result json.RawMessage) (items []json.RawMessage, next string, err error) {
	var page struct {
		Tools []json.RawMessage `json:"tools"`
		Next  json.RawMessage   `json:"nextCursor"`
	}
	if err = wire.Unmarshal(result, &page); err != nil {
		return nil, "", fmt.Errorf("the answer to tools/list: %v", err)
	}
	_ = json.Unmarshal(page.Next, &next) // what is no text is no cursor
	return page.Tools, next, nil
}

// nameOf is the name of a tool in a list; "": it has none.
func nameOf(item json.RawMessage) string {
	var t struct {
		Name string `json:"name"`
	}
	if wire.Unmarshal(item, &t) != nil {
		return ""
	}
	return t.Name
}

// cursorOf is the cursor of a request for a page.
func cursorOf(params json.RawMessage) string {
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = wire.Unmarshal(params, &p) // what is none is the first page
	return p.Cursor
}

// sameBytes reports whether a is b itself.
func sameBytes(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }
