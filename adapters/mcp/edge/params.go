package edge

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// Offered reports whether a life cycle of the protocol has a method. The SDK refuses any
// other method, whatever its parameters.
func Offered(method string, modern bool) bool {
	switch method {
	case proto.MethodInitialize, proto.MethodSetLevel, proto.MethodSubscribe, proto.MethodUnsubscribe:
		return !modern
	}
	return modern || !proto.NamesTask(method)
}

// kind names the JSON type required of a parameter, as error messages to the client word it.
type kind string

const (
	aString  kind = "a string"
	anObject kind = "an object"
	aVersion kind = "a string, or the number of an early version"
)

func (k kind) fits(value json.RawMessage) bool {
	first := value[0]
	switch k {
	case aString:
		return first == '"'
	case anObject:
		return first == '{'
	case aVersion:
		return first == '"' || first == '-' || '0' <= first && first <= '9'
	}
	return false
}

// param is a parameter of a method. An optional one may be null.
type param struct {
	name     string
	is       kind
	required bool
}

// longest returns the maximum size of a parameter in bytes. Names and the like are
// short; a tool's input is limited only by the size of a message.
func (p param) longest() int {
	switch {
	case p.is != anObject || p.name == "_meta":
		return 64 << 10
	case p.name == "arguments" || p.name == "inputResponses":
		return wire.MaxMessage
	}
	return 1 << 20
}

// Known reports whether any version, or the extension Tasks, has a method of that name.
func Known(method string) bool {
	_, ok := methods[method]
	return ok
}

// methods lists the methods of all versions and of the extension Tasks with their
// parameters. Each may also have _meta.
var methods = map[string][]param{
	proto.MethodComplete: {{"ref", anObject, true}, {"argument", anObject, true}, {"context", anObject, false}},
	proto.MethodInitialize: {
		{"protocolVersion", aVersion, false}, {"capabilities", anObject, false}, {"clientInfo", anObject, false},
	},
	proto.MethodSetLevel:      {{"level", aString, true}},
	proto.MethodPing:          nil,
	proto.MethodGetPrompt:     {{"name", aString, true}, {"arguments", anObject, false}},
	proto.MethodListPrompts:   {{"cursor", aString, false}},
	proto.MethodListResources: {{"cursor", aString, false}},
	proto.MethodReadResource:  {{"uri", aString, true}},
	proto.MethodSubscribe:     {{"uri", aString, true}},
	proto.MethodListTemplates: {{"cursor", aString, false}},
	proto.MethodUnsubscribe:   {{"uri", aString, true}},
	proto.MethodDiscover:      nil,
	proto.MethodListen:        {{"notifications", anObject, true}},
	proto.MethodCancelTask:    {{"taskId", aString, true}},
	proto.MethodGetTask:       {{"taskId", aString, true}},
	proto.MethodUpdateTask:    {{"taskId", aString, true}, {"inputResponses", anObject, false}},
	proto.MethodCallTool: {
		{"name", aString, true},
		{"arguments", anObject, false},
		{"requestState", aString, false},
		{"inputResponses", anObject, false},
	},
	proto.MethodListTools: {{"cursor", aString, false}},
}

// CheckParams checks a request's parameters, which are JSON or absent. The error is
// meant for the client. The SDK checks them again, but its errors name Go types and
// repeat what was sent.
func CheckParams(method string, params json.RawMessage) error {
	known, ok := methods[method]
	if !ok {
		return nil // the SDK refuses an unknown method
	}
	if len(params) > 0 && params[0] != '{' {
		return jrpc2.Errorf(jrpc2.InvalidRequest, "%s: params must be an object", method)
	}
	if len(params) == 0 && method == proto.MethodInitialize {
		return jrpc2.Errorf(jrpc2.InvalidParams, "initialize: params are missing")
	}
	values := map[string]json.RawMessage{}
	for name, value := range wire.Members(params) {
		if _, twice := values[string(name)]; twice { // others might read the first one
			return jrpc2.Errorf(jrpc2.InvalidParams, "%s: the parameter %.60s is given twice", method, name)
		}
		values[string(name)] = value
	}
	for _, p := range append(known[:len(known):len(known)], param{"_meta", anObject, false}) {
		switch v := values[p.name]; {
		case !p.required && (len(v) == 0 || v[0] == 'n'):
		case len(v) == 0:
			return jrpc2.Errorf(jrpc2.InvalidParams, "%s: the parameter %s is missing", method, p.name)
		case !p.is.fits(v):
			return jrpc2.Errorf(jrpc2.InvalidParams, "%s: the parameter %s must be %s", method, p.name, p.is)
		case len(v) > p.longest():
			return jrpc2.Errorf(
				jrpc2.InvalidParams,
				"%s: the parameter %s is longer than %d bytes",
				method,
				p.name,
				p.longest(),
			)
		}
	}
	return nil
}

// misfit finds the name of the invalid member at the end of the SDK's error about parameters that
// it could not decode.
var misfit = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`into Go struct field [\w.]*?([\w/]+) of type \S+$`) },
)

// plainFault rewords the SDK's error about a parameter of the wrong type for the client:
// the SDK names Go types and repeats the parameters, however long they are. Other errors
// are returned as they are.
func plainFault(method string, err error) (_ error, changed bool) {
	text := err.Error()
	if !strings.HasPrefix(text, "handling '") || !strings.Contains(text[:min(len(text), 200)], "unmarshaling") {
		return err, false
	}
	const tail = 300 // bytes at the end that contain the member's name
	if m := misfit().FindStringSubmatch(text[max(0, len(text)-tail):]); m != nil {
		return jrpc2.Errorf(jrpc2.InvalidParams, "%s: the parameter %s is of the wrong type", method, m[1]), true
	}
	return jrpc2.Errorf(jrpc2.InvalidParams, "%s: a parameter is of the wrong type", method), true
}
