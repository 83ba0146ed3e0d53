package acp

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/jsonscan"
)

// maxForeign limits an agent's update, so that its line stays below 1 MiB.
const maxForeign = 1<<20 - 4<<10

// foreign appends an update of an external agent for which core has no event: unchanged, except for
// the session's id and for terminals. A client whose agent speaks another protocol gets its content, and
// if it has none its text, as does one that does not know its kind. n is the number of the record.
func foreign(dst []byte, v *View, e core.Foreign, n uint64) []byte {
	if e.Method != "" {
		return notification(dst, v, e)
	}
	var kind struct {
		SessionUpdate string `json:"sessionUpdate"`
	}
	if e.Protocol != acp.Protocol && len(e.Content) > 0 {
		for i, b := range e.Content {
			dst = message(dst, v, acp.AgentChunk, "", i, b)
		}
		return dst
	}
	if e.Protocol != acp.Protocol || json.Unmarshal(e.Raw, &kind) != nil || kind.SessionUpdate == "" || !v.Display.knows(kind.SessionUpdate) {
		if e.Text == "" {
			return dst
		}
		return aside(dst, v, e.Text)
	}
	if v.replay && kind.SessionUpdate == acp.UpdateNotice {
		return dst // notices are shown only live
	}
	switch kind.SessionUpdate {
	case acp.CompactionChunk:
		return summaryPart(dst, v, e.Raw, n)
	case acp.UpdateUsage:
		var u acp.UsageUpdate
		if json.Unmarshal(e.Raw, &u) == nil && u.Cost != nil {
			v.cost = u.Cost
		}
	}
	return rawUpdate(dst, v, kind.SessionUpdate, e.Raw)
}

// rawUpdate appends an agent's update as it is, except for terminals.
func rawUpdate(dst []byte, v *View, kind string, raw json.RawMessage) []byte {
	var u struct {
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &u) == nil { // its content is a list, as that of a tool call
		if kept := v.terminals(u.Content); kept != nil {
			raw = wire.Edit(raw, wire.Set("content", wire.JSON(kept)))
		}
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	if len(raw) > maxForeign {
		return aside(dst, v, "An update of the agent is too large to be shown: "+kind)
	}
	if v.history != nil {
		return v.history.raw(dst, v, kind, raw)
	}
	return appendRaw(dst, v, raw)
}

func appendRaw(dst []byte, v *View, raw json.RawMessage) []byte {
	return append(wire.AppendRaw(head(dst, v), raw), "}}\n"...)
}

// notification appends another notification of an external agent than an update: to clients that follow
// the session, unchanged except for the session's id. That of a login is about the connection, and is sent
// by sendAuthStatus.
func notification(dst []byte, v *View, e core.Foreign) []byte {
	if v.replay || e.Protocol != acp.Protocol || e.Method == acp.AuthChanged || len(e.Raw) > maxForeign || !json.Valid(e.Raw) {
		return dst
	}
	raw := wire.Edit(e.Raw, wire.Set("sessionId", wire.JSON(v.Session)))
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = append(jsonscan.AppendString(dst, e.Method), `,"params":`...)
	return append(wire.AppendRaw(dst, bytes.ToValidUTF8(raw, []byte("\ufffd"))), "}\n"...)
}

// knows reports whether a client has announced that it knows a kind of updates. Kinds that need
// no announcement, and those of later versions, are passed on.
func (s Shows) knows(kind string) bool {
	switch kind {
	case acp.UpdateNotice:
		return s.Notices
	case acp.UpdateCompaction, acp.CompactionChunk:
		return s.Compaction
	case acp.UpdatePlan, acp.UpdatePlanGone:
		return s.Plans
	case acp.UpdateSubagent, acp.UpdateSessionMessage, acp.SessionMessageChunk:
		return s.Subagents
	}
	return true
}

// terminals returns a call's content with the client's own terminals under the client's ids, and
// without others: a client rejects the whole update if it does not know the id. nil means that the
// content has none.
func (v *View) terminals(content []json.RawMessage) []json.RawMessage {
	kept, has := []json.RawMessage{}, false
	for _, raw := range content {
		var c acp.ToolContent
		if json.Unmarshal(raw, &c) != nil || c.Type != "terminal" {
			kept = append(kept, raw)
			continue
		}
		has = true
		if id, own := strings.CutPrefix(c.TerminalID, v.Display.Terminals); own && v.Display.Terminals != "" && !v.replay {
			kept = append(kept, wire.Edit(raw, wire.Set("terminalId", wire.JSON(id))))
		}
	}
	if !has {
		return nil
	}
	return kept
}
