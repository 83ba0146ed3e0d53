package acp

import (
	"strings"

	"dragoman/core"
)

// View is what the encoder of one session on one connection knows: its
// circumstances, and what the client has been told so far.
type View struct {
	Session core.SessionID
	// Prefix begins the keys of the prompts that came over this connection: their
	// text and their errors are not sent back as updates.
	Prefix string
	// Head is where the log stood when the session was loaded: records before it
	// are a replay.
	Head core.Pos

	calls map[core.CallID]*told
	asks  map[core.AskID]core.Ask // asked and not settled, as far as the client has come
	mine  map[core.TurnID]bool    // turns of this connection that have not ended
}

// told is what the client knows of a call.
type told struct {
	call   core.Call
	output string // the last of what it printed
}

// NewView returns the view of a client that knows nothing.
func NewView(id core.SessionID, prefix string, head core.Pos) *View {
	return &View{
		Session: id, Prefix: prefix, Head: head,
		calls: map[core.CallID]*told{}, asks: map[core.AskID]core.Ask{}, mine: map[core.TurnID]bool{},
	}
}

// own reports whether a prompt came over this connection.
func (v *View) own(key string) bool {
	return key != "" && v.Prefix != "" && strings.HasPrefix(key, v.Prefix)
}
