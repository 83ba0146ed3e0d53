package relay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/adapters/wire/streamable"
)

// fromServer sends the server's messages to the client until the connection ends.
func (c *pipeSession) fromServer(ctx context.Context, s *connection) {
	frames := s.out
	var one [1]wire.Message // of a line that is no batch
	for {
		line, err := frames.Next()
		if _, ok := errors.AsType[*wire.FrameError](err); ok {
			continue
		}
		if err != nil {
			return
		}
		messages := one[:]
		if line[0] == '[' {
			messages, err = parts(line)
		} else {
			one[0], err = wire.ParseFrom(frames, line)
		}
		if err != nil {
			messages = nil // the client refuses it
		}
		if s.number > 0 && slices.ContainsFunc(messages, isMarked) {
			line, messages = editLine(line, messages, s.withMark)
		}
		line, answered := c.take(s, line, messages)
		if line == nil {
			continue
		}
		if c.down.Room(ctx, wire.PumpRoom) != nil {
			return
		}
		_ = c.down.Put(line) // a client that has left is noticed by its stream
		for _, id := range answered {
			c.settle(id)
		}
	}
}

// take handles a line of the server's. It returns the line for the client, or nil if there is none,
// and the ids of the requests that it answers.
func (c *pipeSession) take(
	s *connection, line []byte, messages []wire.Message,
) (_ []byte, answered []json.RawMessage) {
	for i, m := range messages {
		if c.patience.heard(m) && len(messages) == 1 {
			return nil, nil // the client has its error
		}
		if m.Kind() != wire.Response {
			if m.Method == proto.NoteToolsChanged {
				c.view.Stale()
			}
			continue
		}
		c.mu.Lock()
		o, begun := c.open[string(m.ID)], c.memory.begun
		c.mu.Unlock()
		switch {
		case o == nil:
			continue
		case o.own != nil:
			o.own <- m // there is one answer: settle takes o out
			c.settle(m.ID)
			return nil, nil
		case begun && isSessionLost(m):
			return nil, nil // the connection ends now, and settleOpen settles o
		}
		answered = append(answered, m.ID)
		line = c.answered(s, line, messages, i, o)
	}
	return line, answered
}

// isSessionLost reports whether an error was made because the server no longer knows its session.
func isSessionLost(m wire.Message) bool {
	if m.Error == nil {
		return false
	}
	_, err := resultOf(m)
	return streamable.SessionLost(err)
}

// answered handles the answer to o, which is messages[i] of the line, and returns the line for the
// client.
func (c *pipeSession) answered(
	s *connection, line []byte, messages []wire.Message, i int, o *request,
) []byte {
	m := messages[i]
	c.mu.Lock()
	c.memory.note(o, m)
	c.mu.Unlock()
	switch o.method {
	case proto.MethodInitialize:
		if o.greeted != nil {
			defer o.greeted()
		}
		if o.number != "" && m.Error != nil && line[0] != '[' {
			return wire.AppendAnswer(nil, m.ID, nil, c.errUndated(o.number))
		}
		c.settled(s, versionOf(m.Result))
	case proto.MethodCallTool:
		o.call.Answered(m, len(line))
	case proto.MethodListTools:
		if m.Result == nil {
			break
		}
		result := c.view.Shown(o.cursor, m.Result)
		if sameBytes(result, m.Result) {
			return line
		}
		if line[0] != '[' {
			return wire.Edit(line, wire.Set("result", result))
		}
		var list []json.RawMessage
		if json.Unmarshal(line, &list) == nil {
			list[i] = wire.AppendAnswer(nil, m.ID, result, nil)
			return wire.JSON(list)
		}
	}
	return s.out.listed(o.method, line, m)
}

// numberOf is versionOf for a version that is a number, as in the first days of the protocol; "": it is
// none.
func numberOf(object json.RawMessage) string {
	version := versionOf(object)
	if len(version) == 0 || version[0] < '0' || version[0] > '9' {
		return ""
	}
	return string(version)
}

// errUndated is the error for a client whose version is a number, at a server that refused it.
// What servers answer to that is about their parsers and of no use to a user.
func (c *pipeSession) errUndated(number string) error {
	return jrpc2.Errorf(
		jrpc2.InvalidParams,
		"the MCP server %s does not speak version %.20s of the protocol; "+
			"the client must ask for a version that is a date, such as %s",
		c.relay.export.Server.Name,
		number,
		proto.Legacy,
	)
}

// versionOf returns the version in the parameters of initialize, or in its result.
func versionOf(object json.RawMessage) json.RawMessage {
	var r struct {
		Version json.RawMessage `json:"protocolVersion"`
	}
	_ = json.Unmarshal(object, &r) // an error has none
	return r.Version
}
