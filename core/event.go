package core

import (
	"encoding/json"
	"time"

	"dragoman/core/internal/memlog"
)

type (
	// SessionID names a session within its principal. Clients may choose it: up
	// to 256 bytes of anything but NUL.
	SessionID string
	// TurnID names a turn within its session.
	TurnID string
	// MessageID names a message within its session.
	MessageID string
	// ThoughtID names one stretch of reasoning within its session.
	ThoughtID string
	// AskID names something that waits for a person.
	AskID string
	// Principal is on whose behalf a client acts. Sessions belong to one.
	Principal string
)

// Local is the principal of everybody who started the process.
const Local Principal = "local"

// Record is one event at its place in a session's log. Off > 0 marks the rest
// of a run, of which the reader has Off bytes already. Seq is 0 for an event that is
// live only (Phase): it has no place in the log.
type Record struct {
	Epoch, Seq, Off uint64
	Time            time.Time
	Event           Event
}

// End is the position of a reader that has all of r.
func (r Record) End() Pos { return memlog.End(&logEvents, r) }

// span returns how many numbers an atomic record takes.
func (r Record) span() uint64 {
	if m, ok := r.Event.(Missing); ok {
		return max(m.Records, 1)
	}
	return 1
}

// from returns the part of a record that is still missing to a reader who has all
// records in front of number seq.
func (r Record) from(seq uint64) Record {
	if m, ok := r.Event.(Missing); ok && r.Seq < seq {
		m.Records = r.Seq + r.span() - seq
		r.Seq, r.Event = seq, m
	}
	return r
}

// Event is one thing that happened in a session. The set is closed (traits.go has a row for each
// event); events are values and never change once they were appended.
//
//sumtype:decl
type Event interface{ event() (traits, int) }

// Opened is the first record of every log.
type Opened struct {
	Meta Meta `json:"meta"`
}

// Claimed says that a process took the session over. Records of an earlier
// epoch behind it do not count.
type Claimed struct {
	Epoch uint64 `json:"epoch"`
	Node  string `json:"node"`
	After Pos    `json:"after"`
}

// Origin describes who prompted a turn.
type Origin struct {
	Client    string    `json:"client,omitempty"` // the attachment's client
	Principal Principal `json:"principal,omitempty"`
	Caller    Caller    `json:"caller,omitempty"`    // the program that prompted; empty: a person
	Hops      int       `json:"hops,omitempty"`      // gateways between the prompter and us
	Approvals Approvals `json:"approvals,omitempty"` // narrows what policy grants, for this turn
}

// PromptQueued says that a prompt was accepted while another turn ran.
type PromptQueued struct {
	Turn   TurnID  `json:"turn"`
	Key    string  `json:"key,omitempty"`
	Origin Origin  `json:"origin"`
	Prompt []Block `json:"-"`
}

// TurnStarted begins a turn. Message is the id of the user's message.
type TurnStarted struct {
	Turn    TurnID    `json:"turn"`
	Message MessageID `json:"message"`
	Key     string    `json:"key,omitempty"`
	Origin  Origin    `json:"origin"`
	Prompt  []Block   `json:"-"` // empty for a turn that no client here prompted
	// Passing is the number of blocks at the end of Prompt that are from Context.Passing.
	Passing int `json:"passing,omitempty"`
	// Standing is Context.Standing; nil: as in the turn before.
	Standing []Block `json:"-"`
}

// Expanded replaces the text of a message of the user for the model: it has the text that a
// command means. The user still sees the typed text.
type Expanded struct {
	Message MessageID `json:"message"`
	Text    string    `json:"text"`
}

// Steered adds a message of the user to the turn that runs.
type Steered struct {
	Turn    TurnID    `json:"turn"`
	Message MessageID `json:"message"`
	Origin  Origin    `json:"origin"`
	Prompt  []Block   `json:"-"`
}

// PhaseKind is the activity of a running turn.
type PhaseKind string

const (
	PhaseWaiting    PhaseKind = "waiting"    // for the model's first word
	PhaseGenerating PhaseKind = "generating" // the model speaks
	PhaseCalling    PhaseKind = "calling"    // tools run
	PhaseCompacting PhaseKind = "compacting" // the conversation is being summed up
	PhaseStarting   PhaseKind = "starting"   // servers of tools are starting, and the turn waits for them
	PhaseRetrying   PhaseKind = "retrying"   // the model's service will be asked, or asked again, after a while
)

// Phase is live only: it is never stored, and a reader gets the newest.
type Phase struct {
	Turn  TurnID
	Kind  PhaseKind
	Tool  string        // of PhaseCalling; of PhaseStarting the names of the servers
	After time.Duration // of PhaseRetrying: until the next try
}

// TextDelta is a part of the agent's answer. Deltas of one Message concatenate.
type TextDelta struct {
	Message MessageID
	Text    string
}

// ThoughtStarted begins a stretch of reasoning.
type ThoughtStarted struct {
	Thought ThoughtID `json:"thought"`
}

// ThoughtDelta is a part of it.
type ThoughtDelta struct {
	Thought ThoughtID
	Text    string
}

// ThoughtEnded ends it. Sealed is data that the provider expects back (a signature, an
// encrypted block) and that only the provider reads.
type ThoughtEnded struct {
	Thought ThoughtID       `json:"thought"`
	Took    time.Duration   `json:"took"`
	Sealed  json.RawMessage `json:"sealed,omitempty"`
}

// CallChanged carries a call, whole, after a change. A call's first record is
// Proposed, with id, name, server and kind.
type CallChanged struct{ Call Call }

// CallArgs is a part of a call's arguments as the model writes them: raw text.
type CallArgs struct {
	Call CallID
	Text string
}

// CallOutput is a part of a running call's output.
type CallOutput struct {
	Call CallID
	Text string
}

// Asked says that a person must decide or answer something.
type Asked struct {
	Ask Ask `json:"ask"`
}

// Answered settles an Ask.
type Answered struct {
	Ask   AskID `json:"ask"`
	Reply Reply `json:"reply"`
}

// PlanStatus is the status of a step of a plan.
type PlanStatus string

const (
	PlanPending PlanStatus = "pending"
	PlanActive  PlanStatus = "in_progress"
	PlanDone    PlanStatus = "completed"
)

// PlanEntry is one step.
type PlanEntry struct {
	Text     string     `json:"text"`
	Status   PlanStatus `json:"status"`
	Priority string     `json:"priority,omitempty"` // high, medium or low; "": medium
}

// PlanChanged carries the whole plan.
type PlanChanged struct {
	Entries []PlanEntry `json:"entries"`
}

// UsageChanged carries the session's totals after a model's answer, and what
// that answer took.
type UsageChanged struct {
	Turn  TurnID `json:"turn"`
	Last  Usage  `json:"last"`
	Total Usage  `json:"total"`
	// Model is the one that answered, as PROVIDER/MODEL; empty in older logs.
	Model string `json:"model,omitempty"`
	// Context is the part of the model's window that the last request and its answer
	// fill, in tokens; Window is 0 if it is unknown.
	Context int `json:"context"`
	Window  int `json:"window,omitempty"`
	// Shares divides Context among the parts of the request; empty: not known. CompactAt is the
	// percentage of Window above which the conversation is summarized automatically; 0: never,
	// or not known.
	Shares    []Share `json:"shares,omitempty"`
	CompactAt int     `json:"compact_at,omitempty"`
}

// TitleChanged names the session. Auto is true until a person sets a title.
type TitleChanged struct {
	Title string `json:"title"`
	Auto  bool   `json:"auto,omitempty"`
}

// Archived hides the session from lists, or shows it there again, which counts as a use. A new prompt shows it as well.
type Archived struct {
	Archived bool   `json:"archived"`
	By       string `json:"by,omitempty"`
}

// SettingsChanged carries all settings.
type SettingsChanged struct {
	Settings Settings `json:"settings"`
	By       string   `json:"by,omitempty"`
}

// Severity grades a Notice.
type Severity string

const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Failure Severity = "error"
)

// Notice is a message for the user that is not the agent's answer.
type Notice struct {
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	// Refused, if set, lists the parts of the conversation that the text is about.
	Refused *Refused `json:"refused,omitempty"`
}

// Refused lists parts of a conversation that the service of a model has refused. They are left out of
// the later requests to that model, and only to that one.
type Refused struct {
	Model string   `json:"model"` // PROVIDER/MODEL
	Parts []string `json:"parts"` // their keys (package inference)
}

// Missing takes the place of records that a log has lost because they were damaged or are not
// there. Its number is that of the first of them, and the next record has the number after the
// last of them. Only a store makes it: when it reads such a log, and in the repaired log.
type Missing struct {
	Records uint64 `json:"records"`         // at least 1; behind the last good record the number is unknown, and this is 1
	Text    string `json:"text"`            // for people: the loss, its place, and advice
	Final   bool   `json:"final,omitempty"` // nothing has to be done: the log was repaired, or the rest of it is sound
}

// FellBack says that a model could not answer and that another one is asked instead, at least
// until the end of the turn's next answer. It precedes the first word of that answer.
type FellBack struct {
	Turn    TurnID `json:"turn"`
	Model   string `json:"model"`   // the model that could not answer, as PROVIDER/MODEL
	Instead string `json:"instead"` // the model that is asked instead
	Reason  string `json:"reason"`  // for people: why the first one could not answer
}

// Instructed adds the instructions of a folder to the conversation, for the model, after a tool
// has used a file in that folder.
type Instructed struct {
	Turn TurnID `json:"turn"`
	File string `json:"file"` // absolute: the file that contains them
	Text string `json:"text"` // for the model, with the name of the file
}

// Bound stores the data by which a back end finds its side of the session again. A session has one
// for each agent that keeps a side of its own. In the log of an earlier version one without a State
// means that no other agent has a side any more.
type Bound struct {
	Agent string          `json:"agent"`
	State json.RawMessage `json:"state"`
	// Heard is the end of the part of the log that the agent knows, because another one has answered
	// since. The zero value: it takes part, and knows what its State says.
	Heard Pos `json:"heard,omitzero"`
}

// Briefed says what an agent behind the gateway was told about the conversation, with the turn's
// prompt, because it had not taken part in it or not in all of it.
type Briefed struct {
	Turn  TurnID `json:"turn"`
	Agent string `json:"agent"`
	Text  string `json:"text"`
}

// Flagged marks a message for its user, who finds it again by that; an empty Text takes the mark off.
type Flagged struct {
	Message MessageID `json:"message"`
	Text    string    `json:"text,omitempty"`
	By      string    `json:"by,omitempty"`
}

// Compacted replaces the conversation before it by a summary, for the model: people still
// see all of it. Before and After are the tokens in the model's window with the one and with
// the other; 0: unknown.
type Compacted struct {
	Turn    TurnID `json:"turn,omitempty"`
	Summary string `json:"summary"`
	Auto    bool   `json:"auto,omitempty"` // automatic: the window was nearly full
	// Step says that the last calls and their results, which the model had not seen, stay behind
	// the summary.
	Step   bool `json:"step,omitempty"`
	Before int  `json:"before,omitempty"`
	After  int  `json:"after,omitempty"`
	// Shares divides After; empty: not known.
	Shares []Share `json:"shares,omitempty"`
}

// Shortened says what the model gets of results and messages that had no room in its window as a
// whole: people still see all of them. It comes before the request that has them first; a later one
// for the same content takes its place.
type Shortened struct {
	Turn     TurnID    `json:"turn"`
	Excerpts []Excerpt `json:"excerpts"`
}

// Excerpt is the part of a result or a message that the model gets: its beginning, up to From, the
// note, and its end, from To. From and To are the number of a block, of those that models are shown,
// and an offset into its text.
type Excerpt struct {
	Call    CallID    `json:"call,omitempty"`    // whose result it is, or
	Message MessageID `json:"message,omitempty"` // the message of the user
	From    [2]int    `json:"from"`
	To      [2]int    `json:"to"`
	Note    string    `json:"note"` // for the model: what is missing, and how to read it
}

// Reverted says that changes of files were undone, or could not be.
type Reverted struct {
	Files []RevertedFile `json:"files"`
	By    string         `json:"by,omitempty"`
}

// RevertedFile is one of them. Why is the reason why the file was not touched; empty: it was reverted.
type RevertedFile struct {
	Path string `json:"path"` // absolute
	Why  string `json:"why,omitempty"`
}

// Cited names a source of a message of the agent.
type Cited struct {
	Message MessageID `json:"message,omitempty"`
	Link    Link      `json:"link"`
}

// Moved means that the user continues in another session: a copy of this one, or an earlier
// one. Clients that can switch do so, live only.
type Moved struct {
	To    SessionID `json:"to"`
	Title string    `json:"title,omitempty"`
}

// Truncated hides all records behind After, up to itself.
type Truncated struct {
	After Pos    `json:"after"`
	By    string `json:"by,omitempty"`
}

// StopReason is the reason for the end of a turn.
type StopReason string

const (
	StopEnd         StopReason = "end_turn"
	StopTokens      StopReason = "max_tokens"
	StopRequests    StopReason = "max_turn_requests"
	StopRefusal     StopReason = "refusal"
	StopLimit       StopReason = "limit" // the user has a limit that the turn came to, and nobody let it go on; see Err
	StopCanceled    StopReason = "cancelled"
	StopError       StopReason = "error"       // see Err
	StopInterrupted StopReason = "interrupted" // the process that ran it died
)

// TurnEnded ends a turn. All its calls have ended before.
type TurnEnded struct {
	Turn TurnID     `json:"turn"`
	Stop StopReason `json:"stop"`
	Err  string     `json:"err,omitempty"` // for people: what failed, and what to do
	// Login names the agent that wants a login before it works (SignInError).
	Login string `json:"login,omitempty"`
}

// Foreign is a message of the protocol that an agent behind the gateway speaks, for which core has
// no event. Clients of the same protocol get it unchanged, except for ids.
type Foreign struct {
	Protocol string          `json:"protocol"`         // "acp" or "eca"
	Method   string          `json:"method,omitempty"` // of another notification than an update: Raw has its parameters, and only live clients get it
	Raw      json.RawMessage `json:"raw"`              // at most 1 MiB; in ACP the update of a session/update, in ECA the role and content of a chat/contentReceived
	Text     string          `json:"text,omitempty"`   // for clients of other protocols; empty: they are shown nothing
	Content  []Block         `json:"-"`                // what Text stands for, for those that can show it
}

// Offered lists what an agent behind the gateway offers in the session, whole, after each change.
type Offered struct {
	Agent    string    `json:"agent"`
	Commands []Command `json:"commands,omitempty"` // its slash commands
	Choices  []Choice  `json:"choices,omitempty"`
}

// Unknown is an event that a later version of the gateway wrote. It is kept.
type Unknown struct {
	Kind string
	Raw  json.RawMessage
}
