package mcp

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/display"
)

const (
	maxText    = 200 << 10 // bytes of an answer in a result
	maxCalls   = 200       // calls in a result
	maxSummary = 300       // bytes of a line about a call
	maxMedia   = 1 << 20   // bytes of images and sounds in a result
)

// turn is the fold of one core turn's records: the source of a result. Records come in the log's
// order, runs in any pieces. Records before the turn's beginning and after its end are ignored.
type turn struct {
	id    core.TurnID
	begun bool
	ended bool
	from  core.Pos // of the reader that gets the turn's first record next
	at    core.Pos // the end of the fold, while nobody follows
	line  string   // the newest line about it
	began time.Time
	by    core.Origin
	news  time.Time               // of the newest record
	asked map[core.AskID]approval // as they were when they were asked

	stop    core.StopReason
	err     string
	text    boundedText
	message core.MessageID
	fresh   bool // a call was made: the next text replaces the earlier one
	calls   []core.Call
	more    int // calls beyond maxCalls that have ended
	asks    []core.Ask
	usage   core.Usage
	fell    core.FellBack // the newest
	media   []core.Block  // images, sounds and links that an external agent has answered with, and sources
	room    int           // bytes of media
}

// apply folds one record and reports whether it belongs to the turn.
func (t *turn) apply(r core.Record) bool {
	switch e := any(r.Event).(type) {
	case core.TurnStarted:
		if e.Turn == t.id && !t.begun {
			t.began, t.news, t.by = r.Time, r.Time, e.Origin
			t.begun, t.from = true, core.Pos{Epoch: r.Epoch, Seq: r.Seq}
		}
		if e.Turn != t.id && t.begun && !t.ended { // one runs at a time
			t.ended, t.stop, t.err, t.at = true, core.StopInterrupted, "interrupted: the session's log has lost the turn's end", r.End()
		}
		return e.Turn == t.id
	case core.TurnEnded:
		if e.Turn == t.id && !t.ended {
			if !t.begun { // it was taken back while it was queued
				t.from = core.Pos{Epoch: r.Epoch, Seq: r.Seq}
			}
			t.news = r.Time
			t.ended, t.stop, t.err, t.at = true, e.Stop, e.Err, r.End()
			return true
		}
		return false
	}
	if !t.begun || t.ended {
		return false
	}
	t.news = r.Time
	t.within(r.Event)
	return true
}

// copy returns the fold for a reader while the fold grows.
func (t *turn) copy() turn {
	c := *t
	c.calls, c.asks, c.asked = slices.Clone(t.calls), slices.Clone(t.asks), nil
	c.text.head, c.media = slices.Clip(t.text.head), slices.Clip(t.media)
	return c
}

// within folds an event between the turn's beginning and its end.
func (t *turn) within(ev core.Event) {
	switch e := any(ev).(type) {
	case core.TextDelta:
		t.say(e)
	case core.CallChanged:
		t.call(e.Call)
	case core.Asked:
		if !e.Ask.Secret {
			t.asks = append(t.asks, e.Ask)
		}
		if e.Ask.Kind == core.AskApproval {
			t.remember(e.Ask)
		}
	case core.Answered:
		t.asks = slices.DeleteFunc(t.asks, func(a core.Ask) bool { return a.ID == e.Ask })
	case core.UsageChanged:
		t.usage = t.usage.Add(e.Last)
	case core.FellBack:
		t.fell = e
	case core.Foreign:
		t.show(e.Content)
	case core.Cited:
		t.show([]core.Block{e.Link})
	}
}

// remember keeps the form of an approval, for events that are read again after its call has
// continued.
func (t *turn) remember(a core.Ask) {
	if t.asked == nil {
		t.asked = map[core.AskID]approval{}
	}
	if len(t.asked) < maxCalls {
		t.asked[a.ID] = t.approval(a)
	}
}

// say extends the answer: the agent's text after its last call, with its messages kept apart.
func (t *turn) say(e core.TextDelta) {
	switch {
	case t.fresh:
		t.text, t.fresh = boundedText{}, false
	case e.Message != t.message && t.text.size > 0:
		t.text.write("\n\n")
	}
	t.message = e.Message
	t.text.write(e.Text)
}

// show keeps content that is no text, as far as there is room.
func (t *turn) show(content []core.Block) {
	for _, b := range content {
		size := 0
		switch b := b.(type) {
		case core.Image:
			size = len(b.Data)
		case core.Audio:
			size = len(b.Data)
		case core.Link:
			size = len(b.URI) + len(b.Name) + len(b.Title) + len(b.Description)
		case core.Text, core.Resource, core.Diff, core.Terminal:
		}
		if size > 0 && t.room+size <= maxMedia {
			t.room += size
			t.media = append(t.media, b)
		}
	}
}

// call keeps the state of a call. Its output is for the agent only.
func (t *turn) call(c core.Call) {
	if c.State != core.Awaiting {
		c.Args = nil
		c.Content = found(c)
	}
	c.Output, c.Meta = nil, nil
	i := slices.IndexFunc(t.calls, func(k core.Call) bool { return k.ID == c.ID })
	switch {
	case i >= 0:
		t.calls[i] = c
		return
	case len(t.calls) < maxCalls:
		t.calls = append(t.calls, c)
	case c.State.Ended():
		t.more++
	}
	t.fresh = true
}

// called finds a call of the turn.
func (t *turn) called(id core.CallID) core.Call {
	for _, c := range t.calls {
		if c.ID == id {
			return c
		}
	}
	return core.Call{ID: id, Tool: "unknown"}
}

// callOf returns the call of an approval: the turn's own, or one of a sub-session.
func (t *turn) callOf(a core.Ask) core.Call {
	if a.About != nil {
		return *a.About
	}
	return t.called(a.Call)
}

// status returns the turn's status in a result.
func (t *turn) status() string {
	switch {
	case t.ended:
		return stopStatus(t.stop)
	case len(t.asks) > 0:
		return statusAwaiting
	}
	return statusRunning
}

// The values of a result's status.
const (
	statusCompleted = "completed"
	statusRunning   = "running"
	statusAwaiting  = "awaiting_approval"
	statusCancelled = "cancelled"
	statusRefused   = "refused"
	statusMaxTurns  = "max_turns"
	statusFailed    = "failed"
)

func stopStatus(s core.StopReason) string {
	switch s {
	case core.StopEnd, core.StopTokens:
		return statusCompleted
	case core.StopRequests, core.StopLimit:
		return statusMaxTurns
	case core.StopRefusal:
		return statusRefused
	case core.StopCanceled:
		return statusCancelled
	case core.StopError, core.StopInterrupted:
		return statusFailed
	}
	return statusFailed
}

// callStatus returns the status of a call in a result.
func callStatus(s core.CallState) string {
	switch s {
	case core.Proposed:
		return "proposed"
	case core.Awaiting:
		return statusAwaiting
	case core.Running:
		return statusRunning
	case core.Succeeded:
		return statusCompleted
	case core.Errored:
		return statusFailed
	case core.Rejected:
		return "rejected"
	case core.Canceled:
		return statusCancelled
	}
	return string(s)
}

// toolName returns a tool's name for people.
func toolName(c core.Call) string {
	if c.Server == core.Native || c.Server == "" {
		return c.Tool
	}
	return c.Server + "/" + c.Tool
}

// found returns the result of a sub-agent of an external agent, which is in no text of the turn; nil for
// other calls.
func found(c core.Call) []core.Block {
	if c.Child == "" || c.Server == core.Native || !c.State.Ended() || len(c.Content) == 0 {
		return nil
	}
	return []core.Block{core.Text{Text: line(blocksText(c.Content), maxSummary)}}
}

// summary returns a line about a call: its action, and the reason if it failed, or what was found.
func summary(c core.Call) string {
	s := c.Title
	if result := found(c); result != nil {
		s += ": " + blocksText(result)
	}
	if c.Why != "" && (c.State == core.Errored || c.State == core.Rejected || c.State == core.Awaiting) {
		if s != "" {
			s += ": "
		}
		s += c.Why
	}
	return line(s, maxSummary)
}

// line returns s in one line of at most limit bytes.
func line(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= limit {
		return s
	}
	return display.Cut(s, limit-len("…")) + "…"
}

// boundedText is a growing text, of which only the first maxText bytes are kept.
type boundedText struct {
	head []byte
	size int
}

func (l *boundedText) write(s string) {
	l.size += len(s)
	if room := maxText + utf8.UTFMax - len(l.head); room > 0 {
		l.head = append(l.head, s[:min(room, len(s))]...)
	}
}

func (l *boundedText) String() string {
	if l.size <= maxText {
		return string(l.head)
	}
	s := display.Cut(string(l.head), maxText)
	return fmt.Sprintf("%s\n[… %d bytes more; agent_wait with after has all of it]", s, l.size-len(s))
}
