package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/growth"
	"dragoman/bridge/agent/judge"
	"dragoman/bridge/agent/rawinput"
	"dragoman/core"
	"dragoman/core/display"
)

// toolCall is a call of a tool of the agent's own, as far as it has described it.
type toolCall struct {
	call    core.Call // as the log has it, or will have it
	turn    core.TurnID
	theirs  rawCall     // everything that the agent has said about it
	ours    bool        // it is a call of our own server, which the log has by itself
	known   []string    // the names by which it was found to be ours; its title may be another one later
	line    string      // the command line that it was judged by; "": none
	printed growth.Text // the log has it as output

	// conversation.mu guards the fields below. While asking is set, call belongs to the goroutine
	// that asks.
	asking bool
	held   bool // it is reported to run, and not shown so yet: some agents ask only then
}

// rawCall is the update tool_call or tool_call_update, or the subject of a permission request.
// Absent members stay as they are.
type rawCall struct {
	ID        string             `json:"toolCallId"`
	Name      string             `json:"name"`
	Title     *string            `json:"title"`
	Kind      acp.ToolKind       `json:"kind"`
	Status    acp.ToolStatus     `json:"status"`
	Content   *[]acp.ToolContent `json:"content"`
	Locations []acp.ToolLocation `json:"locations"`
	RawInput  json.RawMessage    `json:"rawInput"`
	RawOutput json.RawMessage    `json:"rawOutput"`
	Meta      json.RawMessage    `json:"_meta"`
}

// over returns the description with what is new in u.
func (r rawCall) over(u rawCall) rawCall {
	r.ID = u.ID
	if u.Name != "" {
		r.Name = u.Name
	}
	if u.Title != nil {
		r.Title = u.Title
	}
	if u.Kind != "" {
		r.Kind = u.Kind
	}
	if u.Status != "" {
		r.Status = u.Status
	}
	if u.Content != nil {
		r.Content = u.Content
	}
	if len(u.Locations) > 0 {
		r.Locations = u.Locations
	}
	if rawinput.Says(u.RawInput) {
		r.RawInput = u.RawInput
	}
	if rawinput.Says(u.RawOutput) {
		r.RawOutput = u.RawOutput
	}
	if u.Meta != nil {
		r.Meta = u.Meta
	}
	return r
}

// call handles tool_call and tool_call_update.
func (f *flow) call(raw json.RawMessage) {
	var u rawCall
	if wire.Unmarshal(raw, &u) != nil || u.ID == "" {
		f.foreign(raw, "")
		return
	}
	f.pause()
	if tc := f.described(u); !tc.ours && !f.c.asking(tc) {
		f.advance(tc, u)
	}
}

// asking reports whether somebody is asked about a call.
func (c *conversation) asking(tc *toolCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tc.asking
}

// described returns a call with what an update says about it.
func (f *flow) described(u rawCall) *toolCall {
	if f.calls == nil {
		f.calls = map[string]*toolCall{}
	}
	now := f.c.stage.Current().ID()
	tc := f.calls[u.ID]
	if tc != nil && f.c.takeHeld(tc) { // else the end of the hold may change it meanwhile
		defer f.c.heldOn(tc)
	}
	asking := tc != nil && f.c.asking(tc)
	if tc != nil && !asking && tc.turn != now && f.c.imports() == nil && !tc.call.State.Ended() {
		tc = &toolCall{theirs: tc.theirs, known: tc.known} // its turn has ended, and with it the call
	}
	if tc == nil {
		tc = &toolCall{}
	}
	f.calls[u.ID] = tc
	tc.theirs = tc.theirs.over(u)
	if tc.ours = f.c.owns(tc.theirs, tc.known...); tc.ours && tc.known == nil {
		tc.known = tc.theirs.names()
	}
	if asking {
		return tc
	}
	if tc.call.ID == "" {
		tc.turn = now
		tc.call = core.Call{ID: core.CallID(f.newID("c")), Turn: now, Server: f.c.b.o.Name}
	}
	f.c.describe(tc)
	return tc
}

// describe puts what the agent has said into the call.
func (c *conversation) describe(tc *toolCall) {
	r := tc.theirs
	call := &tc.call
	if call.Kind = kindOf(r.Kind); r.Kind == acp.KindSwitchMode {
		call.Kind = core.CallKind(r.Kind) // for clients: rules judge it as another one
	}
	if r.Title != nil {
		call.Title = judge.Titled(*r.Title, tc.line)
	}
	call.Tool = toolName(r)
	if args := bytes.TrimSpace(r.RawInput); rawinput.Says(args) {
		if call.Args = args; args[0] != '{' { // a person sees that, too
			call.Args = wire.JSON(map[string]json.RawMessage{"rawInput": args})
		}
	}
	call.Locations = nil
	for _, l := range r.Locations {
		at := core.Location{Path: c.b.paths.Here(l.Path)}
		if l.Line != nil {
			at.Line = *l.Line
		}
		call.Locations = append(call.Locations, at)
	}
	if r.Content != nil {
		call.Content = c.blocks(*r.Content)
	}
	if rawinput.Says(r.RawOutput) && strings.HasPrefix(strings.TrimSpace(string(r.RawOutput)), "{") {
		call.Output = r.RawOutput
	}
	call.Meta = withoutTerminals(r.Meta)
}

// names lists everything that the agent calls a call.
func (r rawCall) names() []string {
	names := []string{r.Name, toolName(r)}
	if r.Title != nil {
		names = append(names, *r.Title)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// toolName returns the name of a call's tool: the agent's, or the kind of the call.
func toolName(r rawCall) string {
	return cmp.Or(ownName(r), string(r.Kind), string(core.KindOther))
}

// ownName returns the agent's name of a call's tool; "": it has given none.
func ownName(r rawCall) string {
	var meta struct {
		Claude struct {
			ToolName string `json:"toolName"`
		} `json:"claudeCode"`
	}
	if r.Name == "" && len(r.Meta) > 0 && json.Unmarshal(r.Meta, &meta) == nil {
		return meta.Claude.ToolName
	}
	return r.Name
}

func kindOf(k acp.ToolKind) core.CallKind {
	switch kind := core.CallKind(k); kind {
	case core.KindRead, core.KindEdit, core.KindDelete, core.KindMove, core.KindSearch, core.KindExecute, core.KindThink, core.KindFetch:
		return kind
	case core.KindOther:
	}
	return core.KindOther
}

// holdFor is the time for which a call that was reported to run is not shown so. Some agents report
// it and ask for the permission then.
const holdFor = 250 * time.Millisecond

// advance takes a call to the state that the agent reports.
func (f *flow) advance(tc *toolCall, u rawCall) {
	call := &tc.call
	if call.State.Ended() {
		return
	}
	first := call.State == ""
	if first {
		call.State = core.Proposed
		f.emit(core.CallChanged{Call: *call})
	}
	output := outputOf(u.Meta)
	switch status := tc.theirs.Status; {
	case status == acp.StatusInProgress && first && output == "" && f.c.imports() == nil:
		f.hold(tc)
		return
	case status == acp.StatusInProgress, status == acp.StatusCompleted, status == acp.StatusFailed, output != "":
		f.run(tc)
	default:
		f.emit(core.CallChanged{Call: *call})
		return
	}
	if output != "" {
		tc.printed.Add(output)
		f.emit(core.CallOutput{Call: call.ID, Text: output})
	}
	switch tc.theirs.Status {
	case acp.StatusCompleted:
		f.finishCall(tc, core.Succeeded)
	case acp.StatusFailed:
		f.finishCall(tc, core.Errored)
	case acp.StatusInProgress, acp.StatusPending:
		if output == "" && (u.Content != nil || u.Title != nil || rawinput.Says(u.RawInput)) {
			f.grown(tc)
		}
	}
}

// run shows a call as running. What the agent did not ask about it runs by its own rules.
func (f *flow) run(tc *toolCall) {
	f.c.mu.Lock()
	held := tc.held
	tc.held = false
	f.c.mu.Unlock()
	if tc.call.State == core.Running && !held {
		return
	}
	runs := f.c.unasked(tc)
	if s := tc.theirs.Status; s == acp.StatusCompleted || s == acp.StatusFailed { // its result comes with its end
		runs.Content = slices.DeleteFunc(slices.Clone(runs.Content), func(b core.Block) bool { _, diff := b.(core.Diff); return !diff })
		runs.Output = nil
	}
	f.emit(core.CallChanged{Call: runs})
}

// unasked returns a call that runs without having been asked about.
func (c *conversation) unasked(tc *toolCall) core.Call {
	if tc.call.State != core.Running {
		tc.call.State, tc.call.Start = core.Running, c.b.o.Time()
	}
	if tc.call.Why == "" {
		tc.call.Why = "run by agent " + c.b.o.Name + " without asking"
	}
	return tc.call
}

// hold shows a call as running after a while, unless the agent asks about it or reports more
// before.
func (f *flow) hold(tc *toolCall) {
	c := f.c
	c.mu.Lock()
	tc.held = true
	p := c.peer
	c.mu.Unlock()
	if p == nil {
		return
	}
	p.asks.Go(func() {
		timer := time.NewTimer(holdFor)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.life.Done():
		}
		c.mu.Lock()
		held := tc.held
		var call core.Call
		if held { // the reading goroutine does not change it then
			tc.held = false
			call = c.unasked(tc)
		}
		c.mu.Unlock()
		if held {
			c.stage.Emit(core.CallChanged{Call: call})
		}
	})
}

// grown shows a running call's new content. A text that goes on is output, so that the log does not have
// the same text again and again.
func (f *flow) grown(tc *toolCall) {
	if len(tc.call.Content) == 1 {
		if text, ok := tc.call.Content[0].(core.Text); ok {
			more, ok := tc.printed.More(text.Text)
			if ok && more != "" {
				f.emit(core.CallOutput{Call: tc.call.ID, Text: more})
			}
			if ok {
				return
			}
		}
	}
	f.emit(core.CallChanged{Call: tc.call})
}

// finishCall ends a call.
func (f *flow) finishCall(tc *toolCall, state core.CallState) {
	tc.call.State, tc.call.End = state, f.c.b.o.Time()
	if len(tc.call.Content) == 0 && tc.call.Output == nil && len(tc.theirs.RawOutput) > 0 {
		if text := valueOf(tc.theirs.RawOutput); rawinput.Says(json.RawMessage(text)) {
			tc.call.Content = []core.Block{core.Text{Text: text}}
		}
	}
	if tc.call.Output == nil && rawinput.Says(tc.theirs.RawOutput) && !shows(tc.call.Content, tc.theirs.RawOutput) {
		tc.call.Output = tc.theirs.RawOutput // no object
	}
	f.c.revoke(tc.theirs.ID)
	f.emit(core.CallChanged{Call: tc.call})
}

// shows reports whether a call's content is the text of its raw output.
func shows(content []core.Block, raw json.RawMessage) bool {
	return len(content) == 1 && content[0] == core.Block(core.Text{Text: valueOf(raw)})
}

// blocks returns the content of a call. Terminals are left out: their output is the call's.
func (c *conversation) blocks(list []acp.ToolContent) (blocks []core.Block) {
	for _, t := range list {
		switch t.Type {
		case "content":
			if t.Content != nil {
				blocks = append(blocks, c.b.paths.blockOf(*t.Content))
			}
		case "diff":
			d := core.Diff{Path: c.b.paths.Here(t.Path), Created: t.OldText == nil}
			if t.OldText != nil {
				d.Old = *t.OldText
			}
			if t.NewText != nil {
				d.New = *t.NewText
			}
			blocks = append(blocks, d)
		case "terminal":
		default:
			blocks = append(blocks, core.Text{Text: "[content of kind " + display.Line(t.Type, 40) + "]"})
		}
	}
	return blocks
}

// outputOf returns the output that an update adds to the agent's own terminal.
func outputOf(meta json.RawMessage) string {
	if len(meta) == 0 {
		return ""
	}
	var m acp.TerminalMeta
	if json.Unmarshal(meta, &m) != nil || m.Output == nil {
		return ""
	}
	return m.Output.Data
}

// withoutTerminals returns the _meta of a call without what describes terminals: their output is
// the call's, and clients are told of it in their own way.
func withoutTerminals(meta json.RawMessage) json.RawMessage {
	if len(meta) == 0 || string(meta) == "null" {
		return nil
	}
	left := wire.Edit(meta, wire.Set("terminal_info", nil), wire.Set("terminal_output", nil), wire.Set("terminal_exit", nil))
	if !rawinput.Says(left) {
		return nil
	}
	return left
}
