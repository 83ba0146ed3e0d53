package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/core"
)

// levels are the levels of a log message.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// logger is the name of the sender of log messages.
const logger = "dragoman"

// logs sends a call's log messages (Server utilities, Logging): the events of the turn, from the
// level on that the client has asked for, or none. It belongs to one goroutine.
type logs struct {
	req     *mcp.CallToolRequest
	on      bool
	stalled func() bool
}

// logsOf returns the log messages that a call wants.
func (c *client) logsOf(req *mcp.CallToolRequest) logs {
	l := logs{req: req, stalled: c.stalled}
	if req.ProtocolVersion() >= proto.Modern {
		level, _ := req.Params.Meta[proto.MetaLevel].(string)
		l.on = level != ""
		return l
	}
	c.mu.Lock()
	l.on = c.level != ""
	c.mu.Unlock()
	return l
}

// logData is the data of a log message.
type logData struct {
	Session core.SessionID `json:"session_id"`
	Turn    core.TurnID    `json:"turn_id"`
	event
}

// tell sends an event of a turn. Successive pieces of text are one message. A client that does
// not read gets none.
func (l *logs) tell(ctx context.Context, session core.SessionID, t *turn, recs []core.Record) {
	if !l.on || l.stalled() {
		return
	}
	var last *event
	var text strings.Builder
	flush := func() {
		if last == nil {
			return
		}
		e := *last
		if text.Len() > 0 {
			e.Text = text.String()
			text.Reset()
		}
		last = nil
		// Nobody reads after the connection has ended, and ctx ends as well.
		//nolint:staticcheck // deprecated since 2026-07-28, but still there
		_ = l.req.Session.Log(ctx, &mcp.LoggingMessageParams{
			Level: mcp.LoggingLevel(levelOf(e)), Logger: logger, Data: logData{session, t.id, e},
		})
	}
	for _, rec := range recs {
		e, ok := happened(t, rec.Event)
		if !ok {
			continue
		}
		streams := e.Type == eventText || e.Type == eventThought
		if last != nil && (!streams || last.Type != e.Type) {
			flush()
		}
		if streams {
			text.WriteString(e.Text)
		}
		last = &e
	}
	flush()
}

// levelOf returns the level of an event.
func levelOf(e event) string {
	switch {
	case e.Type == eventText || e.Type == eventThought:
		return "debug"
	case e.Status == string(core.Failure) && e.Type == eventNotice, e.Status == statusFailed && e.Type == eventEnded:
		return "error"
	case e.Status == string(core.Warning) && e.Type == eventNotice:
		return "warning"
	case e.Type == eventApproval, e.Type == eventEnded:
		return "notice"
	}
	return "info"
}
