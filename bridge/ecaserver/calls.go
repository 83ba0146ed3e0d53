package ecaserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/judge"
	"dragoman/core"
	"dragoman/core/display"
)

// call is a call of a tool of the server's, as far as it was described.
type call struct {
	is      core.Call // as the log has it, or will have it
	turn    core.TurnID
	head    eca.ToolCall
	details details
	more    bool      // it has other details than the log
	ours    bool      // it is a call of our own server of tools, which the log has by itself
	sub     *subagent // that it has delegated its task to; nil: none

	// chat.mu guards the fields below. While asking is set, is belongs to the goroutine that asks.
	asking bool
	cancel context.CancelFunc // ends the question
}

// described holds the members of a content of a call, of any type.
type described struct {
	eca.ToolCall
	ArgumentsText  string          `json:"argumentsText"`
	Arguments      json.RawMessage `json:"arguments"`
	ManualApproval bool            `json:"manualApproval"`
	Summary        string          `json:"summary"`
	Details        json.RawMessage `json:"details"`
	Error          bool            `json:"error"`
	Outputs        []struct {
		Text    string `json:"text"`
		Content string `json:"content"` // of 001
	} `json:"outputs"`
	Reason eca.RejectReason `json:"reason"`
}

// prepare takes the announcement of a call, or a part of its arguments.
func (c *chat) prepare(_ received, d described) {
	tc, fresh := c.described(d)
	if tc == nil || tc.ours || c.hides(tc) || c.asks(tc) || tc.is.State != core.Proposed {
		return
	}
	if fresh {
		c.emit(core.CallChanged{Call: tc.is})
	}
	if d.ArgumentsText != "" {
		c.emit(core.CallArgs{Call: tc.is.ID, Text: d.ArgumentsText})
	}
}

// runs takes a call whose arguments are complete. If it waits for an approval, the gate is asked.
func (c *chat) runs(_ received, d described) {
	tc, _ := c.described(d)
	switch {
	case tc == nil:
		return
	case tc.ours: // the call itself is asked about when it comes to our server
		if d.ManualApproval {
			c.decide(d.ID, true)
		}
		return
	case c.asks(tc):
		return
	case !d.ManualApproval:
		c.plan(tc)
		if !c.hides(tc) && tc.is.State == core.Proposed {
			c.emit(core.CallChanged{Call: tc.is})
		}
		return
	}
	if tc.is.State != core.Proposed { // it is asked about again, for something else: a call of its own in the log
		tc = &call{is: tc.is, turn: tc.turn, head: tc.head, details: tc.details}
		tc.is.ID, tc.is.State, tc.is.Why, tc.is.Child = core.CallID(c.newID("c")), core.Proposed, "", ""
		c.calls[d.ID] = tc
	}
	j := c.talk.judging().Of(tc.neutral())
	if line := j.Line(); line != "" {
		tc.is.Title = judge.Titled(tc.is.Title, line)
	}
	c.emit(core.CallChanged{Call: tc.is})
	c.ask(tc, j)
}

// running takes a call that runs. What the server did not ask about it runs by its own rules.
func (c *chat) running(_ received, d described) {
	tc, _ := c.described(d)
	if tc == nil || tc.ours || c.asks(tc) {
		return
	}
	if c.plan(tc); c.hides(tc) {
		return
	}
	c.begins(tc)
	c.delegates(tc)
}

// begins shows a call as running, if it is not shown so, or shows more of it.
func (c *chat) begins(tc *call) {
	more := tc.more
	tc.more = false
	switch tc.is.State {
	case core.Proposed:
		tc.is.State, tc.is.Start = core.Running, c.talk.b.o.Time()
		if tc.is.Why == "" {
			tc.is.Why = "run by agent " + c.talk.b.o.Name + " without asking"
		}
	case core.Running:
		if !more {
			return
		}
	case core.Awaiting, core.Succeeded, core.Errored, core.Rejected, core.Canceled:
		return
	}
	c.emit(core.CallChanged{Call: tc.is})
}

// called takes the result of a call.
func (c *chat) called(_ received, d described) {
	tc, fresh := c.described(d)
	if tc == nil || tc.ours || c.asks(tc) {
		return
	}
	if c.plan(tc); c.hides(tc) {
		delete(c.calls, d.ID)
		return
	}
	if fresh {
		c.emit(core.CallChanged{Call: tc.is})
	}
	if tc.is.State.Ended() {
		return
	}
	c.delegates(tc)
	c.begins(tc)
	var texts []core.Block
	for _, o := range d.Outputs {
		if text := o.Text; text != "" {
			texts = append(texts, core.Text{Text: text})
		} else if o.Content != "" {
			texts = append(texts, core.Text{Text: o.Content})
		}
	}
	tc.is.Content = append(tc.details.blocks(c.talk.b.paths), texts...)
	tc.is.Output = tc.details.output()
	tc.is.State, tc.is.End = core.Succeeded, c.talk.b.o.Time()
	if d.Error {
		tc.is.State = core.Errored
	}
	c.emit(core.CallChanged{Call: tc.is})
	c.delegated(tc)
}

// reasons say why a call did not run, for people.
var reasons = map[eca.RejectReason]string{
	eca.RejectConfig: "rejected by the agent's own rules", eca.RejectConfig000: "rejected by the agent's own rules",
	"hookRejected": "rejected by a hook of the agent's", eca.RejectUser: "rejected", eca.RejectUser000: "rejected", eca.RejectAnybody001: "rejected",
	eca.RejectStop: "stopped", "userStop": "stopped",
}

// rejected takes the end of a call that did not run.
func (c *chat) rejected(_ received, d described) {
	tc, fresh := c.described(d)
	if tc == nil || tc.ours {
		return
	}
	c.mu.Lock()
	asking, cancel := tc.asking, tc.cancel
	c.mu.Unlock()
	if asking {
		cancel() // and with the question ends the call
		return
	}
	if c.hides(tc) || tc.is.State.Ended() {
		return
	}
	if fresh {
		c.emit(core.CallChanged{Call: tc.is})
	}
	tc.is.State, tc.is.End = core.Rejected, c.talk.b.o.Time()
	if d.Reason == eca.RejectStop || d.Reason == "userStop" {
		tc.is.State = core.Canceled
	}
	if tc.is.Why = reasons[d.Reason]; tc.is.Why == "" {
		tc.is.Why = display.Line(string(d.Reason), 60)
	}
	c.emit(core.CallChanged{Call: tc.is})
	c.delegated(tc)
}

// described returns a call with what a content says about it; fresh says that the log does not have it.
func (c *chat) described(d described) (tc *call, fresh bool) {
	if d.ID == "" {
		return nil, false
	}
	c.pause()
	now := c.stage.Current().ID()
	tc = c.calls[d.ID]
	if tc != nil && c.asks(tc) {
		return tc, false
	}
	if tc != nil && tc.turn != now && !c.importingNow() && !tc.is.State.Ended() {
		tc = nil // its turn has ended, and with it the call
	}
	if tc == nil {
		fresh = true
		tc = &call{turn: now, is: core.Call{ID: core.CallID(c.newID("c")), Turn: now, State: core.Proposed}}
		c.calls[d.ID] = tc
	}
	if d.Name != "" {
		tc.head = d.ToolCall
	}
	c.describe(tc, d)
	shows := tc.details.changed() != "" || len(tc.details.commands()) > 0 // what no call of ours shows
	tc.ours = tc.head.Origin == eca.OriginMCP && !shows && c.talk.tools.owns(tc.head.Server, tc.head.Name)
	return tc, fresh
}

// describe puts what the server has said into the call.
func (c *chat) describe(tc *call, d described) {
	is := &tc.is
	is.Server, is.Tool = c.talk.b.o.Name, tc.head.Name
	if tc.onServer() {
		is.Server = tc.head.Server
	}
	if d.Summary != "" {
		is.Title = d.Summary
	}
	if args := bytes.TrimSpace(d.Arguments); len(args) > 0 && string(args) != "null" {
		if is.Args = args; args[0] != '{' { // a person sees that, too
			is.Args = wire.JSON(map[string]json.RawMessage{"arguments": args})
		}
	}
	if len(d.Details) > 0 && string(d.Details) != "null" {
		tc.details = detailsOf(d.Details)
		meta := metaOf(d.Details)
		tc.more = tc.more || is.State == core.Running && string(meta) != string(is.Meta)
		is.Meta = meta
	}
	is.Kind = tc.kind()
	if !is.State.Ended() && is.State != core.Running {
		is.Content = tc.details.blocks(c.talk.b.paths)
	}
	if path := tc.details.changed(); path != "" {
		is.Locations = []core.Location{{Path: c.talk.b.paths.Here(path)}}
	}
}

// onServer reports whether the call is one of an MCP server of the agent's own. Our own tools have a name
// that none of these may take.
func (tc *call) onServer() bool {
	return tc.head.Origin == eca.OriginMCP && tc.head.Server != "" && tc.head.Server != core.Native
}

// neutral returns the description of a call in no protocol's form. Its summary is for people, and is no
// command line.
func (tc *call) neutral() judge.Call {
	n := judge.Call{Name: tc.head.Name, Kind: tc.is.Kind, Input: tc.is.Args, Commands: tc.details.commands()}
	if tc.onServer() {
		n.Server = tc.head.Server
	}
	if path := tc.details.changed(); path != "" {
		n.Changed = []string{path}
	}
	return n
}

// asks reports whether somebody is asked about a call.
func (c *chat) asks(tc *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tc.asking
}

func (c *chat) importingNow() bool { return c.imports() != nil }

// maxAgain limits how often a call is asked about again because its turn has ended under the question.
const maxAgain = 5

// ask asks the gate about a call, and gives the answer to the server.
func (c *chat) ask(tc *call, j judge.Judged) {
	p := c.talk.program()
	if p == nil || c.importingNow() {
		return
	}
	select {
	case p.room <- struct{}{}:
	default:
		c.decide(tc.head.ID, false)
		return
	}
	ctx, cancel := context.WithCancel(p.life)
	c.mu.Lock()
	tc.asking, tc.cancel = true, cancel
	c.mu.Unlock()
	is, id := tc.is, tc.head.ID
	c.talk.waits(1)
	p.asks.Go(func() {
		defer cancel()
		defer func() {
			c.talk.waits(-1)
			<-p.room
		}()
		allowed := c.authorize(ctx, &is, j)
		c.mu.Lock()
		tc.asking, tc.is = false, is
		c.mu.Unlock()
		c.decide(id, allowed)
	})
}

// authorize asks the gate about a call, and leaves in it the state that the log has. If its turn ends under
// the question without having been stopped, it is asked about again, in another turn.
func (c *chat) authorize(ctx context.Context, is *core.Call, j judge.Judged) bool {
	for range maxAgain {
		if c.stage.Stopped() {
			break
		}
		reply, err := c.host.Authorize(ctx, core.Request{Call: *is, Spec: j.Spec, Access: j.Access})
		if err == nil {
			is.State = core.Rejected
			if reply.Decision.Allows() {
				is.State, is.Start, is.Why = core.Running, c.talk.b.o.Time(), reply.Why
			}
			return reply.Decision.Allows()
		}
		if ctx.Err() != nil || !errors.Is(err, core.ErrOver) || !c.emit() { // it was withdrawn, or the turn was stopped
			break
		}
		is.ID, is.State = c.stage.Current().NewCall(), core.Proposed
		if !c.emit(core.CallChanged{Call: *is}) {
			break
		}
	}
	is.State = core.Canceled
	return false
}

// decide tells the server whether a call may run. What is remembered is remembered here alone.
func (c *chat) decide(id string, allowed bool) {
	p := c.talk.program()
	if p == nil {
		return
	}
	method := eca.MethodReject
	if allowed {
		method = eca.MethodApprove
	}
	_ = p.conn.Notify(method, eca.ApproveParams{ChatID: c.id, ToolCallID: id}) // a program that has ended needs none
}

// native are the kinds of the tools that servers bring themselves.
var native = map[string]core.CallKind{
	"read_file": core.KindRead, "directory_tree": core.KindRead, "list_directory": core.KindRead, "skill": core.KindRead, "fetch_rule": core.KindRead,
	"editor_diagnostics": core.KindRead, "editor_definition": core.KindRead, "editor_references": core.KindRead,
	"grep": core.KindSearch, "find_files": core.KindSearch, "write_file": core.KindEdit, "edit_file": core.KindEdit, "preview_file_change": core.KindEdit,
	"move_file": core.KindMove, "delete_file": core.KindDelete, "shell_command": core.KindExecute, "git": core.KindExecute,
	"web_fetch": core.KindFetch, "web_search": core.KindFetch, "task": core.KindThink, "spawn_agent": core.KindThink, "compact_chat": core.KindThink,
	"ask_user": core.KindThink,
}

// kind returns the kind of a call, which the protocol does not have: that of a known tool, or of what its
// details show.
func (tc *call) kind() core.CallKind {
	if tc.head.Origin != eca.OriginMCP {
		if kind, ok := native[strings.TrimPrefix(tc.head.Name, eca.NativeServer+"__")]; ok {
			return kind
		}
	}
	switch tc.details.Type {
	case eca.TypeFileChange:
		return core.KindEdit
	case eca.TypeShellCommand:
		return core.KindExecute
	case eca.TypeSubagent, eca.TypeTask:
		return core.KindThink
	}
	return core.KindOther
}
