package streamable

import (
	"encoding/json"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core/jsonscan"
)

// Params are the parts of a request's parameters by which it is passed on, as they were written; of
// several members of a name the last one counts. nil: absent. ReadParams reads them once for all who
// need one.
type Params struct {
	Name, URI, Task, Args, Meta json.RawMessage

	Token, Version, Client, Caps json.RawMessage // of Meta
}

// ReadParams reads the parameters of a request that was parsed.
func ReadParams(params json.RawMessage) (p Params) {
	m := jsonscan.MembersOf(params, wire.MaxDepth)
	for m.Next() {
		switch string(jsonscan.Unescaped(m.Key)) {
		case "name":
			p.Name = m.Val
		case "uri":
			p.URI = m.Val
		case "taskId":
			p.Task = m.Val
		case "arguments":
			p.Args = m.Val
		case "_meta":
			p.Meta = m.Val
		}
	}
	m = jsonscan.MembersOf(p.Meta, wire.MaxDepth)
	for m.Next() {
		switch string(jsonscan.Unescaped(m.Key)) {
		case proto.MetaToken:
			p.Token = m.Val
		case proto.MetaVersion:
			p.Version = m.Val
		case proto.MetaClient:
			p.Client = m.Val
		case proto.MetaCapabilities:
			p.Caps = m.Val
		}
	}
	return p
}

// Says returns the version that a request of 2026-07-28 names; "": none.
func (p Params) Says() string { return jsonscan.Text(p.Version) }

// Modern reports whether the parameters are of a request of 2026-07-28.
func (p Params) Modern() bool { return p.Says() >= proto.Modern }

// VersionOf is Says for the parameters of a request.
func VersionOf(params json.RawMessage) string {
	return jsonscan.Text(wire.Value(wire.Value(params, "_meta"), proto.MetaVersion))
}

// named returns the value of the header Mcp-Name for a method; false: the method has none.
func (p Params) named(method string) (_ string, ok bool) {
	switch method {
	case proto.MethodCallTool, proto.MethodGetPrompt:
		return jsonscan.Text(p.Name), true
	case proto.MethodReadResource:
		return jsonscan.Text(p.URI), true
	}
	return jsonscan.Text(p.Task), proto.NamesTask(method)
}
