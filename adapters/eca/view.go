package eca

import (
	"maps"
	"slices"
	"time"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/eca/offer"
	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/jsonscan"
)

// nameSet holds the names of the protocol (methods, types of contents and details, states) that a
// client's document does not have, for code that does something else then. Messages of these
// names do not reach the client. A client of today's document lacks none.
type nameSet map[string]bool

// View is a reader's state of a session, and its circumstances. It belongs to one goroutine.
type View struct {
	chat   string
	parent string // the chat that shows it within a call; "": it is shown by itself
	lacks  nameSet
	client string // clientInfo.name, for fields that only one client reads
	self   string // the client's name for others; "": what others say is shown without theirs
	live   bool   // false: the encoded records are history
	past   *past  // of a history of which only the end is shown; nil: every step is
	hides  bool   // the record of the history is not on the client's page
	frame  int    // the most bytes of text in a message
	offer  *offer.Offer
	fixed  bool                      // the agent cannot go back to a message, so clients must not offer it
	flags  map[core.MessageID]string // the current marks, which the client was shown

	head     []byte // a notification of the chat, up to the content's role
	text     []byte // a text of the agent, up to the text itself
	state    offer.State
	told     core.Settings   // the choices last announced
	config   *eca.ChatConfig // the params for its feed to note, once they were announced; nil: it has
	said     *eca.ChatConfig // the params that were announced last
	named    string          // the chat's title
	turn     core.TurnID     // the running one
	busy     string          // the activity last reported to the client
	calls    map[core.CallID]*call
	began    int                          // the number of calls so far
	asks     map[core.AskID]core.Ask      // the last known open questions
	thoughts map[core.ThoughtID]time.Time // those that have not ended, with their starts
	queued   map[core.TurnID]core.PromptQueued
	allowed  content.Allowed
	steps    []core.PlanEntry // the agent's plan
	planners int              // the number of calls that change it and are shown as the plan
}

// newView returns the view of a reader that has read nothing yet.
func newView(chat core.SessionID, l nameSet, client string, o *offer.Offer) *View {
	v := &View{
		chat: string(chat), lacks: l, client: client, offer: o,
		frame: frameText,
		calls: map[core.CallID]*call{}, asks: map[core.AskID]core.Ask{}, thoughts: map[core.ThoughtID]time.Time{}, queued: map[core.TurnID]core.PromptQueued{},
	}
	if v.heads(); len(l) == 0 {
		v.remember()
	}
	return v
}

// heads writes the beginnings of the view's contents.
func (v *View) heads() {
	v.head = append(v.head[:0], `{"jsonrpc":"2.0","method":"`+eca.MethodContentReceived+`","params":{"chatId":`...)
	v.head = jsonscan.AppendString(v.head, v.chat)
	if v.parent != "" {
		v.head = jsonscan.AppendString(append(v.head, `,"parentChatId":`...), v.parent)
	}
	v.head = append(v.head, `,"role":"`...)
	v.text = append(slices.Clone(v.head), string(eca.RoleAssistant)+`","content":{"type":"`+eca.TypeText+`","text":`...)
}

// settle ends the history: from here on the encoding is live. It appends the messages that a
// history holds back: the calls that wait for approval now, and the running turn.
func (v *View) settle(dst []byte) []byte {
	if v.live {
		return dst
	}
	if v.past != nil {
		dst = v.past.settle(dst, v)
	}
	v.live = true
	waiting := slices.SortedFunc(maps.Values(v.calls), func(a, b *call) int { return a.n - b.n })
	for _, c := range waiting {
		if c.now.State == core.Awaiting {
			dst = v.run(dst, c, true)
		}
	}
	if v.turn != "" {
		dst = v.status(dst, eca.ChatRunning)
		dst = v.running(dst, waitingText)
	}
	return dst
}

// begins makes the view live without a history.
func (v *View) begins() { v.live, v.past, v.frame = true, nil, frameText }

// begin makes the view of a reader that begins at the end of the log.
func (v *View) begin(st core.State) {
	v.begins()
	v.told, v.named, v.turn = st.Settings, st.Title, st.Turn
	v.state.Settings, v.state.Offered = st.Settings, st.Offered
	for _, a := range st.Asks {
		v.asks[a.ID] = a
	}
}
