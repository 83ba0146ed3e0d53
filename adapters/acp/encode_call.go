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
)

// call appends the changes of a call since the last update about it.
func call(dst []byte, v *View, c core.Call) []byte {
	u := acp.ToolCall{SessionUpdate: acp.ToolCallMore, ToolCallID: string(c.ID)}
	was := v.calls[c.ID]
	if was == nil {
		u.SessionUpdate, u.Name = acp.ToolCallNew, c.Tool
		was = &callView{}
		v.calls[c.ID] = was
	}
	nothing := u
	if u.SessionUpdate == acp.ToolCallNew && c.Kind == core.KindExecute && v.Display.Output && !v.replay &&
		!c.State.Ended() {
		was.screen = true
		u.Content = []acp.ToolContent{{Type: "terminal", TerminalID: string(c.ID)}}
		u.Meta = &acp.TerminalMeta{Info: &acp.TerminalInfo{TerminalID: string(c.ID), Cwd: v.Cwd}}
	}
	if t := title(c); t != title(was.call) || u.SessionUpdate == acp.ToolCallNew {
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
		u.Locations = locations(c.Locations)
	}
	if c.State.Ended() || !reflect.DeepEqual(c.Content, was.call.Content) {
		was.shown(&u, v, c)
	}
	was.call = c
	if c.State.Ended() {
		if was.screen {
			u.Meta = &acp.TerminalMeta{Exit: exitOf(c)}
		}
		delete(v.calls, c.ID)
	}
	if reflect.DeepEqual(u, nothing) {
		return dst
	}
	return update(dst, v, u)
}

// shown puts a call's content into an update. Output in a terminal stays there: content would
// replace it.
func (t *callView) shown(u *acp.ToolCall, v *View, c core.Call) {
	list := shown(v, c)
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
// does not know the id.
func shown(v *View, c core.Call) (list []acp.ToolContent) {
	left := maxResult
	for _, b := range c.Content {
		switch b := b.(type) {
		case core.Diff:
			if b.From != "" { // the title and the locations show it
				continue
			}
			was, now := b.Old, b.New
			if len(was)+len(now) > maxDiff {
				was, now = trimmed(was, now)
			}
			t := acp.ToolContent{Type: "diff", Path: b.Path, NewText: &now}
			if !b.Created {
				t.OldText = &was
			}
			list = append(list, t)
		case core.Terminal:
			if id, own := strings.CutPrefix(b.ID, v.Display.Terminals); own && v.Display.Terminals != "" && !v.replay {
				list = append(list, acp.ToolContent{Type: "terminal", TerminalID: id})
			}
		case core.Text:
			block := text(cut(b.Text, left, v))
			left -= min(left, len(b.Text))
			list = append(list, acp.ToolContent{Type: "content", Content: &block})
		case core.Image, core.Audio, core.Link, core.Resource:
			block := content(b)
			list = append(list, acp.ToolContent{Type: "content", Content: &block})
		}
	}
	if c.Why != "" && (c.State == core.Rejected || c.State == core.Canceled) {
		block := text(cut(c.Why, maxResult, v))
		list = append(list, acp.ToolContent{Type: "content", Content: &block})
	}
	return list
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
// content replaces earlier content.
func output(dst []byte, v *View, e core.CallOutput) []byte {
	was := v.calls[e.Call]
	if was == nil || was.live || e.Text == "" {
		return dst
	}
	was.output += e.Text
	was.output = display.CutEnd(was.output, maxTail)
	if !was.screen {
		block := text(was.output)
		return update(dst, v, acp.ToolCall{
			SessionUpdate: acp.ToolCallMore,
			ToolCallID:    string(e.Call),
			Content:       []acp.ToolContent{{Type: "content", Content: &block}},
		})
	}
	for rest := e.Text; rest != ""; {
		n := wire.Fit(rest, maxChunk)
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

func title(c core.Call) string {
	if c.Title != "" {
		return c.Title
	}
	if c.Tool != "" {
		return c.Tool
	}
	return "a tool"
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

func locations(list []core.Location) []acp.ToolLocation {
	list = list[:min(len(list), maxLocations)]
	out := make([]acp.ToolLocation, len(list))
	for i, l := range list {
		out[i].Path = l.Path
		if l.Line > 0 {
			out[i].Line = &l.Line
		}
	}
	return out
}

// kind returns a tool call's kind in a word that clients of both documents know.
func kind(k core.CallKind) acp.ToolKind {
	switch k {
	case core.KindRead,
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
