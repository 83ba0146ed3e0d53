package core

import (
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/core/internal/choices"
	"dragoman/core/internal/given"
	"dragoman/core/internal/recent"
	"dragoman/core/internal/remembered"
	"dragoman/core/internal/sides"
	"dragoman/core/internal/tail"
	"dragoman/core/internal/title"
	"dragoman/core/internal/usage"
)

// State is the fold of a session's log: its current state.
type State struct {
	Meta     Meta
	Title    string
	Settings Settings
	Usage    Usage        // the session's total
	Spent    Expense      // by the session and the tasks that it delegated; what was taken back stays spent
	Agreed   []string     // what a person has agreed to for the session (Turn.AskToAgree)
	Limit    string       // the limit that ended the last turn; "": none did
	Models   []ModelUsage // the total by model
	Context  int          // tokens that the last request and its answer filled
	Window   int          // tokens that the model takes; 0: unknown
	Shares   []Share      // of Context
	// CompactAt is the percentage of Window above which the conversation is summarized
	// automatically; 0: never, or not known.
	CompactAt int
	Plan      []PlanEntry
	Messages  int    // of the user and of the agent
	Turn      TurnID // the one that runs, or ""
	Queued    []TurnID
	Asks      []Ask // what waits for a person, oldest first
	Bound     Bound // the agent's that has heard everything; the zero value: there is none
	Updated   time.Time
	Offered   Offered // by the session's agent, if it is behind the gateway
	Missing   string  // the damage of the log, and advice; empty: there is none
	Archived  bool
	Named     bool // a person has set the title

	autoTitle bool
	queued    []PromptQueued
	calls     map[CallID]Call // calls that have not ended
	printed   map[CallID]*tail.Tail
	answers   remembered.Answers[Caller]
	origin    Origin             // of the newest turn
	keys      recent.Map[TurnID] // by the keys of prompts
	callers   map[Caller]bool    // callers that have prompted
	message   MessageID          // the newest of the agent
	flags     map[MessageID]string
	given     given.Context
	sides     sides.Set[Pos]
	left      choices.Left
	acted     time.Time // when the first call ran that may have changed a file; zero: none has
}

func newState() State {
	return State{calls: map[CallID]Call{}, printed: map[CallID]*tail.Tail{}, answers: remembered.Answers[Caller]{}, keys: recent.Map[TurnID]{Max: maxKeys}, callers: map[Caller]bool{}, flags: map[MessageID]string{}, left: choices.Left{}}
}

// public returns a copy of what others may see. Its cost does not grow with the session's history.
func (s *State) public() State {
	return State{
		Meta: s.Meta, Title: s.Title, Settings: s.Settings, Usage: s.Usage, Spent: s.Spent, Agreed: slices.Clone(s.Agreed), Limit: s.Limit, Context: s.Context, Window: s.Window,
		Shares: slices.Clone(s.Shares), CompactAt: s.CompactAt,
		Plan: slices.Clone(s.Plan), Messages: s.Messages, Turn: s.Turn, Queued: slices.Clone(s.Queued), Asks: slices.Clone(s.Asks),
		Bound: s.Bound, Offered: s.Offered, Updated: s.Updated, Missing: s.Missing, Archived: s.Archived, Named: s.Title != "" && !s.autoTitle, Models: slices.Clone(s.Models),
	}
}

// apply folds one record. Records come in order; the parts of a run may come in any number of pieces.
func (s *State) apply(ev Event, at time.Time) {
	switch e := ev.(type) {
	case Opened:
		s.Meta = e.Meta
		s.Updated = e.Meta.Created
	case PromptQueued:
		s.queued = append(s.queued, e)
		s.Queued = append(s.Queued, e.Turn)
		s.begun(e.Key, e.Turn, e.Origin.Caller)
	case TurnStarted:
		if !s.unqueue(e.Turn) { // a prompt that waited was noted when it was queued
			s.begun(e.Key, e.Turn, e.Origin.Caller)
		}
		s.Turn, s.Updated, s.origin, s.Archived = e.Turn, at, e.Origin, false
		given.Add(&s.given, e.Standing, e.Prompt[len(e.Prompt)-min(max(e.Passing, 0), len(e.Prompt)):], slotOf)
		if len(e.Prompt) > 0 {
			s.Messages++
		}
	case Steered:
		s.Messages++
	case TextDelta:
		if e.Message != s.message {
			s.message = e.Message
			s.Messages++
		}
	case CallChanged:
		if s.acted.IsZero() && e.Call.State == Running && e.Call.Kind.acts() {
			s.acted = at
		}
		s.Spent = s.Spent.Plus(e.Call.Spent.Beyond(s.calls[e.Call.ID].Spent))
		if e.Call.State.Ended() {
			delete(s.calls, e.Call.ID)
			delete(s.printed, e.Call.ID)
		} else {
			s.calls[e.Call.ID] = e.Call
		}
	case CallOutput:
		if s.calls[e.Call].State != Running {
			return // of a call that has ended
		}
		if s.printed[e.Call] == nil {
			s.printed[e.Call] = &tail.Tail{}
		}
		s.printed[e.Call].Add(e.Text)
	case Asked:
		s.Asks = append(s.Asks, e.Ask)
	case Answered:
		if r := e.Reply; r.Remember != "" && r.Outcome == OutcomeAnswered {
			s.Agreed = append(s.Agreed, r.Remember)
		}
		s.Asks = slices.DeleteFunc(s.Asks, func(a Ask) bool { return a.ID == e.Ask })
		if r := e.Reply; r.Remember != "" && r.Outcome == OutcomeDecided {
			s.answers.Add(r.Caller, r.By, r.Remember, r.Decision, s.origin.turn())
		}
	case Missing:
		if !e.Final {
			s.Missing = e.Text
		}
	case Compacted:
		s.given.Forget()
		if e.After > 0 {
			s.Context, s.Shares = e.After, e.Shares
		}
	case PlanChanged:
		s.Plan = e.Entries
	case UsageChanged:
		s.Spent = s.Spent.Plus(ExpenseOf(e.Since(s.Usage)).Beyond(Expense{}))
		s.Usage, s.Context, s.Window = e.Total, e.Context, e.Window
		if len(e.Shares) > 0 {
			s.Shares, s.CompactAt = e.Shares, e.CompactAt
		}
		s.Models = usage.Count(s.Models, e.Model, e.Last)
	case TitleChanged:
		s.Title, s.autoTitle = e.Title, e.Auto
	case Archived:
		if s.Archived = e.Archived; !e.Archived { // who takes it out again will use it
			s.Updated = at
		}
	case SettingsChanged:
		if s.Settings.Agent != e.Settings.Agent {
			s.left[s.Settings.Agent] = s.Settings.Choices
		}
		s.Settings = e.Settings
	case Bound:
		s.sides = s.sides.With(sides.Side[Pos](e))
		s.Bound = Bound(s.sides.Present())
	case Offered:
		s.Offered = e
	case TurnEnded:
		s.unqueue(e.Turn)
		if s.Turn == e.Turn {
			s.Turn = ""
		}
		if s.Limit = ""; e.Stop == StopLimit {
			s.Limit = e.Err
		}
		if e.Stop == StopRefusal { // the message is left out for the model
			s.given.Forget()
		}
		s.Updated = at
	case Flagged:
		if e.Text == "" {
			delete(s.flags, e.Message)
		} else {
			s.flags[e.Message] = e.Text
		}
	case Claimed, Phase, ThoughtStarted, ThoughtDelta, ThoughtEnded, CallArgs, Notice, FellBack, Instructed, Briefed, Expanded, Shortened, Reverted, Cited, Moved, Truncated, Foreign, Unknown:
	}
}

// maxKeys limits the keys of prompts that a session remembers to the newest.
const maxKeys = 256

func (s *State) begun(key string, id TurnID, by Caller) {
	if key != "" {
		s.keys.Set(key, id)
	}
	if by != "" {
		s.callers[by] = true
	}
}

// unqueue reports whether the turn was queued.
func (s *State) unqueue(id TurnID) bool {
	n := len(s.Queued)
	s.Queued = slices.DeleteFunc(s.Queued, func(q TurnID) bool { return q == id })
	s.queued = slices.DeleteFunc(s.queued, func(q PromptQueued) bool { return q.Turn == id })
	return len(s.Queued) < n
}

// unfinished reports whether something runs or waits: a turn, a call or a question.
func (s *State) unfinished() bool {
	return s.Turn != "" || len(s.queued) > 0 || len(s.calls) > 0 || len(s.Asks) > 0
}

// openCalls lists the calls that have not ended, by id.
func (s *State) openCalls() []Call {
	return slices.SortedFunc(maps.Values(s.calls), func(a, b Call) int { return strings.Compare(string(a.ID), string(b.ID)) })
}

// Summary is the session as a list shows it.
func (s *State) Summary() Summary {
	sum := Summary{
		ID: s.Meta.ID, Title: s.Title, Cwd: s.Meta.Cwd, Roots: s.Meta.Roots, Parent: s.Meta.Parent, Created: s.Meta.Created, Updated: s.Updated,
		Model: s.Settings.Model, Agent: s.Settings.Agent, Messages: s.Messages, Running: s.Turn != "", Archived: s.Archived,
	}
	if s.Meta.From.Agent != "" {
		sum.Messages = max(sum.Messages, 1) // the agent may not be able to repeat them
	}
	if s.Offered.Agent != "" && s.Offered.Agent == s.Settings.Agent {
		sum.Model = choices.ValueOf(s.Offered.Choices, "model")
	}
	return sum
}

// titleOf returns the title that a prompt suggests: the beginning of its first text.
func titleOf(prompt []Block) string {
	for _, b := range prompt {
		if t, ok := b.(Text); ok {
			if line := title.Of(t.Text); line != "" {
				return line
			}
		}
	}
	return ""
}
