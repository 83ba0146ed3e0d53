package share

import (
	"encoding/json"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/codec"
	"dragoman/core/ide"
)

// version is the version of these messages. Processes of another version are refused.
const version = 1

// The requests of a process to the owner of a session, in this order: hello, open, then the others.
const (
	methodHello  = "hello"
	methodOpen   = "open"
	methodAttach = "attach"
	methodDetach = "detach"
	methodDo     = "do"
	methodDelete = "delete"
	methodStatus = "status"
)

// The messages of the owner.
const (
	methodChanged = "changed" // a notification
	methodPosted  = "posted"  // a notification
	methodEditor  = "editor"
	methodShown   = "shown"
)

type helloParams struct {
	Version int    `json:"version"`
	Key     string `json:"key"` // of the address
	Config  string `json:"config"`
	Node    string `json:"node"`
}

type openParams struct {
	Principal core.Principal `json:"principal"`
	Session   core.SessionID `json:"session"`
}

type deleteParams struct {
	openParams
	core.Deletion
}

// attachParams describes a client (core.Client).
type attachParams struct {
	ID           string             `json:"id"`
	Name         string             `json:"name"`
	Principal    core.Principal     `json:"principal"`
	Caller       core.Caller        `json:"caller,omitempty"`
	Role         core.Role          `json:"role"`
	Asks         bool               `json:"asks,omitempty"`
	Questions    bool               `json:"questions,omitempty"`
	FixedAnswers bool               `json:"fixed_answers,omitempty"`
	NoForms      bool               `json:"no_forms,omitempty"`
	NoPages      bool               `json:"no_pages,omitempty"`
	Visible      bool               `json:"visible,omitempty"`
	Editor       *ide.Caps          `json:"editor,omitempty"` // null: it has none
	Servers      []core.ServerSpec  `json:"servers,omitempty"`
	Folders      []string           `json:"folders,omitempty"` // null: those of the session
	System       *core.SystemPrompt `json:"system,omitempty"`
	Profiles     json.RawMessage    `json:"profiles,omitempty"` // Options.Spec
}

type detachParams struct {
	ID    string `json:"id"`
	Leave bool   `json:"leave,omitempty"`
}

// order is a command of a client.
type order struct {
	Client string `json:"client"`
	// Key is the order's own. One that is sent again is carried out once.
	Key string `json:"key"`
	// Until is the time after which it must not be carried out: the client has given it up.
	Until   time.Time `json:"until"`
	Folders []string  `json:"folders,omitempty"` // the client's of now
	// Was are the settings in the client's process. Those that the order does not change stay as they are
	// where it is carried out.
	Was *core.Settings `json:"was,omitempty"`

	Prompt   *prompt      `json:"prompt,omitempty"`
	Steer    *blocks      `json:"steer,omitempty"`
	Unsteer  bool         `json:"unsteer,omitempty"`
	Cancel   *cancel      `json:"cancel,omitempty"`
	Settle   *settle      `json:"settle,omitempty"`
	Append   *additions   `json:"append,omitempty"`
	Truncate *core.Pos    `json:"truncate,omitempty"`
	Prepare  bool         `json:"prepare,omitempty"`
	Choose   *choice      `json:"choose,omitempty"`
	Can      capabilities `json:"can,omitempty"`
	Job      *jobOrder    `json:"job,omitempty"`
	Server   *serverOrder `json:"server,omitempty"`
}

type capabilities []core.Capability

type prompt struct {
	Blocks       blocks         `json:"blocks"`
	Busy         core.Busy      `json:"busy,omitempty"`
	Key          string         `json:"key"`
	Hops         int            `json:"hops,omitempty"`
	Approvals    core.Approvals `json:"approvals,omitempty"`
	Unattended   bool           `json:"unattended,omitempty"`
	NeedsServers bool           `json:"needs_servers,omitempty"`
	Settings     *core.Settings `json:"settings,omitempty"`
	Context      *view          `json:"context,omitempty"`
	// Adopt is the turn of a prompt that is queued already, and whose client has come back; empty: it is
	// a new one.
	Adopt core.TurnID `json:"adopt,omitempty"`
}

// view is a core.Context.
type view struct {
	Standing blocks `json:"standing"`
	Passing  blocks `json:"passing"`
}

type cancel struct {
	Turn   core.TurnID `json:"turn,omitempty"`
	Gone   bool        `json:"gone,omitempty"` // core.ErrClientGone
	Reason string      `json:"reason,omitempty"`
}

type settle struct {
	Ask   core.AskID `json:"ask"`
	Reply core.Reply `json:"reply"`
}

type additions struct {
	Idle   bool    `json:"idle,omitempty"`
	Events []event `json:"events"`
}

type choice struct {
	ID    string `json:"id"`
	Value string `json:"value"`
}

// done is the result of an order.
type done struct {
	Turn    core.TurnID     `json:"turn,omitempty"`
	Message core.MessageID  `json:"message,omitempty"`
	Took    bool            `json:"took,omitempty"` // of Steer
	Killed  bool            `json:"killed,omitempty"`
	Lines   []board.JobLine `json:"lines,omitempty"`
	Head    core.Pos        `json:"head"` // the end of the log behind it
}

type changedParams struct {
	Written core.Pos        `json:"written"`
	Owned   bool            `json:"owned"`
	Live    *event          `json:"live,omitempty"`
	Present []core.Attendee `json:"present,omitempty"`
}

type editorParams struct {
	Client string          `json:"client"`
	Kind   string          `json:"kind"`
	Call   json.RawMessage `json:"call"`
	Within time.Duration   `json:"within,omitempty"` // the time for an answer; 0: none
}

type editorResult struct {
	Kind  string          `json:"kind,omitempty"`
	Reply json.RawMessage `json:"reply,omitempty"`
	Lacks string          `json:"lacks,omitempty"`
	Error string          `json:"error,omitempty"`
}

type shownParams struct {
	Upto   core.Pos      `json:"upto"`
	Within time.Duration `json:"within"`
}

// blocks are content blocks in their stored form.
type blocks []core.Block

// MarshalJSON implements json.Marshaler.
func (b blocks) MarshalJSON() ([]byte, error) { return codec.AppendBlocks(nil, b), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (b *blocks) UnmarshalJSON(data []byte) error {
	list, err := codec.ParseBlocks(data)
	*b = list
	return err
}

// event is an event in its stored form.
type event struct{ core.Event }

// MarshalJSON implements json.Marshaler.
func (e event) MarshalJSON() ([]byte, error) {
	return new(codec.Encoder).Append(nil, core.Record{Event: e.Event}), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *event) UnmarshalJSON(data []byte) error {
	r, err := new(codec.Decoder).Decode(data)
	e.Event = r.Event
	return err
}
