package acp

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// call appends the changes of a call since the last update about it.
func call(dst []byte, v *View, c core.Call) []byte {
	u := acp.ToolCall{SessionUpdate: acp.ToolCallMore, ToolCallID: string(c.ID)}
	was := v.calls[c.ID]
	if was == nil && v.quiet(c) {
		return dst
	}
	if was == nil {
		u.SessionUpdate, u.Name = acp.ToolCallNew, c.Tool
		was = &callView{}
		put(&v.calls, c.ID, was)
	}
	nothing := u
	if u.SessionUpdate == acp.ToolCallNew && c.Kind == core.KindExecute && v.Display.Output && !v.replay &&
		!c.State.Ended() {
		was.screen = true
		u.Content = []acp.ToolContent{{Type: "terminal", TerminalID: string(c.ID)}}
		u.Meta = &acp.TerminalMeta{Info: &acp.TerminalInfo{TerminalID: string(c.ID), Cwd: v.Cwd}}
	}
	if t := title(v, c); t != title(v, was.call) || u.SessionUpdate == acp.ToolCallNew {
		u.Title = t
	}
	if c.Kind != was.call.Kind {
		u.Kind = kind(c.Kind)
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
		u.Locations = locations(v, c.Locations)
	}
	live := was.live
	switch {
	case c.State == core.Succeeded && was.changes(c):
		// Its content would replace the change, which the client has already.
	case c.State.Ended() || !reflect.DeepEqual(c.Content, was.call.Content) || was.scoped && c.State != core.Awaiting:
		was.shown(&u, v, c)
		was.scoped = false
	}
	if c.State.Ended() {
		if was.screen {
			u.Meta = &acp.TerminalMeta{Exit: exitOf(c)}
		}
		delete(v.calls, c.ID)
	}
	if meta := rawOf(c.Meta); len(meta) > 0 && meta[0] == '{' && string(meta) != string(was.call.Meta) && v.theirs(c) {
		u.Meta = merged(meta, u.Meta)
	}
	was.call = c
	if reflect.DeepEqual(u, nothing) {
		return dst
	}
	dst = update(dst, v, u)
	if was.live && !live { // a client names the terminal after its program until it gets a title again
		dst = update(dst, v, acp.ToolCall{SessionUpdate: acp.ToolCallMore, ToolCallID: u.ToolCallID, Title: title(v, c)})
	}
	return dst
}

// theirs reports whether a call is one of an external agent's own tools: its _meta is of this protocol.
func (v *View) theirs(c core.Call) bool {
	switch {
	case c.Server == core.Native:
		return false
	case c.Server == v.Now.Offered.Agent:
		return true
	case v.Offer == nil:
		return false
	}
	a, ok := v.Offer.profile.Agent(c.Server) // an imported history comes before what the agent offers
	return ok && a.External
}

// merged returns an agent's own _meta with ours in it.
func merged(theirs json.RawMessage, ours any) json.RawMessage {
	if ours == nil {
		return theirs
	}
	for name, value := range wire.Object(wire.JSON(ours)) {
		theirs = wire.Edit(theirs, wire.Set(name, value))
	}
	return theirs
}

// quiet reports whether a call is not shown: the plan that it changes is, or the question that it asks in the
// chat, of a client without forms.
func (v *View) quiet(c core.Call) bool {
	asks := c.Tool == askTool && !v.Display.Forms
	if c.Server != core.Native || c.Tool != planTool && !asks {
		return false
	}
	switch c.State {
	case core.Succeeded:
		return !asks || slices.Contains(c.Content, core.Block(core.Text{Text: core.AskedLater}))
	case core.Proposed, core.Running, core.Canceled:
		return true
	case core.Awaiting, core.Errored, core.Rejected:
	}
	return false
}

// changes reports whether the client has been shown the changes to files that a call has now.
func (t *callView) changes(c core.Call) bool {
	has := diffs(c.Content)
	return len(has) > 0 && slices.Equal(has, diffs(t.call.Content))
}

func diffs(content []core.Block) (list []core.Diff) {
	for _, b := range content {
		if d, ok := b.(core.Diff); ok && d.From == "" {
			list = append(list, d)
		}
	}
	return list
}

// shown puts a call's content into an update. Output in a terminal stays there: content would
// replace it.
func (t *callView) shown(u *acp.ToolCall, v *View, c core.Call) {
	list := shown(v, c, t.call.State)
	switch {
	case c.State.Ended() && (t.live || t.screen && t.output != ""):
		return
	case t.screen && !c.State.Ended():
		list = append(list, acp.ToolContent{Type: "terminal", TerminalID: string(c.ID)})
	}
	t.live = t.live ||
		slices.ContainsFunc(list, func(l acp.ToolContent) bool { return l.Type == "terminal" && !t.screen })
	if len(list) > 0 {
		u.Content = list
	}
}

// shown returns a call's content; for a call that did not run, the reason. A terminal is shown
// only to the client that owns it, and never in a replay: a client rejects the whole update if it
// does not know the id. was is the call's state before.
func shown(v *View, c core.Call, was core.CallState) (list []acp.ToolContent) {
	left, room := maxResult, maxInline // for texts, and for everything
	result := resultFrom(c, was)
	for i, b := range c.Content {
		at, block, n := callPlace(v, c.ID, i), acp.ContentBlock{}, 0
		switch b := b.(type) {
		case core.Diff:
			if b.From != "" { // the title and the locations show it
				continue
			}
			t, n, ok := change(b, room)
			if room -= n; ok {
				list = append(list, t)
				continue
			}
			block, n = inline(b, at, 0)
			room -= n
		case core.Terminal:
			if id, own := strings.CutPrefix(b.ID, v.Display.Terminals); own && v.Display.Terminals != "" && !v.replay {
				list = append(list, acp.ToolContent{Type: "terminal", TerminalID: id})
			}
			continue
		case core.Text:
			block = text(cut(b.Text, left, v))
			if i >= result {
				block = resultOf(c, b.Text, i == result, left, v)
			}
			left -= min(left, len(b.Text))
		case core.Image, core.Audio, core.Link, core.Resource:
			block, n = inline(b, at, room)
			room -= n
		}
		list = append(list, acp.ToolContent{Type: "content", Content: &block})
	}
	if c.Why != "" && (c.State == core.Rejected || c.State == core.Canceled) {
		block := text(cut(c.Why, maxResult, v))
		list = append(list, acp.ToolContent{Type: "content", Content: &block})
	}
	return list
}

// change returns a change to a file, of a large one only the differing lines, and the bytes that
// it takes; !ok: these are more than room.
func change(b core.Diff, room int) (t acp.ToolContent, n int, ok bool) {
	was, now := b.Old, b.New
	if len(was)+len(now) > maxDiff {
		was, now = trimmed(was, now)
	}
	if n = lineBytes(room, was, now, b.Path); n > room {
		return t, 0, false
	}
	t = acp.ToolContent{Type: "diff", Path: b.Path, NewText: &now}
	if !b.Created {
		t.OldText = &was
	}
	return t, n, true
}

// trimmed returns the differing whole lines of two texts, with a few around them: the view that
// clients have of a change to a large file. A new file is returned whole.
func trimmed(was, now string) (string, string) {
	n := 0 // length of the common beginning, in bytes
	for n < min(len(was), len(now)) && was[n] == now[n] {
		n++
	}
	from := n
	for range contextLines + 1 { // the first step takes the line that differs
		from = strings.LastIndexByte(was[:max(from-1, 0)], '\n') + 1
	}
	n = min(len(was), len(now)) - n // limit of the rest of both
	m := 0                          // length of the common end, in bytes
	for m < n && was[len(was)-1-m] == now[len(now)-1-m] {
		m++
	}
	rest := was[len(was)-m:]
	keep := 0
	for range contextLines + 1 {
		i := strings.IndexByte(rest[keep:], '\n')
		if i < 0 {
			keep = len(rest)
			break
		}
		keep += i + 1
	}
	m -= keep
	return was[from : len(was)-m], now[from : len(now)-m]
}

// output appends a running call's output: to the terminal that shows it, or only its end, because
// content replaces earlier content. Of a call that shows a change to a file, the change stays.
func output(dst []byte, v *View, e core.CallOutput) []byte {
	was := v.calls[e.Call]
	if was == nil || was.live || e.Text == "" || len(diffs(was.call.Content)) > 0 {
		return dst
	}
	was.output += e.Text
	was.output = display.CutEnd(was.output, maxTail)
	if !was.screen {
		block := resultOf(was.call, was.output, true, maxResult, v)
		return update(dst, v, acp.ToolCall{
			SessionUpdate: acp.ToolCallMore,
			ToolCallID:    string(e.Call),
			Content:       []acp.ToolContent{{Type: "content", Content: &block}},
		})
	}
	for rest := e.Text; rest != ""; {
		n := jsonscan.Fit(rest, maxChunk)
		dst = update(dst, v, acp.ToolCall{
			SessionUpdate: acp.ToolCallMore,
			ToolCallID:    string(e.Call),
			Meta: &acp.TerminalMeta{
				Output: &acp.TerminalOutput{TerminalID: string(e.Call), Data: rest[:n]},
			},
		})
		rest = rest[n:]
	}
	return dst
}

// exitOf returns the exit of a command, as far as its result has one.
func exitOf(c core.Call) *acp.TerminalExit {
	exit := &acp.TerminalExit{TerminalID: string(c.ID)}
	var said struct {
		Code   *int   `json:"exit_code"`
		Signal string `json:"signal"`
	}
	if json.Unmarshal(c.Output, &said) != nil { // it did not run, or another tool's result
		return exit
	}
	if said.Code != nil && *said.Code >= 0 {
		exit.ExitCode = said.Code
	}
	if said.Signal != "" {
		exit.Signal = &said.Signal
	}
	return exit
}

// status returns the protocol's status. Version 1 has none for a call that was rejected or
// cancelled.
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

// locations leaves out the session's own folder, which says nothing about a call.
func locations(v *View, list []core.Location) (out []acp.ToolLocation) {
	room := maxPaths
	for _, l := range list {
		if l.Path == v.Cwd {
			continue
		}
		if room -= len(l.Path); room < 0 || len(out) == maxLocations {
			break
		}
		at := acp.ToolLocation{Path: l.Path}
		if l.Line > 0 {
			at.Line = &l.Line
		}
		out = append(out, at)
	}
	return out
}

// kind returns a tool call's kind in a word of the protocol.
func kind(k core.CallKind) acp.ToolKind {
	switch k {
	case core.CallKind(acp.KindSwitchMode),
		core.KindRead,
		core.KindEdit,
		core.KindDelete,
		core.KindMove,
		core.KindSearch,
		core.KindExecute,
		core.KindThink,
		core.KindFetch,
		core.KindOther:
		return acp.ToolKind(k)
	}
	return acp.ToolKind(core.KindOther)
}
