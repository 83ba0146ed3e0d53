package aggregate

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// request is what an aggregate looks at in a request's parameters.
type request struct {
	params json.RawMessage // all of it, as it was written

	name, uri, cursor, task, state string
	args, ref, answers, changes    json.RawMessage

	meta                json.RawMessage // _meta
	version, level      string
	token, client, caps json.RawMessage
	hops                int
}

// inspect reads parameters once. What a server could read in another way than we do
// is refused: a name that stands there twice, or in other letters.
func inspect(params json.RawMessage) (q request, err error) {
	q.params = params
	seen := map[string]bool{}
	for name, value := range wire.Members(params) {
		text := func(to *string) {
			if json.Unmarshal(value, to) != nil {
				err = jrpc2.Errorf(jrpc2.InvalidParams, "%s must be a string", name)
			}
		}
		known := true
		switch string(name) {
		case "name":
			text(&q.name)
		case "uri":
			text(&q.uri)
		case "cursor":
			text(&q.cursor)
		case "taskId":
			text(&q.task)
		case "requestState":
			text(&q.state)
		case "arguments":
			q.args = value
		case "ref":
			q.ref = value
		case "inputResponses":
			q.answers = value
		case "notifications":
			q.changes = value
		case "_meta":
			q.meta = value
		default:
			known = false
			for _, other := range [...]string{"name", "arguments", "uri", "_meta", "taskId"} {
				if strings.EqualFold(string(name), other) {
					err = jrpc2.Errorf(jrpc2.InvalidParams, "there is no member %s, only %s", name, other)
				}
			}
		}
		if known && seen[string(name)] {
			err = jrpc2.Errorf(jrpc2.InvalidParams, "the member %s stands there twice", name)
		}
		if err != nil {
			return q, err
		}
		if known {
			seen[string(name)] = true
		}
	}
	return q, q.inspectMeta()
}

func (q *request) inspectMeta() (err error) {
	for name, value := range wire.Members(q.meta) {
		switch string(name) {
		case proto.MetaToken:
			if string(value) != "null" {
				q.token = value
			}
		case proto.MetaVersion:
			err = json.Unmarshal(value, &q.version)
		case proto.MetaLevel:
			err = json.Unmarshal(value, &q.level)
		case proto.MetaClient:
			q.client = value
		case proto.MetaCapabilities:
			q.caps = value
		case proto.MetaHops:
			q.hops, err = strconv.Atoi(string(value))
			if err == nil && q.hops < 0 {
				err = strconv.ErrRange
			}
		}
		if err != nil {
			return jrpc2.Errorf(jrpc2.InvalidParams, "_meta: %s cannot be read", name)
		}
	}
	return nil
}
