package acp

import (
	"strings"

	"dragoman/adapters/clients"
	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// View is the state of the encoder for one session on one connection: its circumstances, and the
// content sent to the client so far.
type View struct {
	Session core.SessionID
	Cwd     string
	// Prefix begins the keys of the prompts that came over this connection: their text and their
	// errors are not sent back as updates.
	Prefix string
	// Client is the client's name: what others have said is shown with theirs. Empty: without.
	Client string
	Known  clients.Row // of the client
	// Head is the end of the log when the session was loaded: records before it are a replay.
	Head    core.Pos
	Display Shows
	Offer   *Offer // nil: there are no choices
	Now     Chosen // at the position that the client has reached
	// Parent is the session that delegated a task to this one; empty: none, or the client does not
	// know subagents.
	Parent core.SessionID

	replay   bool     // of the record that is being encoded
	history  *history // nil: updates are written at once
	calls    map[core.CallID]*callView
	consents map[core.AskID]struct{}  // asks that are shown as a call of their own
	asks     map[core.AskID]core.Ask  // open questions, up to the position that the client has reached
	pages    map[core.AskID]core.Ask  // opened by the client, for calls that are running
	mine     map[core.TurnID]core.Pos // running turns of this connection, with their beginnings
	waiting  map[core.TurnID]struct{} // queued prompts of this connection
	refused  refusal
	spent    spent
	children map[core.SessionID]bool // that were announced
	followed map[core.AskID]bool     // open approvals of children whose calls are followed
	// withdrawn holds the calls of children that the user was asked about, by the children: nobody decided
	// on them here.
	withdrawn map[core.SessionID][]core.CallID
	// only holds the calls that are shown, of a child that is followed for them, as they were when
	// the user was asked; nil: everything is shown.
	only   map[core.CallID]core.Call
	state  acp.SubagentState  // announced last; of a session with a Parent
	listed acp.CommandsUpdate // the commands last sent

	reading uint64 // of the commands that were read last, by Server.readings

	compacting  string // the id of the summary that is being made; empty: none
	summed      bool   // the client has got it in pieces
	compactions int    // summaries that were begun

	cost *acp.Cost // as an external agent has told it last, maybe in another currency; nil: it has not
}

// Shows lists optional abilities of the client's display.
type Shows struct {
	Notices    bool
	Compaction bool
	Output     bool // a command's output, as in a terminal
	Forms      bool // questions as forms
	Pages      bool // questions with a page to open
	Subagents  bool // the sessions of delegated tasks
	Plans      bool // several plans, and plans that are texts or files
	// Terminals begins the ids of the client's own terminals.
	Terminals string
}

// refusal is the range of the newest turn, if it was prompted over this connection and refused.
type refusal struct{ begin, end core.Pos }

// spent is the usage of a turn so far.
type spent struct {
	turn  core.TurnID
	usage core.Usage
}

// add adds the usage of an answer of the model. Answers of another turn begin anew.
func (s *spent) add(e core.UsageChanged) {
	if s.turn != e.Turn {
		*s = spent{turn: e.Turn}
	}
	s.usage = s.usage.Add(e.Last)
}

// of returns the usage of a turn in the protocol's form, in which the input tokens do not include
// those of the cache; nil: unknown.
func (s *spent) of(turn core.TurnID) *acp.Usage {
	if s.turn != turn || s.usage == (core.Usage{}) {
		return nil
	}
	u := &acp.Usage{In: max(s.usage.In-s.usage.CacheRead-s.usage.CacheWrite, 0), Out: s.usage.Out, Total: s.usage.In + s.usage.Out}
	for _, part := range []struct {
		to    **int
		count int
	}{{&u.Thought, s.usage.Reasoning}, {&u.CacheRead, s.usage.CacheRead}, {&u.CacheWrite, s.usage.CacheWrite}} {
		if part.count > 0 {
			*part.to = &part.count
		}
	}
	return u
}

// callView is the client's knowledge of a call.
type callView struct {
	call   core.Call
	output string // the end of its output
	screen bool   // it is shown as a terminal of the gateway
	live   bool   // it is shown as a terminal of the client
	scoped bool   // its content says what an answer covers
}

// NewView returns the view of a client that knows nothing yet.
func NewView(id core.SessionID, prefix string, head core.Pos) *View {
	return &View{
		Session: id,
		Prefix:  prefix,
		Head:    head,
	}
}

// put sets the value of a key. Most maps of most views stay empty: they are made for their first value.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// past reports whether a record belongs to a replay.
func (v *View) past(r core.Record) bool {
	return r.Seq > 0 && core.Pos{Epoch: r.Epoch, Seq: r.Seq, Off: r.Off}.Before(v.Head)
}

// own reports whether a prompt came over this connection.
func (v *View) own(key string) bool {
	return key != "" && v.Prefix != "" && strings.HasPrefix(key, v.Prefix)
}
