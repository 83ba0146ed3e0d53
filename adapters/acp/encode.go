package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
	"dragoman/core/notices"
)

// Encode appends the notifications for a record, each ended by a line feed. It depends only on
// its arguments.
func Encode(dst []byte, v *View, r core.Record) []byte {
	v.replay = v.past(r)
	if v.only != nil {
		return taskCall(dst, v, r.Event)
	}
	if dst = encode(dst, v, r); v.Parent != "" {
		dst = activity(dst, v, r.Event)
	}
	return dst
}

// encode appends the notifications on the session itself.
func encode(dst []byte, v *View, r core.Record) []byte {
	at := core.Pos{Epoch: r.Epoch, Seq: r.Seq, Off: r.Off}
	switch e := r.Event.(type) {
	case core.TextDelta:
		return chunks(dst, v, acp.AgentChunk, string(e.Message), e.Text)
	case core.ThoughtDelta:
		return chunks(dst, v, acp.ThoughtChunk, string(e.Thought), e.Text)
	case core.TurnStarted:
		delete(v.waiting, e.Turn)
		if v.own(e.Key) {
			if put(&v.mine, e.Turn, at); !v.replay { // a client that loads a session again wants all of it
				return dst
			}
		}
		return spoken(dst, v, e.Message, e.Prompt, v.speaker(e.Origin))
	case core.PromptQueued:
		return queued(dst, v, e)
	case core.Steered:
		return spoken(dst, v, e.Message, e.Prompt, v.speaker(e.Origin))
	case core.CallChanged:
		dst = call(dst, v, e.Call)
		if e.Call.State.Ended() {
			dst = completed(dst, v, func(a core.Ask) bool { return a.Call == e.Call.ID })
			dst = concluded(dst, v, e.Call)
		}
		return dst
	case core.CallOutput:
		return output(dst, v, e)
	case core.Asked:
		return asked(dst, v, e.Ask)
	case core.Answered:
		return answered(dst, v, e)
	case core.PlanChanged:
		return update(dst, v, plan(e))
	case core.UsageChanged:
		v.spent.add(e)
		return usage(dst, v, e)
	case core.TitleChanged:
		return update(dst, v, info(e, acp.Stamp(r.Time)))
	case core.SettingsChanged:
		return settings(dst, v, e.Settings)
	case core.Offered:
		return offered(dst, v, e)
	case core.Notice, core.Missing, core.FellBack, core.Instructed:
		n, _ := notices.Of(e)
		return notice(dst, v, n)
	case core.Briefed: // clients fold thoughts, and a brief is long
		return chunks(dst, v, acp.ThoughtChunk, "brief-"+string(e.Turn), notices.Text(e))
	case core.Compacted:
		return compacted(dst, v, e, r.Seq)
	case core.Reverted:
		return aside(dst, v, reverted(e))
	case core.Cited:
		return message(dst, v, acp.AgentChunk, e.Message, 0, e.Link)
	case core.Foreign:
		return foreign(dst, v, e, r.Seq)
	case core.Moved:
		if !v.replay {
			return aside(dst, v, "The conversation continues in session "+string(e.To)+".")
		}
	case core.Truncated:
		if !v.replay && e.After != v.refused.begin {
			return aside(
				dst,
				v,
				"The conversation was taken back to an earlier point. Load the session again to see it as it is now.",
			)
		}
	case core.TurnEnded:
		dst = completed(dst, v, func(a core.Ask) bool { return a.Turn == e.Turn })
		dst = notCompacted(dst, v)
		return used(ended(dst, v, e, r.End()), v, r)
	case core.Phase:
		return phase(compacting(dst, v, e), v, e)
	case core.Opened, core.Claimed, core.ThoughtStarted, core.ThoughtEnded, core.CallArgs,
		core.Archived, core.Bound, core.Flagged, core.Expanded, core.Shortened, core.Unknown:
		// Version 1 has no message for these; arguments come whole with the call.
	}
	return dst
}

func head(dst []byte, v *View) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`...)
	dst = jsonscan.AppendString(dst, string(v.Session))
	return append(dst, `,"update":`...)
}

// update appends one update that is not on the hot path, or gives it to the history.
func update(dst []byte, v *View, u any) []byte {
	if v.history != nil {
		return v.history.update(dst, v, u)
	}
	return appendUpdate(dst, v, u)
}

func appendUpdate(dst []byte, v *View, u any) []byte {
	at := len(dst)
	dst, err := wire.AppendJSON(head(dst, v), u)
	if err != nil { // a tool sent raw JSON that is invalid: the update is left out, the stream stays intact
		return dst[:at]
	}
	return append(dst, "}}\n"...)
}

// aside appends a text of the gateway for which there is no other form.
func aside(dst []byte, v *View, text string) []byte {
	return chunks(dst, v, acp.AgentChunk, "", "\n["+text+"]\n")
}

// phase appends that the turn waits for its model's service or for servers that are starting,
// which is shown only live: as a notice if the client knows notices, and otherwise as a text in the answer. Version 1 has no
// message for the other phases, and clients show them by themselves.
func phase(dst []byte, v *View, p core.Phase) []byte {
	text := "Waiting until the model's service may be asked"
	switch {
	case p.Kind == core.PhaseStarting:
		text = "Starting MCP servers: " + p.Tool
	case p.Kind != core.PhaseRetrying:
		return dst
	case p.After > 0:
		text = fmt.Sprintf("Waiting for the model's service, next try in %s", notices.Pause(p))
	}
	return remark(dst, v, text)
}

// ended records the end of a turn. Its prompter has learned of it from the answer, which a replay
// does not repeat.
func ended(dst []byte, v *View, e core.TurnEnded, end core.Pos) []byte {
	begin, mine := v.mine[e.Turn]
	delete(v.mine, e.Turn)
	delete(v.waiting, e.Turn)
	if v.refused = (refusal{}); mine && e.Stop == core.StopRefusal {
		v.refused = refusal{begin, end}
	}
	switch {
	case e.Stop == core.StopLimit: // the answer has no place for the reason
		return aside(dst, v, "The turn was ended: "+e.Err)
	case e.Err != "" && (!mine || v.replay):
		return aside(dst, v, "The turn failed: "+e.Err)
	}
	return dst
}

// user appends a user's message; of a child, that of its parent.
func user(dst []byte, v *View, id core.MessageID, prompt []core.Block) []byte {
	kind := acp.UserChunk
	if v.Parent != "" && len(prompt) > 0 { // a sub-agent of an external agent works without
		dst, kind = tasked(dst, v, id), acp.SessionMessageChunk
	}
	for i, b := range prompt {
		if t, ok := b.(core.Text); ok {
			dst = chunks(dst, v, kind, string(id), t.Text)
			continue
		}
		dst = message(dst, v, kind, id, i, b)
	}
	return dst
}

// message appends the nth block of a message.
func message(dst []byte, v *View, kind string, id core.MessageID, n int, b core.Block) []byte {
	block, _ := inline(b, messagePlace(v, id, n), maxInline)
	if v.Known.Texts && (block.Type == "resource_link" || block.Type == "resource") {
		block = text(linkTo(b))
	}
	return update(dst, v, acp.Chunk{SessionUpdate: kind, Content: block, MessageID: string(id)})
}

// settings appends the current choices, in both forms that have an update, if they have changed. The
// answer to session/load has them too, so a replay sends none. Values of an agent's options are in its
// offer.
func settings(dst []byte, v *View, set core.Settings) []byte {
	was := v.Now
	v.Now.Settings = set
	set.Choices = was.Settings.Choices
	if v.replay || v.Offer == nil || set == was.Settings {
		return dst
	}
	return update(mode(dst, v, was), v, optionsUpdate(v))
}

// offered appends the choices if the agent offers others, or has other values for them.
func offered(dst []byte, v *View, e core.Offered) []byte {
	was := v.Now
	v.Now.Offered = e
	if v.replay || v.Offer == nil || reflect.DeepEqual(v.Offer.options(was), v.Offer.options(v.Now)) {
		return dst
	}
	return update(mode(dst, v, was), v, optionsUpdate(v))
}

// mode appends the current mode if it is another one than it was. If the modes themselves are
// others, because the agent is, only the options can say so.
func mode(dst []byte, v *View, was Chosen) []byte {
	old, now := v.Offer.modes(was), v.Offer.modes(v.Now)
	if old == nil || now == nil || old.CurrentModeID == now.CurrentModeID ||
		!slices.ContainsFunc(old.AvailableModes, func(m acp.Mode) bool { return m.ID == now.CurrentModeID }) {
		return dst
	}
	return update(dst, v, acp.ModeUpdate{SessionUpdate: "current_mode_update", CurrentModeID: now.CurrentModeID})
}

func optionsUpdate(v *View) acp.OptionsUpdate {
	return acp.OptionsUpdate{
		SessionUpdate: "config_option_update",
		ConfigOptions: v.Offer.options(v.Now),
	}
}

func info(e core.TitleChanged, at string) acp.InfoUpdate {
	u := acp.InfoUpdate{SessionUpdate: "session_info_update", UpdatedAt: at}
	if e.Title != "" {
		title := display.Clipped(e.Title, maxName)
		u.Title = &title
	}
	return u
}

// used appends the time at which the session was last used, for lists that show it.
func used(dst []byte, v *View, r core.Record) []byte {
	if v.replay || v.Parent != "" {
		return dst
	}
	return update(dst, v, acp.UsedUpdate{SessionUpdate: "session_info_update", UpdatedAt: acp.Stamp(r.Time)})
}

func plan(e core.PlanChanged) acp.Plan {
	list := e.Entries[:min(len(e.Entries), maxPlan)]
	p := acp.Plan{SessionUpdate: "plan", Entries: make([]acp.PlanEntry, len(list))}
	for i, entry := range list {
		p.Entries[i].Content = display.Clipped(entry.Text, maxName)
		p.Entries[i].Status = acp.PlanStatus(entry.Status)
		p.Entries[i].Priority = "medium"
		switch entry.Priority {
		case "high", "low":
			p.Entries[i].Priority = acp.PlanPriority(entry.Priority)
		}
	}
	return p
}

// usage needs the window's size; if that is unknown, it sends nothing.
func usage(dst []byte, v *View, e core.UsageChanged) []byte {
	if e.Window == 0 {
		return dst
	}
	u := acp.UsageUpdate{SessionUpdate: acp.UpdateUsage, Used: e.Context, Size: e.Window, Cost: v.cost}
	if e.Total.Cost != nil {
		u.Cost = &acp.Cost{Amount: *e.Total.Cost, Currency: "USD"}
	}
	return update(dst, v, u)
}

// notice appends a notice to the user: in that form if the client knows notices, which are shown
// only live, and otherwise as a part of the conversation.
func notice(dst []byte, v *View, n core.Notice) []byte {
	if v.Display.Notices {
		if v.replay {
			return dst
		}
		title, rest, _ := strings.Cut(strings.TrimSpace(n.Text), "\n")
		if title == "" {
			title = string(n.Severity)
		}
		return update(
			dst,
			v,
			acp.Notice{
				SessionUpdate: acp.UpdateNotice,
				Severity:      severity(n.Severity),
				Title:         cut(title, maxResult, v),
				Description:   cut(strings.Trim(rest, "\r\n"), maxResult, v),
			},
		)
	}
	switch n.Severity {
	case core.Info:
		return aside(dst, v, n.Text)
	case core.Warning, core.Failure:
	}
	s := severity(n.Severity)
	return aside(dst, v, strings.ToUpper(s[:1])+s[1:]+": "+n.Text)
}

func severity(s core.Severity) string {
	if s == "" {
		return string(core.Info)
	}
	return string(s)
}

// compacting appends that a summary is being made, or that it was not made, to a client that knows
// compactions.
func compacting(dst []byte, v *View, p core.Phase) []byte {
	switch p.Kind {
	case core.PhaseCompacting:
		return summing(dst, v, string(p.Turn))
	case core.PhaseWaiting: // for the model's answer
		return notCompacted(dst, v)
	case core.PhaseGenerating, core.PhaseCalling, core.PhaseRetrying, core.PhaseStarting:
	}
	return dst
}

// summing appends that a summary is being made, unless the client knows it. by is used for the id.
func summing(dst []byte, v *View, by string) []byte {
	if !v.Display.Compaction || v.compacting != "" {
		return dst
	}
	v.compactions++
	v.compacting, v.summed = fmt.Sprintf("compaction-%s-%d", by, v.compactions), false
	return compaction(dst, v, v.compacting, "in_progress", nil)
}

// summaryPart appends a piece of a summary that an external agent makes, for a client that knows
// compactions. It belongs to the compaction that was begun, or begins one: in a replay nothing else does.
func summaryPart(dst []byte, v *View, raw json.RawMessage, n uint64) []byte {
	dst = summing(dst, v, strconv.FormatUint(n, 10))
	v.summed = true
	return rawUpdate(dst, v, acp.CompactionChunk, wire.Edit(raw, wire.Set("compactionId", wire.JSON(v.compacting))))
}

// notCompacted appends that the summary was not made, if one was begun.
func notCompacted(dst []byte, v *View) []byte {
	if v.compacting == "" {
		return dst
	}
	id := v.compacting
	v.compacting = ""
	return compaction(dst, v, id, "failed", nil)
}

// compacted appends that the model knows only a summary from now on. n is used for the id, unless
// the client knows that the summary was begun.
func compacted(dst []byte, v *View, e core.Compacted, n uint64) []byte {
	if !v.Display.Compaction {
		return aside(dst, v, "For the model, what was said so far was replaced by a summary.")
	}
	id := cmp.Or(v.compacting, "compaction-"+strconv.FormatUint(n, 10))
	var summary []acp.ContentBlock
	if e.Summary != "" && (v.compacting == "" || !v.summed) { // else the client has it in pieces
		summary = []acp.ContentBlock{text(cut(e.Summary, maxResult, v))}
	}
	v.compacting = ""
	return compaction(dst, v, id, "completed", summary)
}

func compaction(dst []byte, v *View, id, status string, summary []acp.ContentBlock) []byte {
	return update(dst, v, acp.CompactionUpdate{SessionUpdate: acp.UpdateCompaction, CompactionID: id, Status: status, Summary: summary})
}

func reverted(e core.Reverted) string {
	lines := make([]string, len(e.Files))
	for i, f := range e.Files {
		lines[i] = f.Path + ": put back as it was"
		if f.Why != "" {
			lines[i] = f.Path + ": not touched, " + f.Why
		}
	}
	return "Changes were undone:\n" + strings.Join(lines, "\n")
}
