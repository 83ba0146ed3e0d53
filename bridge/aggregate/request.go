package aggregate

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/bridge/upstream"
	"dragoman/core/jsonscan"
)

// request holds the parts of a request's parameters that an aggregate needs.
type request struct {
	params json.RawMessage // all parameters, as they were written

	name, uri, cursor, task, state string
	args, ref, answers, changes    json.RawMessage

	meta                json.RawMessage // _meta
	version, level      string
	token, client, caps json.RawMessage
	hops                int

	judged *upstream.Peer // the connection whose tools a call was judged by; nil: it has to be judged again
}

// members are the names of those parts.
var members = []string{
	"name", "uri", "cursor", "taskId", "requestState", "arguments", "ref", "inputResponses", "notifications", "_meta",
}

// inspect reads parameters once. It refuses what a server might read differently: a duplicate
// member, or one whose name differs only in case.
func inspect(params json.RawMessage) (q request, err error) {
	q.params = params
	if err := upstream.Distinct(params, members...); err != nil {
		return q, jrpc2.Errorf(jrpc2.InvalidParams, "%v", err)
	}
	for name, value := range wire.Members(params) {
		var text *string
		switch string(name) {
		case "name":
			text = &q.name
		case "uri":
			text = &q.uri
		case "cursor":
			text = &q.cursor
		case "taskId":
			text = &q.task
		case "requestState":
			text = &q.state
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
		}
		if text == nil || string(value) == "null" {
			continue
		}
		if *text = jsonscan.Text(value); !jsonscan.IsString(value) {
			return q, jrpc2.Errorf(jrpc2.InvalidParams, "%s must be a string", name)
		}
	}
	return q, q.inspectMeta()
}

// at returns the request for a resource under the server's own URI.
func (q request) at(uri string) request {
	if uri != q.uri {
		q.params, q.uri = wire.Edit(q.params, wire.Set("uri", wire.JSON(uri))), uri
	}
	return q
}

// about returns the request for a task under the server's own id.
func (q request) about(task string) request {
	if task != q.task {
		q.params, q.task = wire.Edit(q.params, wire.Set("taskId", wire.JSON(task))), task
	}
	return q
}

func (q *request) inspectMeta() (err error) {
	for name, value := range wire.Members(q.meta) {
		switch string(name) {
		case proto.MetaToken:
			if string(value) != "null" {
				q.token = value
			}
		case proto.MetaVersion:
			q.version, err = textOf(value)
		case proto.MetaLevel:
			q.level, err = textOf(value)
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

// textOf returns a text, or "" for null.
func textOf(value json.RawMessage) (string, error) {
	if !jsonscan.IsString(value) && string(value) != "null" {
		return "", errors.New("not a text")
	}
	return jsonscan.Text(value), nil
}
