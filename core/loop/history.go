package loop

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"dragoman/core"
	"dragoman/core/inference"
)

// history is a session's log, folded into the messages for a model. The zero value is
// empty.
type history struct {
	pos      core.Pos
	standing []core.Block         // of the client's context, in the system prompt
	settled  []inference.Message  // of ended turns
	entries  []*entry             // after them
	open     map[core.CallID]*use // calls that have not ended
	used     map[core.CallID]bool
	total    core.Usage // of the session
	load     load
	spoken   bool                // the model has given an answer that no summary covers
	earlier  bool                // and one before its last answer
	last     *entry              // its last answer, unless that is settled; nil: none
	given    map[string]string   // instructions in the model's view, by file
	refused  map[string][]string // keys of parts that are left out of requests, by model

	usedNow, usedBefore []string // files of the turn's calls: not yet taken, and taken

	turn    core.TurnID
	first   int            // number of entries when the turn began
	mark    load           // the size at that time
	cur     *entry         // the growing answer; nil: none
	message core.MessageID // of the open stretch of text
}

// entry is a message of the user, or an answer with the results of its calls.
type entry struct {
	user *message // of the user; nil: an answer

	text         cappedText
	thoughts     []*thought
	uses         []*use
	asked        bool         // a request was made here, so the end of the answer is known
	moved        bool         // a call has left Proposed: the model has stopped speaking
	counted      bool         // its usage has arrived: it is complete
	note         string       // in place of an answer
	instructions []core.Block // of folders; after the results
	steered      []*message   // of the user, during the answer; after the instructions
}

// message is a message of the user, or a note that stands as one.
type message struct {
	id core.MessageID
	portion
}

type thought struct {
	id     core.ThoughtID
	text   cappedText
	sealed json.RawMessage
}

// use is a call and its result.
type use struct {
	in           *entry
	id           core.CallID
	server, tool string
	args         json.RawMessage
	why          string // its reason at the last change before its end
	ended        bool
	failed       bool
	result       portion
	spill        string // the file with the whole of it
}

// follow folds the records after the history's place in the log. stale means that a
// record which was folded before is hidden now: the history is useless then, and the
// caller starts again with an empty one.
func (h *history) follow(records iter.Seq2[core.Record, error]) (stale bool, err error) {
	fresh := h.pos == core.Pos{}
	for r, err := range records {
		if err != nil {
			return false, fmt.Errorf("read the conversation: %w", err)
		}
		if _, hides := r.Event.(core.Truncated); hides && !fresh {
			return true, nil
		}
		h.apply(r.Event)
		h.pos = r.End()
	}
	return false, nil
}

// apply folds one event. Events must be in order; deltas may have any number of
// pieces.
func (h *history) apply(ev core.Event) {
	switch e := ev.(type) {
	case core.TurnStarted:
		h.turn, h.cur, h.first, h.mark = e.Turn, nil, len(h.entries), h.load
		h.forgetUsed()
		if e.Standing != nil {
			h.standing = e.Standing
		}
		if len(e.Prompt) > 0 {
			h.entries = append(h.entries, &entry{user: &message{e.Message, portion{blocks: e.Prompt}}})
			h.load.bytes += weigh(e.Prompt)
		}
	case core.Expanded:
		h.expand(e)
	case core.Steered:
		h.hear(&message{e.Message, portion{blocks: e.Prompt}})
	case core.Shortened:
		h.shortened(e)
	case core.Reverted:
		h.reverted(e)
	case core.Compacted:
		h.compacted(e)
	case core.TextDelta:
		h.textDelta(e)
	case core.ThoughtStarted:
		h.thought(e.Thought)
	case core.ThoughtDelta:
		h.write(&h.thought(e.Thought).text, e.Text)
	case core.ThoughtEnded:
		h.thought(e.Thought).sealed = e.Sealed
	case core.CallChanged:
		h.call(e.Call)
	case core.UsageChanged:
		h.total = e.Total
		h.load.counted(e.Context)
		if h.cur != nil {
			h.cur.counted = true
		}
	case core.Missing:
		h.hear(noteFor("(A part of this conversation was lost here.)"))
	case core.Instructed:
		h.instructed(e)
	case core.Notice:
		h.learn(e)
	case core.TurnEnded:
		h.turnEnded(e)
	case core.Opened, core.Claimed, core.PromptQueued, core.Phase, core.CallArgs,
		core.CallOutput, core.Asked, core.Answered, core.PlanChanged,
		core.TitleChanged, core.Archived, core.SettingsChanged, core.Bound, core.FellBack, core.Briefed,
		core.Flagged, core.Cited, core.Moved, core.Truncated, core.Foreign, core.Offered, core.Unknown:
	}
}

// ask records that the model is asked now: the following events are one answer, and
// the user's messages in the meantime follow it.
func (h *history) ask() {
	h.cur = &entry{asked: true}
	h.entries = append(h.entries, h.cur)
	h.message = ""
}

// answer returns the answer of a new stretch or call. The log does not mark the border
// between two answers, but events after the usage of an answer, after the start of a
// call, or after a message of the user belong to another one.
func (h *history) answer() *entry {
	if e := h.cur; e == nil || !e.asked && (e.moved || e.counted || len(e.instructions)+len(e.steered) > 0) {
		h.cur = &entry{}
		h.entries = append(h.entries, h.cur)
		h.message = ""
	}
	return h.cur
}

func (h *history) textDelta(e core.TextDelta) {
	if h.cur == nil || e.Message != h.message {
		a := h.answer()
		if a.text.size > 0 {
			h.write(&a.text, "\n\n")
		}
		h.message = e.Message
	}
	h.speak(h.cur)
	h.write(&h.cur.text, e.Text)
	h.spoken = true
}

// speak notes that the model speaks in an answer: it has seen everything before that.
func (h *history) speak(in *entry) {
	if in == h.last {
		return
	}
	for u := range h.unseen() {
		u.whole = nil
	}
	h.last, h.earlier = in, h.spoken
}

// write appends to a text, and updates the size for the model.
func (h *history) write(c *cappedText, s string) {
	was := min(c.size, maxText)
	c.write(s)
	h.load.bytes += min(c.size, maxText) - was
}

// hear adds a message of the user's side: after the current answer, if there is one.
func (h *history) hear(m *message) {
	h.load.bytes += weigh(m.blocks)
	if h.cur == nil {
		h.entries = append(h.entries, &entry{user: m})
		return
	}
	h.cur.steered = append(h.cur.steered, m)
}

// noteFor returns a note for the model.
func noteFor(text string) *message {
	return &message{portion: portion{blocks: []core.Block{core.Text{Text: text}}}}
}

// thought returns a thought of the growing answer, or starts it.
func (h *history) thought(id core.ThoughtID) *thought {
	if h.cur != nil {
		for _, t := range h.cur.thoughts {
			if t.id == id {
				return t
			}
		}
	}
	a, t := h.answer(), &thought{id: id}
	h.speak(a)
	a.thoughts = append(a.thoughts, t)
	return t
}

func (h *history) call(c core.Call) {
	u := h.open[c.ID]
	if u == nil {
		if h.open == nil {
			h.open, h.used = map[core.CallID]*use{}, map[core.CallID]bool{}
		}
		a := h.answer()
		h.speak(a)
		u = &use{id: c.ID, in: a}
		a.uses = append(a.uses, u)
		h.open[c.ID], h.used[c.ID] = u, true
		h.spoken = true
	}
	u.server, u.tool = c.Server, c.Tool
	if len(c.Args) > 0 {
		h.load.bytes += len(c.Args) - len(u.args)
		u.args = c.Args
	}
	if c.State != core.Proposed {
		u.in.moved = true
	}
	if c.State.Ended() {
		u.end(c)
		h.load.bytes += weigh(u.result.blocks)
		h.uses(c)
		delete(h.open, c.ID)
		return
	}
	u.why = c.Why
}

// turnEnded closes the answer. A turn without one leaves a note; one that the model
// refused leaves nothing. What the model has not seen is not settled: there may be no room for it.
func (h *history) turnEnded(e core.TurnEnded) {
	if e.Turn != h.turn { // it never began
		return
	}
	h.turn, h.cur = "", nil
	if e.Stop == core.StopRefusal {
		h.entries, h.load, h.last = h.entries[:h.first], h.mark, nil
	}
	said, asked := false, false
	for _, entry := range h.entries[h.first:] {
		said, asked = said || entry.says(), asked || entry.user != nil
	}
	if asked && !said {
		h.entries = append(h.entries, &entry{note: noteOf(e)})
	}
	if len(h.open) > 0 {
		return
	}
	n := len(h.entries)
	if e.Stop != core.StopRefusal {
		for range h.unseen() {
			n = h.place()
			break
		}
	}
	h.settled = h.folded(h.entries[:n])
	if n == len(h.entries) {
		h.entries, h.last = nil, nil
	}
	h.entries, h.first = slices.Clone(h.entries[min(n, len(h.entries)):]), 0
}

// says reports whether a model would see the entry as an answer.
func (e *entry) says() bool { return e.text.size > 0 || e.note != "" || len(e.kept()) > 0 }

// kept returns the calls for the model: not those whose arguments never arrived.
func (e *entry) kept() []*use {
	var uses []*use
	for _, u := range e.uses {
		if u.args != nil || !u.ended {
			uses = append(uses, u)
		}
	}
	return uses
}

func noteOf(e core.TurnEnded) string {
	switch e.Stop {
	case core.StopCanceled:
		return "(The user stopped this turn before there was an answer.)"
	case core.StopError, core.StopInterrupted:
		return "(This turn failed before there was an answer.)"
	case core.StopEnd, core.StopTokens, core.StopRequests, core.StopLimit, core.StopRefusal:
	}
	return "(There was no answer.)"
}

// messages returns the messages for a model. They share memory with the history, must not
// be changed, and hold until the next call: those of the growing turn are written behind the
// settled ones, so that a request costs nothing for the turns before it.
func (h *history) messages() []inference.Message { return slices.Clip(h.folded(h.entries)) }

// folded returns the settled messages and those of entries, the next ones.
func (h *history) folded(entries []*entry) []inference.Message {
	n := len(h.settled)
	need := 0
	for _, e := range entries {
		need += e.most()
	}
	if cap(h.settled)-n < need {
		h.settled = slices.Grow(h.settled, max(need, n/4))
	}
	list := h.settled
	if n > 0 && len(entries) > 0 && (list[n-1].Role == inference.RoleUser || entries[0].user == nil) {
		list = slices.Clone(list) // its last message may become a longer one
	}
	for _, e := range entries {
		list = e.messages(list)
	}
	return list
}

// most returns the number of messages that an entry has at most.
func (e *entry) most() int {
	return 2 + len(e.uses) + min(len(e.instructions)+len(e.steered), 1)
}

func (e *entry) messages(list []inference.Message) []inference.Message {
	if e.user != nil {
		list = addUser(list, e.user.blocks)
	}
	uses := e.kept()
	if e.says() {
		list = addAnswer(list, e, uses)
		for _, u := range uses {
			list = append(list, inference.Message{Role: inference.RoleTool, Result: u.message()})
		}
	}
	list = addUser(list, e.instructions)
	for _, m := range e.steered {
		list = addUser(list, m.blocks)
	}
	return list
}

// addUser appends a message of the user; two messages in a row become one.
func addUser(list []inference.Message, blocks []core.Block) []inference.Message {
	if len(blocks) == 0 {
		return list
	}
	if n := len(list); n > 0 && list[n-1].Role == inference.RoleUser {
		old := list[n-1].Blocks
		list[n-1].Blocks = append(old[:len(old):len(old)], blocks...)
		return list
	}
	return append(list, inference.Message{Role: inference.RoleUser, Blocks: blocks})
}

// addAnswer appends an answer; an answer that follows another one without a call
// becomes a part of that.
func addAnswer(list []inference.Message, e *entry, uses []*use) []inference.Message {
	m := inference.Message{Role: inference.RoleAssistant, Text: e.text.String() + e.note}
	for _, t := range e.thoughts {
		if t.text.size > 0 || t.sealed != nil {
			m.Thoughts = append(m.Thoughts, inference.Thought{Text: t.text.String(), Sealed: t.sealed})
		}
	}
	for _, u := range uses {
		args := u.args
		if args == nil {
			args = json.RawMessage("{}")
		}
		m.Calls = append(
			m.Calls,
			inference.ToolUse{ID: u.id, Name: inference.ToolName(u.server, u.tool), Args: args},
		)
	}
	n := len(list)
	if n == 0 || list[n-1].Role != inference.RoleAssistant {
		return append(list, m)
	}
	last := &list[n-1]
	if last.Text != "" && m.Text != "" {
		last.Text += "\n\n"
	}
	last.Text += m.Text
	last.Thoughts = append(last.Thoughts[:len(last.Thoughts):len(last.Thoughts)], m.Thoughts...)
	last.Calls = m.Calls
	return list
}

// expand replaces the text of a command by its meaning.
func (h *history) expand(e core.Expanded) {
	n := len(h.entries) - 1
	if n < 0 || h.entries[n].user == nil || h.entries[n].user.id != e.Message {
		return
	}
	m := h.entries[n].user
	h.load.bytes += len(e.Text) - weigh(m.blocks[:1])
	m.blocks = append([]core.Block{core.Text{Text: e.Text}}, m.blocks[1:]...)
}
