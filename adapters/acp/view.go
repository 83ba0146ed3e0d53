package acp

import (
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// View is what the encoder of one session on one connection knows: its
// circumstances, and what the client has been told so far.
type View struct {
	Session core.SessionID
	Cwd     string
	// Prefix begins the keys of the prompts that came over this connection: their
	// text and their errors are not sent back as updates.
	Prefix string
	// Head is where the log stood when the session was loaded: records before it
	// are a replay.
	Head     core.Pos
	Shows    Shows
	Offer    *Offer        // nil: nothing can be chosen
	Settings core.Settings // as far as the client has come

	replay   bool // of the record that is being encoded
	calls    map[core.CallID]*told
	consents map[core.AskID]struct{}  // asks that were shown as a call of their own
	asks     map[core.AskID]core.Ask  // asked and not settled, as far as the client has read
	pages    map[core.AskID]core.Ask  // opened by the client, for calls that still run
	mine     map[core.TurnID]core.Pos // turns of this connection that have not ended, and where they began
	refused  refusal
	listed   acp.CommandsUpdate // the commands as they were told last
}

// Shows is what the client can show beside what all of them can.
type Shows struct {
	Notices    bool
	Compaction bool
	Output     bool // what a command prints, as in a terminal
	Forms      bool // questions as forms
	Pages      bool // questions that are pages to open
	// Terminals begins the ids of the terminals that are the client's own.
	Terminals string
}

// refusal is where the newest turn stands, if it was prompted over this connection
// and refused.
type refusal struct{ begin, end core.Pos }

// told is what the client knows of a call.
type told struct {
	call   core.Call
	output string // the last of what it printed
	screen bool   // it is shown as a terminal of ours
	live   bool   // it is shown as a terminal of the client's
}

// NewView returns the view of a client that knows nothing.
func NewView(id core.SessionID, prefix string, head core.Pos) *View {
	return &View{
		Session: id, Prefix: prefix, Head: head,
		calls: map[core.CallID]*told{}, asks: map[core.AskID]core.Ask{}, pages: map[core.AskID]core.Ask{}, consents: map[core.AskID]struct{}{}, mine: map[core.TurnID]core.Pos{},
	}
}

// own reports whether a prompt came over this connection.
func (v *View) own(key string) bool {
	return key != "" && v.Prefix != "" && strings.HasPrefix(key, v.Prefix)
}
