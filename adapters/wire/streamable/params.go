package streamable

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
)

// ParamHeaders are the arguments of tools that also travel as headers (2026-07-28,
// Streamable HTTP, x-mcp-header). The zero value holds none.
type ParamHeaders struct {
	tools map[string][]paramHeader
}

type paramHeader struct {
	path []string
	name string
}

// Learn notes the arguments that are headers from an answer to tools/list.
func (p *ParamHeaders) Learn(line []byte) {
	found := paramHeaders(line)
	if len(found) == 0 {
		return
	}
	if p.tools == nil {
		p.tools = map[string][]paramHeader{}
	}
	maps.Copy(p.tools, found)
}

// set sets the headers of a call.
func (p *ParamHeaders) set(h http.Header, call Params) {
	list, args := p.of(call)
	for _, ph := range list {
		if value, ok := headerValue(args, ph.path); ok {
			h.Set(proto.HeaderParam+ph.name, headerText(value))
		}
	}
}

// of returns the arguments of a call that are headers, and all its arguments, which are read only if
// some are.
func (p *ParamHeaders) of(call Params) (list []paramHeader, args map[string]json.RawMessage) {
	if len(p.tools) == 0 {
		return nil, nil
	}
	if list = p.tools[jsonscan.Text(call.Name)]; len(list) > 0 {
		args = wire.Object(call.Args)
	}
	return list, args
}

// Mismatch returns an error if a call's header differs from the argument.
func (p *ParamHeaders) Mismatch(h http.Header, call Params) error {
	list, args := p.of(call)
	for _, ph := range list {
		value, there := headerValue(args, ph.path)
		name := proto.HeaderParam + ph.name
		got := h.Get(name)
		means, ok := HeaderMeans(got)
		switch {
		case !there && got == "":
		case !there:
			return jrpc2.Errorf(
				proto.CodeHeaderMismatch,
				"the header %s belongs to an argument that is not there",
				name,
			)
		case !ok || means != value && !sameNumber(means, value):
			return jrpc2.Errorf(proto.CodeHeaderMismatch, "the header %s is not the argument", name)
		}
	}
	return nil
}

// headModern sets the headers that repeat parameters of a request of 2026-07-28.
func (h *Client) headModern(req *http.Request, method string, p Params) {
	req.Header.Set(proto.HeaderMethod, method)
	if name, ok := p.named(method); ok {
		req.Header.Set(proto.HeaderName, headerText(name))
	}
	if method != proto.MethodCallTool {
		return
	}
	h.mu.Lock()
	h.params.set(req.Header, p)
	h.mu.Unlock()
}

// note learns the arguments that are headers from a message of the server.
func (h *Client) note(line []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.params.Learn(line)
}

// paramHeaders returns the arguments that are headers from an answer to tools/list, by tool.
func paramHeaders(line []byte) map[string][]paramHeader {
	if !bytes.Contains(line, []byte(`"x-mcp-header"`)) {
		return nil
	}
	var r struct {
		Result struct {
			Tools []struct {
				Name   string         `json:"name"`
				Schema headerProperty `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if json.Unmarshal(line, &r) != nil {
		return nil
	}
	found := map[string][]paramHeader{}
	for _, t := range r.Result.Tools {
		found[t.Name] = t.Schema.headers(nil, nil)
	}
	return found
}

// headerProperty has the parts of a schema that concern headers.
type headerProperty struct {
	Header     any                       `json:"x-mcp-header"`
	Properties map[string]headerProperty `json:"properties"`
}

func (p headerProperty) headers(path []string, list []paramHeader) []paramHeader {
	for name, sub := range p.Properties {
		at := append(path[:len(path):len(path)], name)
		if header, ok := sub.Header.(string); ok && isToken(header) {
			list = append(list, paramHeader{at, header})
		}
		list = sub.headers(at, list)
	}
	return list
}

// isToken reports whether a text can be the name of a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" &&
		strings.Trim(s, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// headerValue returns the header of an argument: of a text, a boolean, or a whole number that
// every reader of JSON reads in the same way. Others have no header.
func headerValue(args map[string]json.RawMessage, path []string) (string, bool) {
	raw, ok := args[path[0]]
	for _, name := range path[1:] {
		var inner map[string]json.RawMessage
		if !ok || json.Unmarshal(raw, &inner) != nil {
			return "", false
		}
		raw, ok = inner[name]
	}
	if !ok {
		return "", false
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), true
		}
	}
	return "", false
}

// sameNumber compares two whole numbers that may be written differently.
func sameNumber(a, b string) bool {
	n, err := strconv.ParseInt(b, 10, 64)
	f, err2 := strconv.ParseFloat(a, 64)
	return err == nil && err2 == nil && f == float64(n)
}

// headerText encodes a text for a header if need be.
func headerText(s string) string {
	plain := s == strings.Trim(s, " \t") && !(strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?="))
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// HeaderMeans decodes a result of headerText; false: it is none.
func HeaderMeans(s string) (string, bool) {
	inner, ok := strings.CutPrefix(s, "=?base64?")
	if !ok {
		return s, true
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return s, true
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	return string(b), err == nil
}
