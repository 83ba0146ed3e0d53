package core

import "dragoman/core/internal/memlog"

// traits is the set of properties of an event that generic code asks for. Because of it, few
// switches list every event: those where a forgotten event would be a mistake, which are
// State.apply, the encoders of the protocols, the loop's history and the codec. The others switch
// over any(event), and name only the events that they handle.
type traits uint8

const (
	byTurn traits = 1 << iota // a turn may emit it (Turn.Emit)
	byHost                    // a back end may publish it outside of turns (Host.Publish)
	listed                    // it may change the session's summary in lists
	forked                    // a fork of the session takes it over
	run                       // it is a delta: successive ones of one stream are one record
	live                      // it is never stored
)

// A row has the traits of an event and the size of its content in bytes, if that may be large. The
// method is also what makes a type an Event, so no event is without a row. An event that has neither
// byTurn nor byHost is emitted by core alone.
func (Opened) event() (traits, int)         { return 0, 0 }
func (Claimed) event() (traits, int)        { return 0, 0 }
func (e PromptQueued) event() (traits, int) { return 0, blocksSize(e.Prompt) }
func (e TurnStarted) event() (traits, int) {
	return listed | forked, blocksSize(e.Prompt) + blocksSize(e.Standing)
}
func (e Steered) event() (traits, int)       { return listed | forked, blocksSize(e.Prompt) }
func (Expanded) event() (traits, int)        { return byTurn | forked, 0 }
func (Phase) event() (traits, int)           { return byTurn | live, 0 }
func (TextDelta) event() (traits, int)       { return byTurn | forked | run, 0 }
func (ThoughtStarted) event() (traits, int)  { return byTurn | forked, 0 }
func (ThoughtDelta) event() (traits, int)    { return byTurn | forked | run, 0 }
func (e ThoughtEnded) event() (traits, int)  { return byTurn | forked, len(e.Sealed) }
func (e CallChanged) event() (traits, int)   { return byTurn | forked, e.Call.size() }
func (CallArgs) event() (traits, int)        { return byTurn | forked | run, 0 }
func (CallOutput) event() (traits, int)      { return byTurn | forked | run, 0 }
func (Asked) event() (traits, int)           { return 0, 0 }
func (Answered) event() (traits, int)        { return 0, 0 }
func (PlanChanged) event() (traits, int)     { return byTurn | byHost | forked, 0 }
func (UsageChanged) event() (traits, int)    { return byTurn | byHost | forked, 0 }
func (TitleChanged) event() (traits, int)    { return byTurn | byHost | listed | forked, 0 }
func (Archived) event() (traits, int)        { return listed, 0 }
func (SettingsChanged) event() (traits, int) { return listed | forked, 0 }
func (e Bound) event() (traits, int)         { return byTurn | byHost, len(e.State) }
func (e Notice) event() (traits, int)        { return byTurn | byHost | forked, len(e.Text) }
func (e Missing) event() (traits, int)       { return forked, len(e.Text) }
func (e FellBack) event() (traits, int)      { return byTurn | forked, len(e.Reason) }
func (e Instructed) event() (traits, int)    { return byTurn | forked, len(e.Text) }
func (e Briefed) event() (traits, int)       { return byTurn | forked, len(e.Text) }
func (Flagged) event() (traits, int)         { return listed | forked, 0 }
func (e Compacted) event() (traits, int)     { return byTurn | forked, len(e.Summary) }
func (e Shortened) event() (traits, int)     { return byTurn | forked, 300 * len(e.Excerpts) }
func (Reverted) event() (traits, int)        { return forked, 0 }
func (Cited) event() (traits, int)           { return byTurn | forked, 0 }
func (Moved) event() (traits, int)           { return byTurn, 0 }
func (Truncated) event() (traits, int)       { return listed, 0 }
func (TurnEnded) event() (traits, int)       { return listed | forked, 0 }
func (e Foreign) event() (traits, int) {
	return byTurn | byHost | forked, len(e.Raw) + len(e.Text) + blocksSize(e.Content)
}

func (e Offered) event() (traits, int) {
	return byTurn | byHost | forked, 100 * (len(e.Commands) + len(e.Choices))
}
func (e Unknown) event() (traits, int) { return 0, len(e.Raw) }

// is reports whether an event has a trait. No event has none.
func is(ev Event, t traits) bool {
	if ev == nil {
		return false
	}
	has, _ := ev.event()
	return has&t != 0
}

// Forked reports whether a fork of a session takes an event over.
func Forked(ev Event) bool { return is(ev, forked) }

// largestSize is the size that eventSize returns at most. With its own size a picture would at once push out of
// memory what readers have not taken yet, and each reader would decode the picture once more, from the store.
const largestSize = memlog.Batch / 2

// eventSize returns the rough size of an atomic event, in bytes.
func eventSize(ev Event) int {
	_, size := ev.event()
	return min(128+size, largestSize)
}

func (c Call) size() int {
	return len(c.Args) + len(c.Output) + len(c.Title) + len(c.Why) + blocksSize(c.Content)
}

func blocksSize(bs []Block) (n int) {
	for _, b := range bs {
		n += b.block()
	}
	return n
}
