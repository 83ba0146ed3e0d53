package eca

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// call is what the client knows of a tool call.
type call struct {
	n        int // the how-manieth it is
	now      core.Call
	head     []byte // a toolCallPrepare, up to its text
	prepared bool
	sent     bool // something of its arguments
	ran      bool // toolCallRun was sent
	running  bool // toolCallRunning was sent
	outcome  core.Outcome
}

// callChanged shows what has become of a call. Whatever comes first, the client
// sees toolCallPrepare, toolCallRun, toolCallRunning and an end in this order.
func (v *View) callChanged(dst []byte, now core.Call) []byte {
	c := v.calls[now.ID]
	if c == nil {
		c = &call{n: v.began}
		v.began++
		v.calls[now.ID] = c
	}
	c.now = now
	switch now.State {
	case core.Proposed:
		if v.dialect == Doc001 { // there a call is prepared once, with all of its arguments
			return dst
		}
		return v.prepare(dst, c)
	case core.Awaiting:
		dst = v.prepare(dst, c)
		if v.live { // a replay shows only those that still wait, at its end
			dst = v.run(dst, c, now, true)
		}
	case core.Running:
		dst = v.prepare(dst, c)
		dst = v.run(dst, c, now, false)
		if !c.running && v.dialect != Doc001 {
			c.running = true
			dst = v.content(dst, eca.RoleAssistant, eca.ToolCallRunning{
				ToolCall: toolCall(eca.TypeToolCallRunning, now), Arguments: object(now.Args), Summary: now.Title, Details: details(now.Content),
			})
		}
	case core.Succeeded, core.Errored:
		dst = v.called(v.prepare(dst, c), now)
		delete(v.calls, now.ID)
	case core.Rejected:
		why := byRule
		if c.outcome == core.OutcomeDecided {
			why = byUser
		}
		dst = v.rejected(v.prepare(dst, c), now, why)
		delete(v.calls, now.ID)
	case core.Canceled:
		dst = v.rejected(v.prepare(dst, c), now, byStop)
		delete(v.calls, now.ID)
	}
	return dst
}

// prepare announces a call: webviews ignore all that is said of one that was not.
// The text of the arguments is a delta, so it is sent here only if no part of it
// was.
func (v *View) prepare(dst []byte, c *call) []byte {
	text := ""
	if !c.sent {
		text = string(c.now.Args)
	}
	if c.prepared && text == "" {
		return dst
	}
	c.sent = c.sent || text != ""
	if !c.prepared {
		c.prepared = true
		c.head = v.prepareHead(c.now)
		if text == "" {
			return prepared(dst, c, "", c.now.State == core.Awaiting)
		}
	}
	for part := range whole(text, v.dialect == Doc001) {
		dst = prepared(dst, c, part, c.now.State == core.Awaiting)
	}
	return dst
}

// whole cuts text into the parts of a delta, or leaves it in one piece.
func whole(text string, one bool) func(func(string) bool) {
	if one {
		return func(yield func(string) bool) { yield(text) }
	}
	return parts(text)
}

// callArgs shows a part of the arguments while they arrive. What comes of them when
// the call is further on is in the call itself.
func (v *View) callArgs(dst []byte, e core.CallArgs) []byte {
	c := v.calls[e.Call]
	if c == nil || c.now.State != core.Proposed || v.dialect == Doc001 || e.Text == "" {
		return dst
	}
	c.sent = true
	for part := range parts(e.Text) {
		dst = prepared(dst, c, part, false)
	}
	return dst
}

func (v *View) prepareHead(now core.Call) []byte {
	t := toolCall(eca.TypeToolCallPrepare, now)
	b := append(slices.Clone(v.head), string(eca.RoleAssistant)+`","content":{"type":"`+eca.TypeToolCallPrepare+`","origin":"`...)
	b = append(append(b, t.Origin...), `","id":`...)
	b = wire.AppendString(b, t.ID)
	b = wire.AppendString(append(b, `,"name":`...), t.Name)
	b = wire.AppendString(append(b, `,"server":`...), t.Server)
	return append(b, `,"argumentsText":`...)
}

func prepared(dst []byte, c *call, text string, asks bool) []byte {
	dst = append(dst, c.head...)
	dst = wire.AppendString(dst, text)
	dst = fmt.Appendf(dst, `,"manualApproval":%t`, asks)
	if c.now.Title != "" {
		dst = wire.AppendString(append(dst, `,"summary":`...), c.now.Title)
	}
	return append(dst, "}}}\n"...)
}

func (v *View) run(dst []byte, c *call, now core.Call, asks bool) []byte {
	if c.ran {
		return dst
	}
	c.ran = true
	return v.content(dst, eca.RoleAssistant, eca.ToolCallRun{
		ToolCall: toolCall(eca.TypeToolCallRun, now), Arguments: object(now.Args), ManualApproval: asks, Summary: now.Title, Details: details(now.Content),
	})
}

func (v *View) called(dst []byte, now core.Call) []byte {
	c := eca.ToolCalled{
		ToolCall: toolCall(eca.TypeToolCalled, now), Arguments: object(now.Args), Error: now.State == core.Errored, Outputs: outputs(now),
		Summary: now.Title, Details: details(now.Content),
	}
	if !now.Start.IsZero() && now.End.After(now.Start) {
		c.TotalTimeMs = now.End.Sub(now.Start).Milliseconds()
	}
	if v.client == "eca-cli" { // it reads this one field alone
		for _, o := range c.Outputs {
			c.Output += o.Text
		}
	}
	return v.content(dst, eca.RoleAssistant, c)
}

func (v *View) rejected(dst []byte, now core.Call, why refusal) []byte {
	return v.content(dst, eca.RoleAssistant, eca.ToolCallRejected{
		ToolCall: toolCall(eca.TypeToolCallRejected, now), Arguments: object(now.Args), Reason: v.dialect.reason(why), Summary: now.Title,
		Details: details(now.Content),
	})
}

// answered notes who decided on a call; the call's own record shows what.
func (v *View) answered(dst []byte, e core.Answered) []byte {
	if c := v.calls[v.asks[e.Ask]]; c != nil {
		c.outcome = e.Reply.Outcome
	}
	delete(v.asks, e.Ask)
	return dst
}

// toolCall is what all contents of a call begin with. Clients keep the tool "task"
// of the server "eca" for their own panel, so nothing of ours may have both names.
func toolCall(kind string, now core.Call) eca.ToolCall {
	t := eca.ToolCall{Type: kind, Origin: eca.OriginMCP, ID: string(now.ID), Name: now.Tool, Server: now.Server}
	if now.Server == core.Native {
		t.Origin, t.Server = eca.OriginNative, eca.NativeServer
	}
	if t.Server == eca.NativeServer && (t.Origin == eca.OriginMCP || t.Name == eca.ToolTask) {
		t.Server = string(t.Origin) + " " + eca.NativeServer
	}
	return t
}

// object is a call's arguments as an object, whatever a model wrote: the Emacs
// client fails on anything else.
func object(args json.RawMessage) json.RawMessage {
	if trimmed := bytes.TrimLeft(args, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed
	}
	return json.RawMessage("{}")
}

// details shows what a call changes; nil: nothing that the protocol has a form for.
func details(content []core.Block) any {
	var c *eca.FileChange
	for _, b := range content {
		d, ok := b.(core.Diff)
		if !ok {
			continue
		}
		if c == nil {
			c = &eca.FileChange{Type: eca.TypeFileChange, Path: d.Path}
		}
		patch, added, removed := patchOf(d)
		if c.Diff != "" && !strings.HasSuffix(c.Diff, "\n") {
			c.Diff += "\n"
		}
		c.Diff += patch
		c.LinesAdded += added
		c.LinesRemoved += removed
	}
	if c == nil {
		return nil
	}
	return c
}

// patchOf is a change as a unified diff. One that came without is written as the
// whole file before and after.
func patchOf(d core.Diff) (patch string, added, removed int) {
	if d.Patch != "" {
		return d.Patch, d.Added, d.Removed
	}
	var body strings.Builder
	for line := range strings.Lines(d.Old) {
		body.WriteString("-" + strings.TrimSuffix(line, "\n") + "\n")
		removed++
	}
	for line := range strings.Lines(d.New) {
		body.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
		added++
	}
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", min(removed, 1), removed, min(added, 1), added) + body.String(), added, removed
}

// outputs is a call's result. What is no text is named; a change is in the details.
func outputs(now core.Call) []eca.Output {
	list := []eca.Output{}
	for _, b := range now.Content {
		text := ""
		switch b := b.(type) {
		case core.Text:
			text = b.Text
		case core.Resource:
			if text = b.Text; text == "" {
				text = nameOf(b)
			}
		case core.Image, core.Audio, core.Link:
			text = nameOf(b)
		case core.Diff:
			continue
		}
		list = append(list, eca.Output{Type: eca.TypeText, Text: text, Content: text})
	}
	if len(list) == 0 && now.State == core.Errored && now.Why != "" {
		list = append(list, eca.Output{Type: eca.TypeText, Text: now.Why, Content: now.Why})
	}
	return list
}

// nameOf stands for content that is not text.
func nameOf(b core.Block) string {
	switch b := b.(type) {
	case core.Text:
		return b.Text
	case core.Image:
		return fmt.Sprintf("[image %s, %d bytes]", b.MIME, len(b.Data))
	case core.Audio:
		return fmt.Sprintf("[audio %s, %d bytes]", b.MIME, len(b.Data))
	case core.Link:
		if b.Name != "" {
			return "[" + b.Name + "](" + b.URI + ")"
		}
		return b.URI
	case core.Resource:
		return b.URI
	case core.Diff:
		return b.Path
	}
	return ""
}
