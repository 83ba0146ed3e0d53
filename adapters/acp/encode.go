package acp

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

const (
	// maxChunk is how much text one update carries, in bytes: some clients cannot
	// read a line of 64 KiB.
	maxChunk = 16 << 10
	// maxTail is how much of a running call's output is shown, in bytes.
	maxTail = 4 << 10
	// maxResult is how much of a call's text is shown, in bytes.
	maxResult = 10 << 10
)

// Encode appends the notifications that a record becomes, each ended by a line
// feed. It looks at nothing but its arguments.
func Encode(dst []byte, v *View, r core.Record) []byte {
	switch e := r.Event.(type) {
	case core.TextDelta:
		return chunks(dst, v, acp.AgentChunk, string(e.Message), e.Text)
	case core.ThoughtDelta:
		return chunks(dst, v, acp.ThoughtChunk, string(e.Thought), e.Text)
	case core.TurnStarted:
		if v.own(e.Key) {
			v.mine[e.Turn] = true
			return dst
		}
		return user(dst, v, e.Message, e.Prompt)
	case core.Steered:
		return user(dst, v, e.Message, e.Prompt)
	case core.CallChanged:
		return call(dst, v, e.Call)
	case core.CallOutput:
		return output(dst, v, e)
	case core.Asked:
		v.asks[e.Ask.ID] = e.Ask
	case core.Answered:
		delete(v.asks, e.Ask)
	case core.PlanChanged:
		return update(dst, v, plan(e))
	case core.UsageChanged:
		return usage(dst, v, e)
	case core.TitleChanged:
		return update(dst, v, acp.InfoUpdate{SessionUpdate: "session_info_update", Title: e.Title})
	case core.Notice:
		return chunks(dst, v, acp.AgentChunk, "", notice(e))
	case core.Truncated:
		return chunks(dst, v, acp.AgentChunk, "", "\n[The conversation was taken back to an earlier point. Load the session again to see it as it is now.]\n")
	case core.TurnEnded:
		mine := v.mine[e.Turn]
		delete(v.mine, e.Turn)
		if e.Err != "" && !mine { // to its prompter the answer says it
			return chunks(dst, v, acp.AgentChunk, "", "\n[The turn failed: "+e.Err+"]\n")
		}
	case core.Opened, core.Claimed, core.PromptQueued, core.Phase, core.ThoughtStarted, core.ThoughtEnded, core.CallArgs,
		core.SettingsChanged, core.Bound, core.Flagged, core.Expanded, core.Compacted, core.Reverted, core.Cited, core.Moved, core.Unknown:
		// Version 1 has no word for these; arguments come whole with the call.
	}
	return dst
}

// chunks appends a message's text, in pieces that every client can read.
func chunks(dst []byte, v *View, kind, id, text string) []byte {
	for len(text) > 0 {
		n := min(len(text), maxChunk)
		for n < len(text) && n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		dst = head(dst, v)
		dst = append(dst, `{"sessionUpdate":"`...)
		dst = append(dst, kind...)
		dst = append(dst, `","content":{"type":"text","text":`...)
		dst = wire.AppendString(dst, text[:n])
		dst = append(dst, '}')
		if id != "" {
			dst = append(dst, `,"messageId":`...)
			dst = wire.AppendString(dst, id)
		}
		dst = append(dst, "}}}\n"...)
		text = text[n:]
	}
	return dst
}

func head(dst []byte, v *View) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`...)
	dst = wire.AppendString(dst, string(v.Session))
	return append(dst, `,"update":`...)
}

// update appends one update that is not on the hot path.
func update(dst []byte, v *View, u any) []byte {
	at := len(dst)
	dst, err := wire.AppendJSON(head(dst, v), u)
	if err != nil { // raw JSON of a tool that is none: the update is left out, the stream stays whole
		return dst[:at]
	}
	return append(dst, "}}\n"...)
}

// user appends what a user said.
func user(dst []byte, v *View, id core.MessageID, prompt []core.Block) []byte {
	for _, b := range prompt {
		if t, ok := b.(core.Text); ok {
			dst = chunks(dst, v, acp.UserChunk, string(id), t.Text)
			continue
		}
		dst = update(dst, v, acp.Chunk{SessionUpdate: acp.UserChunk, Content: content(b), MessageID: string(id)})
	}
	return dst
}

// content is a block as the protocol has it. A diff, which has no form outside of
// a tool call, becomes text.
func content(b core.Block) acp.ContentBlock {
	switch b := b.(type) {
	case core.Text:
		return text(b.Text)
	case core.Image:
		return acp.ContentBlock{Type: "image", Data: base64.StdEncoding.EncodeToString(b.Data), MIMEType: b.MIME, URI: b.URI}
	case core.Audio:
		return acp.ContentBlock{Type: "audio", Data: base64.StdEncoding.EncodeToString(b.Data), MIMEType: b.MIME}
	case core.Link:
		c := acp.ContentBlock{Type: "resource_link", URI: b.URI, Name: b.Name, Title: b.Title, Description: b.Description, MIMEType: b.MIME}
		if c.Name == "" {
			c.Name = b.URI
		}
		if b.Size > 0 {
			c.Size = &b.Size
		}
		return c
	case core.Resource:
		res := &acp.Resource{URI: b.URI, MIMEType: b.MIME}
		if b.Blob != nil {
			s := base64.StdEncoding.EncodeToString(b.Blob)
			res.Blob = &s
		} else {
			res.Text = &b.Text
		}
		return acp.ContentBlock{Type: "resource", Resource: res}
	case core.Diff:
		return text(b.Patch)
	case core.Terminal: // it has a content of its own, in a call
	}
	return text("")
}

func text(s string) acp.ContentBlock { return acp.ContentBlock{Type: "text", Text: &s} }

// call appends what has changed of a call since the client was told last.
func call(dst []byte, v *View, c core.Call) []byte {
	u := acp.ToolCall{SessionUpdate: acp.ToolCallMore, ToolCallID: string(c.ID)}
	was := v.calls[c.ID]
	if was == nil {
		u.SessionUpdate, u.Name = acp.ToolCallNew, c.Tool
		was = &told{}
		v.calls[c.ID] = was
	}
	nothing := u
	if t := title(c); t != title(was.call) {
		u.Title = t
	}
	if c.Kind != was.call.Kind {
		u.Kind = acp.ToolKind(c.Kind)
	}
	if st := status(c.State); was.call.State == "" || st != status(was.call.State) {
		u.Status = st
	}
	if string(c.Args) != string(was.call.Args) {
		u.RawInput = rawOf(c.Args)
	}
	if string(c.Output) != string(was.call.Output) {
		u.RawOutput = rawOf(c.Output)
	}
	if !slices.Equal(c.Locations, was.call.Locations) {
		u.Locations = locations(c.Locations)
	}
	if blocks := shown(c); len(blocks) > 0 && (c.State.Ended() || len(was.call.Content) != len(c.Content)) {
		u.Content = blocks
	}
	was.call = c
	if c.State.Ended() {
		delete(v.calls, c.ID)
	}
	if reflect.DeepEqual(u, nothing) {
		return dst
	}
	return update(dst, v, u)
}

// shown is a call's content; one that was not run says why.
func shown(c core.Call) (list []acp.ToolContent) {
	left := maxResult
	for _, b := range c.Content {
		if d, ok := b.(core.Diff); ok {
			t := acp.ToolContent{Type: "diff", Path: d.Path, NewText: &d.New}
			if !d.Created {
				t.OldText = &d.Old
			}
			list = append(list, t)
			continue
		}
		if t, ok := b.(core.Text); ok {
			b = core.Text{Text: cut(t.Text, left)}
			left = max(left-len(t.Text), 0)
		}
		block := content(b)
		list = append(list, acp.ToolContent{Type: "content", Content: &block})
	}
	if c.Why != "" && (c.State == core.Rejected || c.State == core.Canceled) {
		block := text(c.Why)
		list = append(list, acp.ToolContent{Type: "content", Content: &block})
	}
	return list
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "\n[…]"
}

// rawOf is raw input or output as far as it fits.
func rawOf(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxResult {
		return nil
	}
	return raw
}

// output appends the end of what a running call has printed: content replaces.
func output(dst []byte, v *View, e core.CallOutput) []byte {
	was := v.calls[e.Call]
	if was == nil {
		return dst
	}
	was.output += e.Text
	if n := len(was.output) - maxTail; n > 0 {
		for n < len(was.output) && !utf8.RuneStart(was.output[n]) {
			n++
		}
		was.output = was.output[n:]
	}
	block := text(was.output)
	return update(dst, v, acp.ToolCall{
		SessionUpdate: acp.ToolCallMore, ToolCallID: string(e.Call), Content: []acp.ToolContent{{Type: "content", Content: &block}},
	})
}

func title(c core.Call) string {
	if c.Title != "" {
		return c.Title
	}
	return c.Tool
}

// status: version 1 has no word for a call that was rejected or cancelled.
func status(s core.CallState) acp.ToolStatus {
	switch s {
	case core.Proposed, core.Awaiting:
		return acp.StatusPending
	case core.Running:
		return acp.StatusInProgress
	case core.Succeeded:
		return acp.StatusCompleted
	case core.Errored, core.Rejected, core.Canceled:
	}
	return acp.StatusFailed
}

func locations(list []core.Location) []acp.ToolLocation {
	out := make([]acp.ToolLocation, len(list))
	for i, l := range list {
		out[i].Path = l.Path
		if l.Line > 0 {
			out[i].Line = &l.Line
		}
	}
	return out
}

func plan(e core.PlanChanged) acp.Plan {
	p := acp.Plan{SessionUpdate: "plan", Entries: make([]acp.PlanEntry, len(e.Entries))}
	for i, entry := range e.Entries {
		p.Entries[i].Content = entry.Text
		p.Entries[i].Status = acp.PlanStatus(entry.Status)
		p.Entries[i].Priority = "medium"
		switch entry.Priority {
		case "high", "low":
			p.Entries[i].Priority = acp.PlanPriority(entry.Priority)
		}
	}
	return p
}

// usage needs the window's size; where that is unknown nothing is said.
func usage(dst []byte, v *View, e core.UsageChanged) []byte {
	if e.Window == 0 {
		return dst
	}
	u := acp.UsageUpdate{SessionUpdate: "usage_update", Used: e.Context, Size: e.Window}
	if e.Total.Cost != nil {
		u.Cost = &acp.Cost{Amount: *e.Total.Cost, Currency: "USD"}
	}
	return update(dst, v, u)
}

func notice(n core.Notice) string {
	switch n.Severity {
	case core.Info:
		return "\n[" + n.Text + "]\n"
	case core.Warning, core.Failure:
	}
	return "\n[" + strings.ToUpper(string(n.Severity[:1])) + string(n.Severity[1:]) + ": " + n.Text + "]\n"
}
