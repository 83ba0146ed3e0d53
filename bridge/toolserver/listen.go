package toolserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
)

// listen acknowledges a request of 2026-07-28 for notifications, and leaves it open if the client
// wants those about tools.
func (c *conn) listen(call *wire.Call) {
	var p struct {
		Wants *struct {
			Tools bool `json:"toolsListChanged"`
		} `json:"notifications"`
	}
	if err := wire.Unmarshal(call.Params, &p); err != nil || p.Wants == nil {
		call.Reply(nil, jrpc2.Errorf(jrpc2.InvalidParams, "notifications must say what to listen to"))
		return
	}
	granted := map[string]bool{}
	if p.Wants.Tools {
		granted["toolsListChanged"] = true
	}
	_ = call.Notify(proto.NoteAcknowledged, wire.Edit(nil,
		wire.Set("_meta", subscription(call)), wire.Set("notifications", wire.JSON(granted)))) // it has left
	c.mu.Lock()
	stays := p.Wants.Tools && !c.closed
	if stays {
		c.listens[call] = struct{}{}
	}
	c.mu.Unlock()
	if !stays {
		call.Reply(listened(call), nil)
		return
	}
	context.AfterFunc(call.Context(), func() {
		c.mu.Lock()
		delete(c.listens, call)
		c.mu.Unlock()
		call.Drop()
	})
}

// subscription is the metadata of messages that belong to a request of listen.
func subscription(call *wire.Call) json.RawMessage {
	return wire.Edit(nil, wire.Set(proto.MetaSubscription, call.ID))
}

// listened is the answer to a request of listen at the end of the connection.
func listened(call *wire.Call) json.RawMessage {
	return wire.Edit(nil, wire.Set("resultType", wire.JSON(proto.ResultComplete)), wire.Set("_meta", subscription(call)))
}

// changed notifies the client that the list of tools has changed.
func (c *conn) changed() {
	if !c.modern {
		_ = c.wire.Notify(proto.NoteToolsChanged, nil) // it has left
		return
	}
	for _, call := range c.listeners() {
		_ = call.Notify(proto.NoteToolsChanged, wire.Edit(nil, wire.Set("_meta", subscription(call)))) // as above
	}
}

func (c *conn) listeners() []*wire.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.listens))
}
