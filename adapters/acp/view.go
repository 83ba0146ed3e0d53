package acp

import (
	"strings"

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
	// Head is the end of the log when the session was loaded: records before it are a replay.
	Head     core.Pos
	Display  Shows
	Offer    *Offer        // nil: there are no choices
	Settings core.Settings // at the position that the client has reached

	replay   bool // of the record that is being encoded
	calls    map[core.CallID]*callView
	consents map[core.AskID]struct{}  // asks that are shown as a call of their own
	asks     map[core.AskID]core.Ask  // open questions, up to the position that the client has reached
	pages    map[core.AskID]core.Ask  // opened by the client, for calls that are running
	mine     map[core.TurnID]core.Pos // running turns of this connection, with their beginnings
	refused  refusal
	listed   acp.CommandsUpdate // the commands last sent
}

// Shows lists optional abilities of the client's display.
type Shows struct {
	Notices    bool
	Compaction bool
	Output     bool // a command's output, as in a terminal
	Forms      bool // questions as forms
	Pages      bool // questions with a page to open
	// Terminals begins the ids of the client's own terminals.
	Terminals string
}

// refusal is the range of the newest turn, if it was prompted over this connection and refused.
type refusal struct{ begin, end core.Pos }

// callView is the client's knowledge of a call.
type callView struct {
	call   core.Call
	output string // the end of its output
	screen bool   // it is shown as a terminal of the gateway
	live   bool   // it is shown as a terminal of the client
}

// NewView returns the view of a client that knows nothing yet.
func NewView(id core.SessionID, prefix string, head core.Pos) *View {
	return &View{
		Session:  id,
		Prefix:   prefix,
		Head:     head,
		calls:    map[core.CallID]*callView{},
		asks:     map[core.AskID]core.Ask{},
		pages:    map[core.AskID]core.Ask{},
		consents: map[core.AskID]struct{}{},
		mine:     map[core.TurnID]core.Pos{},
	}
}

// own reports whether a prompt came over this connection.
func (v *View) own(key string) bool {
	return key != "" && v.Prefix != "" && strings.HasPrefix(key, v.Prefix)
}
