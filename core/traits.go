package core

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
	sized                     // its content may be large: eventSize counts it
	live                      // it is never stored
)

// The method is also what makes a type an Event, so no event is without a row. An event that has
// neither byTurn nor byHost is emitted by core alone.
func (Opened) event() traits          { return 0 }
func (Claimed) event() traits         { return 0 }
func (PromptQueued) event() traits    { return sized }
func (TurnStarted) event() traits     { return listed | forked | sized }
func (Steered) event() traits         { return listed | forked | sized }
func (Expanded) event() traits        { return byTurn | forked }
func (Phase) event() traits           { return byTurn | live }
func (TextDelta) event() traits       { return byTurn | forked | run }
func (ThoughtStarted) event() traits  { return byTurn | forked }
func (ThoughtDelta) event() traits    { return byTurn | forked | run }
func (ThoughtEnded) event() traits    { return byTurn | forked | sized }
func (CallChanged) event() traits     { return byTurn | forked | sized }
func (CallArgs) event() traits        { return byTurn | forked | run }
func (CallOutput) event() traits      { return byTurn | forked | run }
func (Asked) event() traits           { return 0 }
func (Answered) event() traits        { return 0 }
func (PlanChanged) event() traits     { return byTurn | byHost | forked }
func (UsageChanged) event() traits    { return byTurn | byHost | forked }
func (TitleChanged) event() traits    { return byTurn | byHost | listed | forked }
func (SettingsChanged) event() traits { return listed | forked }
func (Bound) event() traits           { return byTurn | byHost | sized }
func (Notice) event() traits          { return byTurn | byHost | forked | sized }
func (Missing) event() traits         { return forked | sized }
func (FellBack) event() traits        { return byTurn | forked | sized }
func (Instructed) event() traits      { return byTurn | forked | sized }
func (Flagged) event() traits         { return listed | forked }
func (Compacted) event() traits       { return byTurn | forked | sized }
func (Reverted) event() traits        { return forked }
func (Cited) event() traits           { return byTurn | forked }
func (Moved) event() traits           { return byTurn }
func (Truncated) event() traits       { return listed }
func (TurnEnded) event() traits       { return listed | forked }
func (Unknown) event() traits         { return sized }

// is reports whether an event has a trait. No event has none.
func is(ev Event, t traits) bool { return ev != nil && ev.event()&t != 0 }

// eventSize returns the rough size of an atomic event, in bytes.
func eventSize(ev Event) int {
	const base = 128
	if !is(ev, sized) {
		return base
	}
	switch e := any(ev).(type) {
	case CallChanged:
		return base + len(e.Call.Args) + len(e.Call.Output) + len(e.Call.Title) + len(e.Call.Why) + blocksSize(e.Call.Content)
	case TurnStarted:
		return base + blocksSize(e.Prompt)
	case PromptQueued:
		return base + blocksSize(e.Prompt)
	case Steered:
		return base + blocksSize(e.Prompt)
	case Notice:
		return base + len(e.Text)
	case Missing:
		return base + len(e.Text)
	case FellBack:
		return base + len(e.Reason)
	case Instructed:
		return base + len(e.Text)
	case Compacted:
		return base + len(e.Summary)
	case ThoughtEnded:
		return base + len(e.Sealed)
	case Bound:
		return base + len(e.State)
	case Unknown:
		return base + len(e.Raw)
	}
	return base
}

func blocksSize(bs []Block) (n int) {
	for _, b := range bs {
		switch b := b.(type) {
		case Text:
			n += len(b.Text)
		case Image:
			n += len(b.Data) + len(b.URI)
		case Audio:
			n += len(b.Data)
		case Link:
			n += len(b.URI) + len(b.Description)
		case Resource:
			n += len(b.Text) + len(b.Blob)
		case Diff:
			n += len(b.Old) + len(b.New) + len(b.Patch)
		case Terminal:
			n += len(b.ID)
		}
	}
	return n
}
