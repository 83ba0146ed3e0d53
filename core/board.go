package core

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Topic names one thing on the board. An empty Workspace or Principal means
// everybody's.
type Topic struct {
	Kind      string // "models", "agents", "server", "session", "job", "account"
	Name      string
	Workspace string
	Principal Principal
}

// BoardItem is the newest value of a topic.
//
//sumtype:decl
type BoardItem interface{ boardItem() }

// ModelsItem lists what can be chosen.
type ModelsItem struct {
	Models  []ModelInfo
	Default string
}

// AgentsItem lists the agents, the default first.
type AgentsItem struct{ Agents []Agent }

// ServerItem tells of a tool server.
type ServerItem struct {
	Name   string
	Status string // running, starting, stopped, failed, disabled, requires-auth
	Why    string
	Tools  []Spec
	// Disabled: the configuration says so. It may run all the same.
	Disabled bool
	// Command and Args are a program's, URL an address, as the configuration writes
	// them: what refers to a secret is not looked up.
	Command string
	Args    []string
	URL     string
	// LoggedIn: somebody has logged in to it, and that is kept.
	LoggedIn  bool
	Prompts   []Command // named as the server names them
	Resources []Link
}

// SessionItem tells of a session in the list.
type SessionItem struct{ Summary Summary }

// JobItem tells of a command that runs behind a session, or ran.
type JobItem struct {
	Info JobInfo
	Job  Job
}

// Job is such a command. Its methods may be called by any goroutine.
type Job interface {
	// Kill ends it and everything that it started, and waits for that; a job that
	// has ended is no error. Killed says that it ran until then.
	Kill(context.Context) (killed bool, err error)
	// Output is what it printed, of the end; at most 1 MiB.
	Output() []JobLine
}

// JobStatus is how far a job is.
type JobStatus string

const (
	JobRunning JobStatus = "running"
	JobDone    JobStatus = "completed" // with exit code 0
	JobFailed  JobStatus = "failed"    // with another one, or it could not start
	JobKilled  JobStatus = "killed"
)

// JobInfo describes a job.
type JobInfo struct {
	ID      string // unique in the process
	Session SessionID
	Summary string // what it is for, in the agent's words; may be empty
	Command string
	Cwd     string
	Status  JobStatus
	Exit    *int // nil: it runs, or a signal ended it
	Started time.Time
	Ended   time.Time
}

// JobLine is a line that a job printed.
type JobLine struct {
	Text   string
	Stderr bool
}

// AccountsItem says that somebody logged in or out.
type AccountsItem struct{ Account Account }

// GoneItem stands for what was dropped.
type GoneItem struct{}

func (ModelsItem) boardItem()   {}
func (AgentsItem) boardItem()   {}
func (ServerItem) boardItem()   {}
func (SessionItem) boardItem()  {}
func (JobItem) boardItem()      {}
func (AccountsItem) boardItem() {}
func (GoneItem) boardItem()     {}

// Posting is a topic's newest value and the revision that it came with.
type Posting struct {
	Topic Topic
	Item  BoardItem
	Rev   uint64
}

// maxPast limits the past postings on the board. When there are more than twice as many it
// forgets the oldest of them, down to maxPast.
const maxPast = 1024

// past reports whether a posting belongs to those whose number grows with time: those of
// sessions and of things that are gone. Of the others there are as many as there are things.
func (p Posting) past() bool {
	_, gone := p.Item.(GoneItem)
	return gone || p.Topic.Kind == "session"
}

// Board holds what only must be current: the newest value of every topic. A
// reader that was away gets each topic once, however often it changed; of sessions
// and of what is gone it may miss all but the newest 1,024.
type Board struct {
	mu     sync.Mutex // guards the fields below
	rev    uint64
	topics map[Topic]Posting
	past   int       // the number of past topics
	order  []Posting // by revision; those that a newer one replaced are swept out now and then
	change chan struct{}
}

// NewBoard returns an empty board.
func NewBoard() *Board { return &Board{topics: map[Topic]Posting{}, change: make(chan struct{})} }

// Put sets a topic's value.
func (b *Board) Put(t Topic, item BoardItem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rev++
	p := Posting{t, item, b.rev}
	if b.topics[t].past() {
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

// Drop replaces a topic by GoneItem.
func (b *Board) Drop(t Topic) { b.Put(t, GoneItem{}) }

// Next returns the postings newer than since, oldest first, and the revision to
// ask with next time. It blocks until there is one or ctx ends.
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

// Now returns all postings, oldest first, and the revision to ask Next with.
func (b *Board) Now() ([]Posting, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sinceLocked(0), b.rev
}

func (b *Board) staleLocked(p Posting) bool { return b.topics[p.Topic].Rev != p.Rev }

func (b *Board) sinceLocked(since uint64) (list []Posting) {
	i, _ := slices.BinarySearchFunc(b.order, since+1, func(p Posting, rev uint64) int { return cmp.Compare(p.Rev, rev) })
	for _, p := range b.order[i:] {
		if !b.staleLocked(p) {
			list = append(list, p)
		}
	}
	return list
}
