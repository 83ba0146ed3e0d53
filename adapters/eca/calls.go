package eca

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"dragoman/adapters/clients"
	"dragoman/adapters/eca/content"
	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// call is the client's knowledge of a tool call.
type call struct {
	n        int // its index among the calls
	now      core.Call
	head     []byte // a toolCallPrepare, up to its text
	prepared bool
	sent     bool          // a part of its arguments
	args     string        // the part that a history has, as long as they are not whole
	waited   bool          // somebody was asked about it, in a history
	ran      bool          // toolCallRun was sent
	running  bool          // toolCallRunning was sent
	task     bool          // it is shown as the plan
	about    bool          // it belongs to a child, and is shown only for its approval
	question bool          // its approval is put as a question: it must not be decided by buttons
	child    *eca.Subagent // for a call that delegates a task: the last description of its child that was sent
	outcome  core.Outcome
}

// callChanged shows the new state of a call. Whatever the order of the records, the client sees
// toolCallPrepare, toolCallRun, toolCallRunning and an end in this order.
func (v *View) callChanged(dst []byte, now core.Call) []byte {
	c := v.calls[now.ID]
	if c == nil {
		c = &call{n: v.began}
		v.began++
		v.calls[now.ID] = c
	}
	c.now = now
	if v.plans(now) {
		ordinary := false
		if dst, ordinary = v.planCall(dst, c); !ordinary {
			return v.over(dst, c)
		}
	}
	if v.gathers() && !now.State.Ended() {
		c.waited = c.waited || now.State == core.Awaiting
		v.progressed(c)
		return dst
	}
	switch now.State {
	case core.Proposed:
		return v.prepare(dst, c)
	case core.Awaiting: // the request for approval follows
	case core.Running:
		dst = v.runs(v.prepare(dst, c), c)
	case core.Succeeded, core.Errored:
		dst = v.called(v.prepare(dst, c), c)
	case core.Rejected:
		why := eca.RejectConfig
		if c.outcome == core.OutcomeDecided {
			why = eca.RejectUser
		}
		dst = v.rejected(v.prepare(dst, c), c, why)
	case core.Canceled:
		if dst = v.prepare(dst, c); !now.Start.IsZero() && slices.ContainsFunc(now.Content, isText) {
			dst = v.called(dst, c) // toolCallRejected has no field for the call's output
		} else {
			dst = v.rejected(dst, c, eca.RejectStop)
		}
	}
	return v.over(dst, c)
}

// runs shows that a call runs.
func (v *View) runs(dst []byte, c *call) []byte {
	dst = v.run(dst, c, false)
	if progressed := v.progressed(c); !c.running || progressed {
		c.running = true
		dst = v.content(dst, eca.RoleAssistant, eca.ToolCallRunning{
			ToolCall: toolCall(eca.TypeToolCallRunning, c), Arguments: object(c.now.Args), Summary: c.now.Title, Details: v.details(c),
		})
	}
	return dst
}

// awaiting shows a call whose approval is asked for.
func (v *View) awaiting(dst []byte, c *call, a core.Ask) []byte {
	if c.question = !a.Fits(); v.gathers() {
		return dst
	}
	dst = v.prepare(dst, c)
	if v.live { // a replay shows only the calls that still wait, at its end
		dst = v.run(dst, c, true)
	}
	return dst
}

// asks reports whether the client can approve the call.
func (c *call) asks() bool { return c.now.State == core.Awaiting && !c.question }

// over removes a call that has ended.
func (v *View) over(dst []byte, c *call) []byte {
	if c.now.State.Ended() {
		delete(v.calls, c.now.ID)
		if c.task {
			v.planners--
		}
	}
	return dst
}

// prepare announces a call: webviews ignore messages about a call that was not announced. The
// text of the arguments is a delta, so it is sent here only if no part of it was sent before.
func (v *View) prepare(dst []byte, c *call) []byte {
	text := ""
	switch {
	case c.sent:
	case len(c.now.Args) == 0:
		text = c.args
	case v.gathers() && c.now.State.Ended(): // no toolCallRun follows
		text = indented(c.now.Args)
	default:
		text = string(c.now.Args)
	}
	if c.prepared && text == "" {
		return dst
	}
	c.sent = c.sent || text != ""
	if !c.prepared {
		c.prepared = true
		c.head = v.prepareHead(c)
		if text == "" {
			return prepared(dst, c, "", c.asks())
		}
	}
	for part := range parts(text, v.frame) {
		dst = prepared(dst, c, part, c.asks())
	}
	return dst
}

// callArgs shows a part of the arguments as they arrive. Once the call is past that stage, its
// own record has the arguments.
func (v *View) callArgs(dst []byte, e core.CallArgs) []byte {
	c := v.calls[e.Call]
	if c == nil || c.now.State != core.Proposed || e.Text == "" || v.plans(c.now) {
		return dst
	}
	if v.gathers() {
		c.args += e.Text
		return dst
	}
	c.sent = true
	for part := range parts(e.Text, v.frame) {
		dst = prepared(dst, c, part, false)
	}
	return dst
}

func (v *View) prepareHead(c *call) []byte {
	t := toolCall(eca.TypeToolCallPrepare, c)
	b := append(
		slices.Clone(v.head),
		string(eca.RoleAssistant)+`","content":{"type":"`+eca.TypeToolCallPrepare+`","origin":"`...)
	b = append(append(b, t.Origin...), `","id":`...)
	b = jsonscan.AppendString(b, t.ID)
	b = jsonscan.AppendString(append(b, `,"name":`...), t.Name)
	b = jsonscan.AppendString(append(b, `,"server":`...), t.Server)
	return append(b, `,"argumentsText":`...)
}

func prepared(dst []byte, c *call, text string, asks bool) []byte {
	dst = append(dst, c.head...)
	dst = jsonscan.AppendString(dst, text)
	dst = fmt.Appendf(dst, `,"manualApproval":%t`, asks)
	if c.now.Title != "" {
		dst = jsonscan.AppendString(append(dst, `,"summary":`...), c.now.Title)
	}
	return append(dst, "}}}\n"...)
}

func (v *View) run(dst []byte, c *call, asks bool) []byte {
	if c.ran {
		return dst
	}
	c.ran = true
	asks = asks && !c.question
	t, args := toolCall(eca.TypeToolCallRun, c), object(c.now.Args)
	if asks && t.Origin == eca.OriginMCP {
		args = display.VisibleArgs(args) // no other message shows all of them
	}
	return v.content(dst, eca.RoleAssistant, eca.ToolCallRun{
		ToolCall: t, Arguments: args, ManualApproval: asks, Summary: c.now.Title, Details: v.details(c),
	})
}

func (v *View) called(dst []byte, c *call) []byte {
	now := c.now
	t := eca.ToolCalled{
		ToolCall: toolCall(eca.TypeToolCalled, c), Arguments: object(now.Args), Error: now.State != core.Succeeded, Outputs: v.outputs(now),
		Summary: now.Title, Details: v.details(c),
	}
	if !now.Start.IsZero() && now.End.After(now.Start) {
		t.TotalTimeMs = now.End.Sub(now.Start).Milliseconds()
	}
	if clients.Of(v.client).Output {
		for _, o := range t.Outputs {
			t.Output += o.Text
		}
	}
	return v.images(v.content(dst, eca.RoleAssistant, t), now.Content)
}

// images shows the images of a call's result; its outputs only name them.
func (v *View) images(dst []byte, content []core.Block) []byte {
	for _, b := range content {
		if b, ok := b.(core.Image); ok && len(b.Data) > 0 {
			dst = v.content(dst, eca.RoleAssistant, eca.ImageContent{Type: eca.TypeImage, MediaType: b.MIME, Base64: b.Data})
		}
	}
	return dst
}

func (v *View) rejected(dst []byte, c *call, why eca.RejectReason) []byte {
	return v.content(dst, eca.RoleAssistant, eca.ToolCallRejected{
		ToolCall: toolCall(eca.TypeToolCallRejected, c), Arguments: object(c.now.Args), Reason: why, Summary: c.now.Title,
		Details: v.details(c),
	})
}

// answered records who decided on a call; the call's own record has the decision.
func (v *View) answered(dst []byte, e core.Answered) []byte {
	c := v.calls[v.asks[e.Ask].Call]
	delete(v.asks, e.Ask)
	switch {
	case c == nil:
	case c.about:
		return v.decided(dst, c, e.Reply)
	default:
		c.outcome = e.Reply.Outcome
		if e.Reply.Decision == core.AllowSession || e.Reply.Decision == core.AllowAlways {
			v.allowed.Add(c.now)
		}
	}
	return dst
}

// toolCall returns the fields that all contents of a call begin with. Clients show the tool
// "task" of the server "eca" in a panel of its own, so only the plan may have both names.
func toolCall(kind string, c *call) eca.ToolCall {
	now := c.now
	if c.task {
		return eca.ToolCall{
			Type:   kind,
			Origin: eca.OriginNative,
			ID:     string(now.ID),
			Name:   eca.ToolTask,
			Server: eca.NativeServer,
		}
	}
	t := eca.ToolCall{Type: kind, Origin: eca.OriginMCP, ID: string(now.ID), Name: now.Tool, Server: now.Server}
	if now.Server == core.Native {
		t.Origin, t.Server = eca.OriginNative, eca.NativeServer
	}
	if t.Server == eca.NativeServer && (t.Origin == eca.OriginMCP || t.Name == eca.ToolTask) {
		t.Server = string(t.Origin) + " " + eca.NativeServer
	}
	return t
}

// object returns a call's arguments as an object, even if the model wrote something else: the
// Emacs client fails on any other value.
func object(args json.RawMessage) json.RawMessage {
	if trimmed := bytes.TrimLeft(args, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed
	}
	return json.RawMessage("{}")
}

func isText(b core.Block) bool { _, is := b.(core.Text); return is }

// outputs returns a call's result as texts. Content that is not text is named; a change is shown
// in the details. Clients of early documents get each text twice.
func (v *View) outputs(now core.Call) []eca.Output {
	list := []eca.Output{}
	add := func(text string) {
		o := eca.Output{Type: eca.TypeText, Text: text}
		if len(v.lacks) > 0 {
			o.Content = &text
		}
		list = append(list, o)
	}
	for _, b := range now.Content {
		text := ""
		switch b := b.(type) {
		case core.Text:
			text = b.Text
		case core.Resource:
			if text = b.Text; text == "" {
				text = content.Name(b)
			}
		case core.Image, core.Audio, core.Link:
			text = content.Name(b)
		case core.Diff, core.Terminal:
			continue
		}
		add(text)
	}
	if now.State == core.Canceled {
		add(now.Why)
	}
	if len(list) == 0 { // some documents of the protocol require at least one
		text := ""
		if now.State == core.Errored {
			text = now.Why
		}
		add(text)
	}
	return list
}
