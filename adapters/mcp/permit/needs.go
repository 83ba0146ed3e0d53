package permit

import (
	"encoding/json"
	"slices"
	"strings"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core/access"
)

// Need is what a message requires of its sender: one of some rights, or all rights. The zero value
// requires nothing.
type Need struct {
	anyOf access.Rights
	all   bool
}

func oneOf(r access.Rights) Need { return Need{anyOf: r} }

// everything is needed for what has no row.
var everything = Need{all: true}

// Met reports whether rights suffice.
func (n Need) Met(by access.Rights) bool {
	if n.all {
		return by.Has(access.All)
	}
	return n.anyOf == 0 || by.HasAny(n.anyOf)
}

// String names the rights: "watch or prompt", "watch, prompt, answer and act".
func (n Need) String() string {
	names, last := n.anyOf.Names(), " or "
	if n.all {
		names, last = access.All.Names(), " and "
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	end := len(names) - 1
	return strings.Join(names[:end], ", ") + last + names[end]
}

// rights returns the fewest rights that meet the need.
func (n Need) rights() access.Rights {
	if n.all {
		return access.All
	}
	for r := access.Watch; r < access.All; r <<= 1 {
		if n.anyOf.Has(r) {
			return r
		}
	}
	return 0
}

// methods has a row for each method and notification that any client may send. A call of a tool,
// and what names a resource, have their own tables.
var methods = map[string]Need{
	proto.MethodInitialize:     {},
	proto.MethodDiscover:       {},
	proto.MethodPing:           {},
	proto.MethodSetLevel:       {},
	proto.MethodListTools:      {},
	proto.MethodListPrompts:    {},
	proto.MethodListTemplates:  {},
	proto.MethodListResources:  oneOf(access.Watch),
	proto.MethodListen:         oneOf(access.Watch),
	proto.MethodGetPrompt:      oneOf(access.Prompt | access.Act),
	proto.MethodComplete:       oneOf(access.Prompt | access.Act),
	proto.MethodGetTask:        oneOf(access.Watch | access.Prompt | access.Act),
	proto.MethodUpdateTask:     oneOf(access.Answer),
	proto.MethodCancelTask:     oneOf(access.Prompt | access.Act),
	proto.MethodListTasks:      oneOf(access.Act), // of servers alone
	proto.MethodTaskResult:     oneOf(access.Act), // likewise
	proto.NoteInitialized:      {},
	proto.NoteEarlyInitialized: {},
	proto.NoteCancelled:        {}, // of the connection's own requests
	proto.NoteProgress:         {},
	proto.NoteRootsChanged:     {},
}

// tools has a row for each tool of our agent.
var tools = map[string]Need{
	"session_list":  oneOf(access.Watch),
	"session_get":   oneOf(access.Watch),
	"agent_prompt":  oneOf(access.Prompt),
	"agent_wait":    oneOf(access.Watch | access.Prompt),
	"agent_cancel":  oneOf(access.Prompt | access.Act),
	"agent_approve": oneOf(access.Answer),
	"session_close": oneOf(access.Act),
}

// Tool returns what a call of a tool requires. A tool that is not our agent's is a server's.
func Tool(name string) Need {
	if need, ok := tools[name]; ok {
		return need
	}
	return oneOf(access.Act)
}

// Method returns what a method requires at least. ok is false if it has no row: then it requires all
// rights.
func Method(name string) (need Need, ok bool) {
	switch name {
	case proto.MethodCallTool, proto.MethodReadResource, proto.MethodSubscribe, proto.MethodUnsubscribe:
		return Need{}, true
	}
	if need, ok = methods[name]; !ok {
		return everything, false
	}
	return need, true
}

// resource returns what reading a resource requires. Resources that are not ours are a server's.
func resource(uri string) Need {
	if strings.HasPrefix(uri, "dragoman://") {
		return oneOf(access.Watch)
	}
	return oneOf(access.Act)
}

// needsOf returns all that a message requires, and a name for what it does.
func needsOf(m wire.Message) (what string, needs []Need) {
	if m.Kind() == wire.Response {
		if harmless(m) {
			return "", nil
		}
		return "an answer", []Need{oneOf(access.Answer)}
	}
	what = m.Method
	switch m.Method {
	case proto.MethodCallTool:
		name, ok := text(m.Params, "name")
		what = name
		if !ok {
			return m.Method, []Need{everything}
		}
		needs = append(needs, Tool(name))
	case proto.MethodReadResource, proto.MethodSubscribe, proto.MethodUnsubscribe:
		uri, ok := text(m.Params, "uri")
		if !ok {
			return m.Method, []Need{everything}
		}
		needs = append(needs, resource(uri))
	default:
		need, _ := Method(m.Method)
		needs = append(needs, need)
	}
	if slices.ContainsFunc(named(m.Params, "inputResponses"), func(v json.RawMessage) bool { return string(v) != "null" }) {
		needs = append(needs, oneOf(access.Answer))
	}
	return what, needs
}

// harmless reports whether a response answers no question: it is an error, or the answer to
// ping or roots/list. To answer a question it would need other members.
func harmless(m wire.Message) bool {
	if m.Result == nil {
		return true
	}
	if m.Result[0] != '{' {
		return false
	}
	for name := range wire.Members(m.Result) {
		if s := string(name); s != "roots" && s != "_meta" {
			return false
		}
	}
	return true
}

// named returns the values of all members of that name, in any case: others might read one that is
// spelled differently, or the other one of two.
func named(object json.RawMessage, name string) (values []json.RawMessage) {
	for n, v := range wire.Members(object) {
		if strings.EqualFold(string(n), name) {
			values = append(values, v)
		}
	}
	return values
}

// text returns the value of a member that is a text; false: it is not one, or there are several
// that could be meant.
func text(object json.RawMessage, name string) (value string, ok bool) {
	all := named(object, name)
	exact, is := wire.Object(object)[name]
	if len(all) != 1 || !is {
		return "", false
	}
	return value, json.Unmarshal(exact, &value) == nil
}
