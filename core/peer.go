package core

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Sharing lets the processes of a machine use a session together (package share).
type Sharing interface {
	// Join returns the owner for the clients of a session, around the one in this process. It starts
	// nothing.
	Join(LocalSession) Peer
	// Delete has the process at an address (Journal.Owner) delete a session.
	Delete(ctx context.Context, address string, p Principal, id SessionID, d Deletion) error
}

// Peer is an Owner that reaches the session's owner in another process.
type Peer interface {
	Owner
	// Changed says that the log, its owner or the clients may have changed. It is called with no lock
	// held, and must not block.
	Changed()
	// Linked reports whether another process owns the session and is known to live.
	Linked() bool
	// Alone reports whether no other process can have the session open.
	Alone() bool
	// Shown blocks until the clients of other processes have been shown the log up to a position, or
	// ctx ends.
	Shown(ctx context.Context, upto Pos)
	// End takes all clients of other processes off, and waits for that.
	End()
}

// LocalSession is a session in this process, for its Peer. All methods may be called by any goroutine.
type LocalSession interface {
	Owner
	// Owned reports whether this process owns the session.
	Owned() bool
	// Address is that of the living process that owns the session, or empty (Journal.Owner).
	Address() string
	// Look reads what another process has added, and closes the turn of a dead owner. It does not wait
	// for that.
	Look()
	// Written is the end of what the store has, and Live the newest event that is never stored; nil:
	// there is none.
	Written() (upto Pos, live Event)
	// Show shows the readers an event of the owner's that is never stored; nil: none any more.
	Show(Event)
	// ShownHere blocks until the readers in this process have handled the records in front of a
	// position, or ctx ends.
	ShownHere(ctx context.Context, upto Pos)
	// Clients lists those that are attached, and Attendees the visible ones, by name.
	Clients() []*Attachment
	Attendees() []Attendee
	// Adopt makes a client of a queued prompt that outlived its owner, with the context of
	// Attachment.Prompt. Nothing happens if the prompt is not queued any more.
	Adopt(ctx context.Context, a *Attachment, id TurnID, p Prompt)
}

func (s local) View(look func(*State)) { s.view(look) }

func (s local) Follow(ctx context.Context) error { return s.follow(ctx) }

func (s local) Read(after Pos, signal func(*Reader)) *Reader { return s.read(after, signal) }

func (s local) Owned() bool { return s.owned() }

func (s local) Address() string { return s.journal.Owner() }

func (s local) Look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookLocked(s.epoch == 0)
}

func (s local) Written() (Pos, Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Written(), s.live
}

func (s local) Show(ev Event) {
	s.mu.Lock()
	if s.epoch > 0 || s.live == nil && ev == nil || ev != nil && s.state.Turn == "" {
		s.mu.Unlock()
		return
	}
	s.live = ev
	s.liveRev++
	wake := s.readyLocked(nil)
	s.mu.Unlock()
	s.wake(wake)
}

func (s local) Clients() []*Attachment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.clients))
}

func (s local) Attendees() []Attendee { return s.attendees(func(c Client) bool { return c.Visible }) }

// attendees lists some of the clients.
func (s local) attendees(of func(Client) bool) (list []Attendee) {
	for _, a := range s.Clients() {
		if c := a.client; of(c) {
			list = append(list, Attendee{c.ID, c.Name, c.Role == Observe, cmp.Or(c.Remote, s.g.cfg.Node)})
		}
	}
	slices.SortFunc(list, func(a, b Attendee) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return list
}

// remoteLocked reports whether a client of another process is attached.
func (s *Session) remoteLocked() bool {
	return s.clients.Any(func(a *Attachment) bool { return a.client.Remote != "" })
}

// sharedLocked reports whether another process goes on with what is queued when this one ends.
func (s *Session) sharedLocked() bool { return s.remoteLocked() || s.orphansLocked() }

// adoptWait is the time for the clients of queued prompts to come back after their owner has ended.
const adoptWait = 2 * time.Second

// requeueLocked queues the prompts that the log has left waiting. One whose client does not come back is
// answered without it if run is set, and ends as interrupted if not.
func (s *Session) requeueLocked(run bool) {
	for _, q := range s.state.queued {
		t := &Turn{s: s, id: q.Turn, origin: q.Origin, prompt: Prompt{Blocks: q.Prompt, Key: q.Key}, orphan: true}
		t.ctx, t.cancel = context.WithCancelCause(s.base)
		s.queue = append(s.queue, t)
	}
	if len(s.queue) > 0 {
		s.adoption = time.AfterFunc(adoptWait, func() {
			if !run {
				s.dropOrphans()
			}
			s.startQueued(run)
		})
	}
}

// dropOrphans ends the queued prompts whose clients have not come back.
func (s *Session) dropOrphans() {
	s.mu.Lock()
	if s.closing != nil || s.refusalLocked() != nil { // the next owner ends them
		s.mu.Unlock()
		return
	}
	events := s.dropLocked((*Turn).orphaned, TurnEnded{Stop: StopInterrupted, Err: ownerDied})
	s.startIdleLocked()
	s.appendUnlock(events...)
}

func (t *Turn) orphaned() bool { return t.orphan }

// orphansLocked reports whether prompts wait for their clients to come back.
func (s *Session) orphansLocked() bool { return slices.ContainsFunc(s.queue, (*Turn).orphaned) }

// startQueued starts the first queued prompt, if none runs; an orphan only if nobody is waited for.
func (s *Session) startQueued(orphans bool) {
	s.mu.Lock()
	if s.turn != nil || len(s.queue) == 0 || s.closing != nil || s.handing || s.refusalLocked() != nil || s.queue[0].orphan && !orphans {
		s.mu.Unlock()
		return
	}
	s.turn, s.queue = s.queue[0], s.queue[1:]
	s.appendUnlock(s.startedLocked(s.turn)...)
	s.work()
}

func (s local) Adopt(ctx context.Context, a *Attachment, id TurnID, p Prompt) {
	s.mu.Lock()
	s.adoptLocked(ctx, a, id, p)
	s.mu.Unlock()
	s.startQueued(false)
}

func (s *Session) adoptLocked(ctx context.Context, a *Attachment, id TurnID, p Prompt) {
	for _, t := range s.queue {
		if t.id == id && t.orphan {
			p.Blocks = t.prompt.Blocks // what the log has: a secret is not in it
			t.orphan, t.by, t.prompt = false, a, p
			t.watch(ctx)
		}
	}
}

// shownFor is the longest time for which a decision waits until all clients have been shown it.
const shownFor = 200 * time.Millisecond

// settled waits until the clients have been shown that an approval is settled, so that none of them shows
// the call's result before. A slow client does not hold the call up.
func (s *Session) settled(ctx context.Context) {
	upto := s.Head()
	s.mu.Lock()
	alone := len(s.clients) < 2
	s.mu.Unlock()
	if alone {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shownFor)
	defer cancel()
	local{s}.ShownHere(ctx, upto)
	if s.peer != nil {
		s.peer.Shown(ctx, upto)
	}
}

func (s local) ShownHere(ctx context.Context, upto Pos) {
	for {
		s.mu.Lock()
		if s.closed || !s.readers.Behind(upto) {
			s.mu.Unlock()
			return
		}
		room := s.readers.Room()
		s.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return
		}
	}
}
