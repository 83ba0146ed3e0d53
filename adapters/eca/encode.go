package eca

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
	"dragoman/core/notices"
)

// Texts that a client shows while a turn runs.
const (
	waitingText    = "Waiting model"
	generatingText = "Generating"
	callingText    = "Calling tool"
	compactingText = "Summing the conversation up"
	queueingText   = "Waiting until the model's service may be asked"
)

// encode appends the client's messages for a record, each ended by a line feed. Its only inputs
// are the view and the record.
func encode(dst []byte, v *View, r core.Record) []byte {
	switch at := len(dst); {
	case v.gathers():
		return v.past.encode(dst, v, r)
	case v.hides:
		return encodeRecord(dst, v, r)[:at]
	}
	return encodeRecord(dst, v, r)
}

func encodeRecord(dst []byte, v *View, r core.Record) []byte {
	if v.parent != "" {
		r.Event = v.renamed(r.Event)
	}
	switch e := r.Event.(type) {
	case core.TextDelta:
		for part := range parts(e.Text, v.frame) {
			dst = append(dst, v.text...)
			dst = jsonscan.AppendString(dst, part)
			dst = append(dst, "}}}\n"...)
		}
		return dst
	case core.ThoughtStarted:
		v.thoughts[e.Thought] = r.Time
		return v.content(dst, eca.RoleAssistant, eca.ReasonContent{Type: eca.TypeReasonStarted, ID: string(e.Thought)})
	case core.ThoughtDelta:
		return v.thought(dst, e)
	case core.ThoughtEnded:
		delete(v.thoughts, e.Thought)
		return v.thoughtEnd(dst, e.Thought, e.Took)
	case core.CallChanged:
		return v.callChanged(dst, e.Call)
	case core.CallArgs:
		return v.callArgs(dst, e)
	case core.TurnStarted:
		return v.turnStarted(dst, e)
	case core.TurnEnded:
		return v.turnEnded(dst, e, r.Time)
	case core.PromptQueued:
		return v.promptQueued(dst, e)
	case core.Steered:
		return v.userText(dst, e.Message, e.Prompt, e.Origin)
	case core.Phase:
		return v.phase(dst, e)
	case core.Asked:
		return v.asked(dst, e.Ask)
	case core.Answered:
		return v.answered(dst, e)
	case core.UsageChanged:
		info := v.offer.Info(cmp.Or(e.Model, v.offer.ModelIn(v.state)))
		return v.content(dst, eca.RoleSystem, content.Usage(e, info.MaxOut, v.lacks[eca.MethodStatusChanged]))
	case core.TitleChanged:
		if v.named = e.Title; !v.live { // the final title follows the history
			return dst
		}
		return v.title(dst)
	case core.SettingsChanged:
		if v.state.Settings = e.Settings; !v.live || e.Settings == v.told || v.chosen(e.Settings) {
			return dst
		}
		if reflect.DeepEqual(v.said, v.offer.Config(v.state)) { // the name of the agent that answers already
			v.told = e.Settings
			return dst
		}
		return v.announce(dst)
	case core.Offered:
		return v.offered(dst, e)
	case core.Notice, core.Missing, core.FellBack, core.Instructed:
		return v.systemText(dst, notices.Text(e))
	case core.Briefed:
		return v.briefed(dst, e)
	case core.Foreign:
		return v.foreign(dst, e)
	case core.Flagged:
		return v.flagged(dst, e)
	case core.Truncated:
		return v.truncated(dst)
	case core.Compacted:
		return v.systemText(dst, notices.Text(e))
	case core.Reverted:
		return v.systemText(dst, notices.Text(e))
	case core.Opened, core.Claimed, core.Bound, core.Archived, core.Expanded, core.Shortened, core.Unknown: // not for people
	case core.Moved: // the other chat is shown
	case core.CallOutput: // no message has the output of a running call; toolCalled has all of it
	case core.Cited:
		return v.cited(dst, e.Link)
	case core.PlanChanged:
		return v.planChanged(dst, r, e)
	}
	return dst
}

// content appends a chat/contentReceived.
func (v *View) content(dst []byte, role eca.Role, content any) []byte {
	start := len(dst)
	dst = append(dst, v.head...)
	dst = append(dst, role...)
	dst = append(dst, `","content":`...)
	dst, err := wire.AppendJSON(dst, content)
	if err != nil { // raw JSON is checked before it gets here
		return dst[:start]
	}
	return append(dst, "}}\n"...)
}

// notification appends any other notification.
func notification(dst []byte, method string, params any) []byte {
	if whole, err := wire.AppendNotification(dst, method, params); err == nil {
		dst = append(whole, '\n')
	}
	return dst
}

// frameText limits the text of one message, in bytes: the Neovim client loses a message that does
// not come in one read.
const frameText = 32 << 10

// maxFrame limits the text of one message as it is encoded, in bytes.
const maxFrame = 768 << 10

// parts cuts a delta's text into pieces of whole runes, of at most so many bytes. An empty text has none.
func parts(text string, most int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > most || len(text)*len(`\u0000`) > maxFrame {
			part := display.Cut(text, most)
			part = part[:jsonscan.Fit(part, maxFrame)]
			if !yield(part) {
				return
			}
			text = text[len(part):]
		}
		if text != "" {
			yield(text)
		}
	}
}

func (v *View) thought(dst []byte, e core.ThoughtDelta) []byte {
	for part := range parts(e.Text, v.frame) {
		dst = append(dst, v.head...)
		dst = append(dst, string(eca.RoleAssistant)+`","content":{"type":"`+eca.TypeReasonText+`","id":`...)
		dst = jsonscan.AppendString(dst, string(e.Thought))
		dst = append(dst, `,"text":`...)
		dst = jsonscan.AppendString(dst, part)
		dst = append(dst, "}}}\n"...)
	}
	return dst
}

// briefed shows a brief as a thought: clients fold those, and a brief is long.
func (v *View) briefed(dst []byte, e core.Briefed) []byte {
	id := core.ThoughtID("brief-" + string(e.Turn))
	dst = v.content(dst, eca.RoleAssistant, eca.ReasonContent{Type: eca.TypeReasonStarted, ID: string(id)})
	return v.thoughtEnd(v.thought(dst, core.ThoughtDelta{Thought: id, Text: notices.Text(e)}), id, 0)
}

func (v *View) thoughtEnd(dst []byte, id core.ThoughtID, took time.Duration) []byte {
	ms := took.Milliseconds()
	return v.content(
		dst,
		eca.RoleAssistant,
		eca.ReasonContent{Type: eca.TypeReasonFinished, ID: string(id), TotalTimeMs: &ms},
	)
}

func (v *View) turnStarted(dst []byte, e core.TurnStarted) []byte {
	v.turn = e.Turn
	delete(v.queued, e.Turn)
	if !v.live {
		return v.userText(dst, e.Message, e.Prompt, e.Origin)
	}
	dst = v.status(dst, eca.ChatRunning)
	dst = v.userText(dst, e.Message, e.Prompt, e.Origin)
	return v.running(dst, waitingText)
}

// turnEnded gives the reason for the end of a turn if there is one, and then, as the last
// message, reports that the turn is over.
func (v *View) turnEnded(dst []byte, e core.TurnEnded, at time.Time) []byte {
	q, waited := v.queued[e.Turn]
	if waited { // it never began
		delete(v.queued, e.Turn)
		dst = v.userText(dst, "", q.Prompt, q.Origin)
	}
	if v.turn == e.Turn {
		v.turn, v.busy = "", ""
		clear(v.calls)
		clear(v.asks)
		v.planners = 0
		for _, id := range slices.Sorted(maps.Keys(v.thoughts)) { // the turn was stopped during a thought
			dst = v.thoughtEnd(dst, id, at.Sub(v.thoughts[id]))
		}
		clear(v.thoughts)
	}
	// Of a prompt that never began, the stop of the turn before it has been told.
	if text := content.End(e); text != "" && (!waited || e.Stop != core.StopCanceled) {
		dst = v.systemText(dst, text)
	}
	if v.turn != "" || !v.live {
		return dst
	}
	return v.finished(dst)
}

// finished reports that the chat is idle.
func (v *View) finished(dst []byte) []byte {
	if v.parent != "" { // the call that shows it ends
		return dst
	}
	dst = v.status(dst, eca.ChatIdle)
	return v.content(dst, eca.RoleSystem, eca.ProgressContent{Type: eca.TypeProgress, State: eca.ProgressFinished})
}

// phase is shown only live, and only for a turn that the client knows.
func (v *View) phase(dst []byte, e core.Phase) []byte {
	if !v.live || e.Turn != v.turn {
		return dst
	}
	switch e.Kind {
	case core.PhaseWaiting:
		return v.running(dst, waitingText)
	case core.PhaseGenerating:
		return v.running(dst, generatingText)
	case core.PhaseCalling:
		return v.running(dst, callingText)
	case core.PhaseCompacting:
		return v.running(dst, compactingText)
	case core.PhaseStarting:
		return v.running(dst, "Starting MCP servers: "+e.Tool)
	case core.PhaseRetrying:
		if e.After == 0 { // the wait has no known end
			return v.running(dst, queueingText)
		}
		return v.running(dst, fmt.Sprintf("Waiting for the model's service, next try in %s", notices.Pause(e)))
	}
	return dst
}

// running reports the activity of the turn, unless it was reported already.
func (v *View) running(dst []byte, text string) []byte {
	if v.busy == text || v.parent != "" {
		return dst
	}
	v.busy = text
	return v.content(
		dst,
		eca.RoleSystem,
		eca.ProgressContent{Type: eca.TypeProgress, State: eca.ProgressRunning, Text: text},
	)
}

func (v *View) status(dst []byte, st eca.ChatStatus) []byte {
	if v.parent != "" {
		return dst
	}
	return notification(dst, eca.MethodStatusChanged, eca.StatusChangedParams{ChatID: v.chat, Status: st})
}

// userText shows the user's message, which clients leave to us, with the name of another client that has
// said it. The reference server ends it with a line feed, and clients append the next text directly.
func (v *View) userText(dst []byte, id core.MessageID, prompt []core.Block, by core.Origin) []byte {
	text := content.Prompt(prompt)
	if text == "" {
		return dst
	}
	if name := v.speaker(by); name != "" {
		text = name + ": " + text
	}
	said := eca.TextContent{Type: eca.TypeText, ContentID: string(id), Text: text + "\n"}
	if v.fixed { // with an id they would offer to go back to it
		said.ContentID = ""
	}
	dst = v.content(dst, eca.RoleUser, said)
	if flag := v.flags[id]; flag != "" && id != "" {
		dst = v.content(dst, eca.RoleSystem, eca.FlagContent{Type: eca.TypeFlag, Text: flag, ContentID: flagID(id)})
	}
	return dst
}

// flagsID begins the ids of marks; the message's own id follows.
const flagsID = "flag-"

func flagID(id core.MessageID) string { return flagsID + string(id) }

// flagged shows a new mark at the end of the chat; a replay, which knows all marks from its
// beginning, has it after its message. If a mark changes or goes, it empties the chat, and the feed
// replays all of it.
func (v *View) flagged(dst []byte, e core.Flagged) []byte {
	switch {
	case !v.live || v.parent != "" || v.flags[e.Message] == e.Text:
		return dst
	case v.remarks(e):
		return v.cleared(dst)
	}
	if v.flags == nil {
		v.flags = map[core.MessageID]string{}
	}
	v.flags[e.Message] = e.Text
	return v.content(dst, eca.RoleSystem, eca.FlagContent{Type: eca.TypeFlag, Text: e.Text, ContentID: flagID(e.Message)})
}

// remarks reports whether an event changes a mark that the client shows.
func (v *View) remarks(e core.Flagged) bool {
	return v.flags[e.Message] != "" && v.flags[e.Message] != e.Text
}

func (v *View) cleared(dst []byte) []byte {
	return notification(dst, eca.MethodCleared, eca.ClearedParams{ChatID: v.chat, Messages: true})
}

func (v *View) systemText(dst []byte, text string) []byte {
	return v.content(dst, eca.RoleSystem, eca.TextContent{Type: eca.TypeText, Text: "\n" + text + "\n"})
}

// title announces the chat's title, if there is one.
func (v *View) title(dst []byte) []byte {
	if v.parent != "" || v.named == "" {
		return dst
	}
	return v.content(dst, eca.RoleSystem, eca.MetadataContent{Type: eca.TypeMetadata, Title: v.named})
}

// announce announces the choices of the chat.
func (v *View) announce(dst []byte) []byte {
	v.told = v.state.Settings
	if v.parent != "" {
		return dst
	}
	v.config = v.offer.Config(v.state)
	v.said = v.config
	return notification(dst, eca.MethodConfigUpdated, eca.ConfigUpdatedParams{ChatID: v.chat, Chat: v.config})
}

// offered announces the choices of the chat again if its agent offers others, or has others now.
func (v *View) offered(dst []byte, e core.Offered) []byte {
	was := v.offer.Config(v.state)
	if v.state.Offered = e; !v.live || reflect.DeepEqual(was, v.offer.Config(v.state)) {
		return dst
	}
	return v.announce(dst)
}

// chosen reports whether settings differ from those announced in options of the agent alone, which
// it offers with their new values.
func (v *View) chosen(set core.Settings) bool {
	if _, unasked := v.offer.Unasked(v.state); unasked {
		return false
	}
	set.Choices = v.told.Choices
	return set == v.told
}

// truncated empties the chat; its feed replays the rest. A client that cannot empty it keeps
// showing the old content, and the user gets a message.
func (v *View) truncated(dst []byte) []byte {
	if !v.live || v.parent != "" {
		return dst
	}
	if v.lacks[eca.MethodCleared] {
		return v.systemText(dst, "A part of this conversation was taken back. What the agent remembers ends before it.")
	}
	return v.cleared(dst)
}
