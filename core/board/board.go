package board

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"dragoman/core"
	"dragoman/core/control"
	"dragoman/core/inference"
)

// Topic identifies one item on the board. An empty Workspace or Principal means all of
// them.
type Topic struct {
	Kind      string // "models", "agents", "server", "session", "commands", "present", "job", "account"
	Name      string
	Workspace string
	Principal core.Principal
	// Layer is the configuration of a topic without a principal, if connections add
	// settings to the user's (empty: the first connection's), or the connection of a
	// topic with a principal (empty: all of the principal's).
	Layer string
}

// Item is the newest value of a topic.
//
//sumtype:decl
type Item interface{ item() }

// Models lists the models that users can choose.
type Models struct {
	Models  []inference.ModelInfo
	Default string
}

// Agents lists the agents, the default first.
type Agents struct{ Agents []core.Agent }

// Server describes a tool server.
type Server struct {
	Name   string
	Status string // running, starting, stopped, failed, disabled, requires-auth
	Why    string
	Tools  []core.Spec
	// Disabled: by the configuration. The server may be running all the same.
	Disabled bool
	// Command and Args are a program's, URL an address, as in the configuration:
	// references to secrets are not resolved.
	Command string
	Args    []string
	URL     string
	// LoggedIn: there is a stored login.
	LoggedIn  bool
	Prompts   []core.Command // with the server's names
	Resources []core.Link
}

// Session describes a session in the list.
type Session struct{ Summary core.Summary }

// Commands announces that the agent of a session has listed other commands of its own.
type Commands struct{}

// Present lists the clients of a session, in this process and in others.
type Present struct{ Clients []core.Attendee }

// PresentTopic returns the topic of a session's clients.
func PresentTopic(p core.Principal, id core.SessionID) Topic {
	return Topic{Kind: "present", Name: string(id), Principal: p}
}

// Clients lists the clients of a session; nil: none are known.
func Clients(r Reader, p core.Principal, id core.SessionID) []core.Attendee {
	item, _ := r.Get(PresentTopic(p, id)).(Present)
	return item.Clients
}

// Account announces a login or logout.
type Account struct{ Account control.Account }

// Gone is the value of a topic whose item was removed.
type Gone struct{}

func (Models) item()   {}
func (Agents) item()   {}
func (Server) item()   {}
func (Session) item()  {}
func (Commands) item() {}
func (Present) item()  {}
func (Job) item()      {}
func (Account) item()  {}
func (Gone) item()     {}

// Posting is a topic's newest value and its revision.
type Posting struct {
	Topic Topic
	Item  Item
	Rev   uint64
}

// maxPast limits the past postings on the board. When there are more than twice as many it
// forgets the oldest of them, down to maxPast.
const maxPast = 1024

// past reports whether a posting belongs to those whose number grows with time: those
// of sessions and of removed items. The number of others is limited by the number of
// items.
func (p *Posting) past() bool {
	_, gone := p.Item.(Gone)
	return gone || p.Topic.Kind == "session" || p.Topic.Kind == "commands" || p.Topic.Kind == "present"
}

// Board has the newest value of every topic. A reader that was away gets each topic
// once, for any number of changes; of sessions and of removed items it may miss all
// but the newest 1,024.
type Board struct {
	mu     sync.Mutex // guards the fields below
	rev    uint64
	topics map[Topic]*Posting // a posting never changes
	past   int                // the number of past topics
	order  []*Posting         // by revision; replaced ones are removed now and then
	change chan struct{}
}

var _ core.Listing = (*Board)(nil)

// New returns an empty board.
func New() *Board { return &Board{topics: map[Topic]*Posting{}, change: make(chan struct{})} }

// Put sets a topic's value.
func (b *Board) Put(t Topic, item Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rev++
	p := &Posting{t, item, b.rev}
	if was := b.topics[t]; was != nil && was.past() {
		b.past--
	}
	if p.past() {
		b.past++
	}
	b.topics[t] = p
	b.order = append(b.order, p)
	if b.past > 2*maxPast {
		b.forgetLocked()
	}
	if len(b.order) > 2*len(b.topics)+16 {
		b.order = slices.DeleteFunc(b.order, b.staleLocked)
	}
	close(b.change)
	b.change = make(chan struct{})
}

// forgetLocked forgets the oldest past postings.
func (b *Board) forgetLocked() {
	for _, p := range b.order {
		if b.past > maxPast && p.past() && !b.staleLocked(p) {
			delete(b.topics, p.Topic)
			b.past--
		}
	}
	b.order = slices.DeleteFunc(b.order, b.staleLocked)
}

// Drop replaces a topic by Gone.
func (b *Board) Drop(t Topic) { b.Put(t, Gone{}) }

// Listed implements core.Listing.
func (b *Board) Listed(p core.Principal, sum core.Summary) {
	b.Put(sessionTopic(p, sum.ID), Session{sum})
}

// Offered implements core.Listing.
func (b *Board) Offered(p core.Principal, id core.SessionID) {
	b.Put(Topic{Kind: "commands", Name: string(id), Principal: p}, Commands{})
}

// Unlisted implements core.Listing.
func (b *Board) Unlisted(p core.Principal, id core.SessionID) { b.Drop(sessionTopic(p, id)) }

func sessionTopic(p core.Principal, id core.SessionID) Topic {
	return Topic{Kind: "session", Name: string(id), Principal: p}
}

// Next returns the postings newer than since, oldest first, and the revision for the
// next call. It blocks until there is one or ctx ends.
func (b *Board) Next(ctx context.Context, since uint64) ([]Posting, uint64, error) {
	for {
		b.mu.Lock()
		list, rev, change := b.sinceLocked(since), b.rev, b.change
		b.mu.Unlock()
		if len(list) > 0 {
			return list, rev, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, since, context.Cause(ctx)
		}
	}
}

// Now returns all postings, oldest first, and the revision for Next.
func (b *Board) Now() ([]Posting, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sinceLocked(0), b.rev
}

// Get returns the newest value of a topic; nil: it has none, or was removed. It costs the
// same however many topics there are.
func (b *Board) Get(t Topic) Item {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.topics[t]
	if p == nil {
		return nil
	}
	if _, gone := p.Item.(Gone); gone {
		return nil
	}
	return p.Item
}

// Reader reads a board, or a part of it.
type Reader interface {
	Get(t Topic) Item
	Next(ctx context.Context, since uint64) ([]Posting, uint64, error)
	Now() ([]Posting, uint64)
}

// View is the part of a board for one connection. Its revisions are those of this
// part.
type View struct {
	b    *Board
	sees func(Topic) bool
}

var (
	_ Reader = (*Board)(nil)
	_ Reader = (*View)(nil)
)

// For returns the view of the topics for which sees returns true. sees is called
// without a lock.
func (b *Board) For(sees func(Topic) bool) *View { return &View{b, sees} }

// Next is [Board.Next] for the view's topics.
func (v *View) Next(ctx context.Context, since uint64) ([]Posting, uint64, error) {
	for at := since; ; {
		list, rev, err := v.b.Next(ctx, at)
		if err != nil {
			return nil, since, err
		}
		if seen, last := v.seen(list); len(seen) > 0 {
			return seen, last, nil
		}
		at = rev
	}
}

// Now is [Board.Now] for the view's topics.
func (v *View) Now() ([]Posting, uint64) {
	list, _ := v.b.Now()
	return v.seen(list)
}

// Get is [Board.Get]; nil: also for a topic that is not the view's.
func (v *View) Get(t Topic) Item {
	if !v.sees(t) {
		return nil
	}
	return v.b.Get(t)
}

// seen returns the postings of the view's topics, and the revision of the last one.
func (v *View) seen(list []Posting) (seen []Posting, last uint64) {
	for _, p := range list {
		if v.sees(p.Topic) {
			seen, last = append(seen, p), p.Rev
		}
	}
	return seen, last
}

func (b *Board) staleLocked(p *Posting) bool { return b.topics[p.Topic] != p }

func (b *Board) sinceLocked(since uint64) (list []Posting) {
	i, _ := slices.BinarySearchFunc(b.order, since+1,
		func(p *Posting, rev uint64) int { return cmp.Compare(p.Rev, rev) })
	for _, p := range b.order[i:] {
		if !b.staleLocked(p) {
			list = append(list, *p)
		}
	}
	return list
}
