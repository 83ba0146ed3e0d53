package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"
)

// Meta is the metadata of a session.
type Meta struct {
	ID        SessionID `json:"id"`
	Principal Principal `json:"principal"`
	Cwd       string    `json:"cwd"`             // absolute
	Roots     []string  `json:"roots,omitempty"` // absolute; Cwd is the first
	Parent    SessionID `json:"parent,omitempty"`
	// ParentAgent is the agent of the parent that handed over the task: the policy sees
	// to it that nothing is done here which that agent may not do. Empty: the default.
	ParentAgent string `json:"parent_agent,omitempty"`
	// From is the session of an agent behind the gateway that this one was made from; the zero
	// value: it began here.
	From    Source    `json:"from,omitzero"`
	Forks   int       `json:"forks,omitempty"` // how many forks lie between it and a session that began empty
	Created time.Time `json:"created"`
}

// Source is a session of an agent behind the gateway: the agent's name here, and the agent's own
// id of the session.
type Source struct {
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
}

// Store keeps sessions.
type Store interface {
	// Create makes a session and its first record; ErrExists if there is one.
	Create(context.Context, Meta) (Journal, error)
	// Open opens a session for reading; ErrNotFound if there is none.
	Open(context.Context, Principal, SessionID) (Journal, error)
	// List yields the sessions of a principal, last used first.
	List(context.Context, Principal) iter.Seq2[Summary, error]
	// Note keeps a session's summary for List. It may be lost in a crash and is
	// then derived from the log.
	Note(context.Context, Principal, Summary) error
	// Delete removes a session and all that belongs to it; no error if there is none.
	Delete(context.Context, Principal, SessionID) error
	Close() error
}

// ErrIncomplete begins a list of a ListerNow that lacks sessions, because it is made from their logs right now.
var ErrIncomplete = errors.New("the list of sessions is incomplete: it is being rebuilt from their logs; try again soon")

// ListerNow is a Store whose lists may have to be made from the logs, which takes long.
type ListerNow interface {
	// ListNow is List, but does not wait for that: then it yields ErrIncomplete and what is known.
	ListNow(context.Context, Principal) iter.Seq2[Summary, error]
	// Conversations is a part of that list in the order of Summary.Compare. It may have more than the
	// part: sessions without a message, and some before others that were used later in this process.
	Conversations(context.Context, Principal, Part) iter.Seq2[Summary, error]
}

// Journal is one session's stored log. Reading needs nothing; writing needs a
// claim. One goroutine writes at a time; reading and one Sync may run concurrently.
type Journal interface {
	Meta() Meta
	// Claim makes this process the session's owner and returns its epoch, which
	// is higher than every epoch before. An *OwnedError names the owner.
	Claim(context.Context) (epoch uint64, err error)
	// Owner returns the address of the living process that owns the session (Sharing), other than
	// this journal; empty: there is none, or it has no address.
	Owner() string
	// Release gives the claim back.
	Release() error
	// Write appends records; when it returns they survive the death of the
	// process. It fails with ErrFenced when somebody else has claimed the session.
	Write(context.Context, []Record) error
	// Sync makes durable everything that was written before it began.
	Sync(context.Context) error
	// Read yields the stored records after a position, in order, runs in any number of pieces.
	// Records of a stale owner are left out. It ends at the end of the log at that time.
	Read(context.Context, Pos) iter.Seq2[Record, error]
	// Watch calls changed whenever there may be records after a position, or new ones since the
	// last call, and when the session's owner has died or released it: within 300 ms, until ctx
	// ends. changed returns at once. Watch is for a session that this process does not own, and
	// keeps no descriptor; watching a session without an owner costs next to nothing.
	Watch(ctx context.Context, after Pos, changed func())
	Spills
	Close() error
}

// SpillRef begins a reference to tool output that was cut: SpillRef and a name.
const SpillRef = "spill:"

// Spills stores output of tools of which a model gets only a part, with the session's log and for
// as long. It belongs to the session: neither a fork nor a sub-session has it.
type Spills interface {
	// Spill creates a file with a free name, and returns the reference for the model.
	Spill(name string) (w io.WriteCloser, ref string, err error)
	// Spilled opens the file of a reference; fs.ErrNotExist if the session has no such file. It
	// also accepts the references of earlier versions.
	Spilled(ref string) (fs.File, error)
	Unspill(ref string) error
}

// CheckSpill returns an error for what cannot name a file of [Spills]: a name is up to 100 ASCII
// letters, digits, dots, hyphens and underscores, and does not begin with a dot.
func CheckSpill(name string) error {
	const others = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	if name == "" || len(name) > 100 || name[0] == '.' || strings.Trim(name, others) != "" {
		return fmt.Errorf("%.100q is no name for cut output: %w", name, fs.ErrNotExist)
	}
	return nil
}

// Summary describes a session in a list.
type Summary struct {
	ID       SessionID `json:"id"`
	Title    string    `json:"title,omitempty"`
	Cwd      string    `json:"cwd"`
	Roots    []string  `json:"roots,omitempty"`
	Parent   SessionID `json:"parent,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Model    string    `json:"model,omitempty"` // of an agent behind the gateway: one of its own
	Agent    string    `json:"agent,omitempty"`
	Messages int       `json:"messages"` // of the user and of the agent
	Running  bool      `json:"-"`        // a turn runs in this process
	Archived bool      `json:"archived,omitempty"`
	// Elsewhere: it is only in an agent behind the gateway so far, and is imported when it is opened.
	Elsewhere bool `json:"-"`
}
