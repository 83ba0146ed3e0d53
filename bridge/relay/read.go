package relay

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
	"dragoman/bridge/upstream"
	"dragoman/core/jsonscan"
)

// callOf reads a call of the client from. A request of 2026-07-28 says itself how its user can be
// asked.
func callOf(m wire.Message, p streamable.Params, from visitor) (c upstream.Call, err error) {
	c = upstream.Call{Params: m.Params, Args: p.Args, Offers: from.offers, Modern: p.Modern()}
	if c.Modern {
		c.Offers = upstream.ReadOffers(p.Caps)
	}
	if err := checkDistinct(m.Params, "name", "arguments"); err != nil {
		return c, err
	}
	if !jsonscan.IsString(p.Name) {
		return c, jrpc2.Errorf(jrpc2.InvalidParams, "tools/call: name must be a string")
	}
	c.Tool = jsonscan.Text(p.Name)
	return c, nil
}

// clientOf returns the name of the client's program according to its call, or else as it
// introduced itself.
func clientOf(p streamable.Params, introduced string) string {
	return cmp.Or(upstream.ClientNamed(p.Client), introduced)
}

// lineOf returns the call that came as line as the server gets it.
func lineOf(v upstream.Ruling, line []byte) []byte {
	if !v.Resumed {
		return line
	}
	return wire.Edit(line, wire.Set("params", v.Params))
}

// inLine returns a message as one line.
func inLine(text []byte) []byte {
	if text = bytes.TrimSpace(text); bytes.ContainsAny(text, "\r\n") {
		return wire.AppendRaw(nil, text)
	}
	return text
}

// checkPlain refuses messages of a client's that a server might read differently from us.
func checkPlain(line []byte, messages []wire.Message) error {
	if len(line) > 0 && line[0] == '{' {
		return checkDistinct(line, "method", "params", "id")
	}
	for _, m := range messages {
		if m.Kind() == wire.Request {
			var list []json.RawMessage
			if err := json.Unmarshal(line, &list); err != nil {
				return jrpc2.Errorf(jrpc2.ParseError, "not valid JSON")
			}
			for _, item := range list {
				if err := checkDistinct(item, "method", "params", "id"); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return nil
}

// checkIDs refuses requests of a client's that have no id, or a null one: nobody would judge such a call,
// and the server may answer it nevertheless. The early dialect has no rule about null ids.
func checkIDs(messages []wire.Message, lenient func() bool) error {
	for _, m := range messages {
		if err := m.CheckID(); err != nil && !lenient() {
			return err
		}
		if isCall(m) && m.ID == nil {
			return jrpc2.Errorf(jrpc2.InvalidRequest, "%s: a call must have an id", m.Method)
		}
	}
	return nil
}

// cursorOf is the cursor of a request for a page.
func cursorOf(params json.RawMessage) string {
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = wire.Unmarshal(params, &p) // a malformed cursor means the first page
	return p.Cursor
}

// editLine replaces the messages of a line by what edit returns for each, and removes those for which
// it returns nil. It returns nil if nothing is left.
func editLine(
	line []byte, messages []wire.Message, edit func(raw []byte, m wire.Message) []byte,
) ([]byte, []wire.Message) {
	list := []json.RawMessage{line}
	batch := line[0] == '['
	if batch {
		_ = json.Unmarshal(line, &list) // it was parsed
	}
	var kept []json.RawMessage
	var rest []wire.Message
	for i, m := range messages {
		raw := edit(list[i], m)
		if raw == nil {
			continue
		}
		if !sameBytes(raw, list[i]) {
			m, _ = wire.Parse(raw) // it is ours
		}
		kept, rest = append(kept, raw), append(rest, m)
	}
	switch {
	case len(rest) == 0:
		return nil, nil
	case !batch:
		return kept[0], rest
	}
	return wire.JSON(kept), rest
}

// sameBytes reports whether a is b itself.
func sameBytes(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// requestLine returns the line of a request of our own.
func requestLine(id json.RawMessage, method string, params json.RawMessage) []byte {
	return wire.Edit(nil, wire.Set("jsonrpc", wire.JSON("2.0")), wire.Set("id", id),
		wire.Set("method", wire.JSON(method)), wire.Set("params", params))
}

// withdrawal returns the notification that cancels a request; reason may be "".
func withdrawal(id json.RawMessage, reason string) []byte {
	params := []wire.Member{wire.Set("requestId", id)}
	if reason != "" {
		params = append(params, wire.Set("reason", wire.JSON(reason)))
	}
	return wire.Edit(nil, wire.Set("jsonrpc", wire.JSON("2.0")),
		wire.Set("method", wire.JSON(proto.NoteCancelled)), wire.Set("params", wire.Edit(nil, params...)))
}

// checkDistinct is upstream.Distinct with an error of JSON-RPC's.
func checkDistinct(object []byte, names ...string) error {
	if err := upstream.Distinct(object, names...); err != nil {
		return jrpc2.Errorf(jrpc2.InvalidRequest, "%v", err)
	}
	return nil
}
