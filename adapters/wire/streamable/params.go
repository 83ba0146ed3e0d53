package streamable

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
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
	tools  map[string][]paramHeader
	faults map[string]error // of tools that no client may list or call
}

type paramHeader struct {
	path []string
	name string
}

// Learn notes the arguments that are headers from a result of tools/list.
func (p *ParamHeaders) Learn(result json.RawMessage) { p.Fit(result) }

// Fit is Learn for a client. It returns the result without the tools whose headers are invalid, and the
// reasons for those that it has not left out before.
func (p *ParamHeaders) Fit(result json.RawMessage) (fit json.RawMessage, left []error) {
	if len(p.faults) == 0 && !mayHaveHeaders(result) {
		return result, nil
	}
	var r struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(result, &r) != nil {
		return result, nil
	}
	if p.tools == nil {
		p.tools, p.faults = map[string][]paramHeader{}, map[string]error{}
	}
	valid := make([]json.RawMessage, 0, len(r.Tools))
	for _, tool := range r.Tools {
		members := wire.Object(tool)
		name := jsonscan.Text(members["name"])
		list, err := paramHeaders(members["inputSchema"])
		before := p.faults[name]
		delete(p.tools, name)
		delete(p.faults, name)
		switch {
		case err != nil:
			p.faults[name] = err
			if before == nil || before.Error() != err.Error() {
				left = append(left, fmt.Errorf("its tool %.100q is left out: %w", name, err))
			}
			continue
		case list != nil:
			p.tools[name] = list
		}
		valid = append(valid, tool)
	}
	if len(valid) == len(r.Tools) {
		return result, nil
	}
	return wire.Edit(result, wire.Set("tools", wire.JSON(valid))), left
}

// Fault returns the reason why a tool must not be called; nil: it may be.
func (p *ParamHeaders) Fault(tool string) error {
	if err := p.faults[tool]; err != nil {
		return jrpc2.Errorf(jrpc2.InvalidParams, "the tool %.100q cannot be called: %v", tool, err)
	}
	return nil
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

// fit learns the arguments that are headers from a result of tools/list, and returns the result without
// the tools whose headers are invalid.
func (h *Client) fit(result json.RawMessage) json.RawMessage {
	h.mu.Lock()
	fit, left := h.params.Fit(result)
	h.mu.Unlock()
	for _, why := range left {
		h.opts.Warn(h.opts.Plain(why.Error()))
	}
	return fit
}

// unsendable returns the reason why a request must not be sent; nil: it may be.
func (h *Client) unsendable(m wire.Message) error {
	if m.Method != proto.MethodCallTool {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.params.faults) == 0 {
		return nil
	}
	return h.params.Fault(jsonscan.Text(ReadParams(m.Params).Name))
}

// mayHaveHeaders reports whether a list may have arguments that are headers: the word is in it, or one
// that is written with escapes.
func mayHaveHeaders(list []byte) bool {
	return bytes.Contains(list, []byte(`"`+headerMember+`"`)) || bytes.Contains(list, []byte(`\u00`))
}

// headerMember is the member of an argument's schema that names its header.
const headerMember = "x-mcp-header"

// paramHeaders returns the arguments of a schema that are headers; an error if one of them is invalid.
func paramHeaders(schema json.RawMessage) (list []paramHeader, err error) {
	taken := map[string]bool{}
	var walk func(schema json.RawMessage, path []string) error
	walk = func(schema json.RawMessage, path []string) error {
		for name, sub := range wire.Members(wire.Value(schema, "properties")) {
			at := append(path[:len(path):len(path)], string(name))
			if header := wire.Value(sub, headerMember); header != nil {
				if err := checkHeader(header, wire.Value(sub, "type"), taken); err != nil {
					return fmt.Errorf("the %s of its argument %.100q %w", headerMember, strings.Join(at, "."), err)
				}
				list = append(list, paramHeader{at, jsonscan.Text(header)})
			}
			if err := walk(sub, at); err != nil {
				return err
			}
		}
		return nil
	}
	return list, walk(schema, nil)
}

// checkHeader returns an error unless an argument of a type can have a header. taken are the headers of
// the other arguments.
func checkHeader(header, kind json.RawMessage, taken map[string]bool) error {
	name := jsonscan.Text(header)
	switch folded := strings.ToLower(name); {
	case !jsonscan.IsString(header) || !isToken(name):
		return errors.New("is no name of a header")
	case taken[folded]:
		return fmt.Errorf("is the same as another one (%s)", name)
	case !isHeaderType(kind):
		return errors.New("belongs to a value that is no string, boolean or integer")
	default:
		taken[folded] = true
		return nil
	}
}

// isHeaderType reports whether values of a type can be headers.
func isHeaderType(kind json.RawMessage) bool {
	var kinds []string
	if jsonscan.IsString(kind) {
		kinds = []string{jsonscan.Text(kind)}
	} else if wire.Unmarshal(kind, &kinds) != nil {
		return false
	}
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "null" }) // it has no header then
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return !slices.Contains([]string{"string", "boolean", "integer"}, k) })
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
