package core

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/core/internal/attached"
	"dragoman/core/internal/readers"
	"dragoman/core/internal/spans"
)

// Session is a log of events, its state, and the turns that add to it. All methods may be
// called by any goroutine.
type Session struct {
	g       *Gateway
	journal Journal
	meta    Meta
	now     func() time.Time
	front   Owner           // of its clients: itself, or peer
	peer    Peer            // nil: it is not shared with other processes
	base    context.Context //nolint:containedctx // the life of the session's own goroutines, ended by close
	end     context.CancelCauseFunc
	wg      sync.WaitGroup // every goroutine of the session
	// owning is held, as the one token, by whoever claims, rests or reloads.
	owning chan struct{}
	back   atomic.Pointer[lent]         // the conversation's back end; nil: none is open
	talk   atomic.Pointer[Conversation] // desk.conv, for goroutines other than the one that runs turns
	offer  atomic.Pointer[offered]      // commands of the agent's own; nil: none are known
	// lasting is the newest approval of a person that may count for good; nil: there is none.
	lasting atomic.Pointer[lasting]
	texts   *Texts // of files; a sub-session has its parent's

	mu        sync.Mutex // guards the fields below; no call out is made with it held
	log       log
	live      Event // the newest that is never stored; nil: none
	liveRev   uint64
	state     State
	epoch     uint64 // 0: not claimed
	lastID    int
	readers   readers.Set[*Reader, Pos]
	clients   attached.Set[*Attachment]
	turn      *Turn
	queue     []*Turn
	working   chan struct{}           // closed when runAll or betweenTurns ends; nil: neither is on its way
	preparing context.CancelCauseFunc // ends betweenTurns; nil: it does not run
	asks      map[AskID]*pending
	flush     flusher
	storeErr  error
	shown     []Event       // events in memory alone that close the open turn of a read-only log
	leaving   bool          // it is unused, and about to be closed
	closing   chan struct{} // closed when close has ended; nil: it has not begun
	closed    bool
	idle      *time.Timer // gives the session back, or has it rest; nil while it is in use or rests
	idles     int         // how often it was armed
	uses      int         // commands under way, which need the claim
	resting   bool        // memory has nothing of the log, and the claim is given back
	mended    bool        // it was claimed to close a dead owner's turn, and for nothing else
	done      bool        // its last client has called Leave
	of        Profiles    // of the client that has prompted last; nil: none has, or it has none
	by        *Attachment // that client; nil: none in this process has prompted
	handing   bool        // this process ends, and another one goes on with what is queued
	next      *secretNext // nil: the next message is an ordinary one
	parent    *Session    // that has it work on a task; nil: none in this process
	heeded    bool        // the trust of that one, as it was last looked at
	adoption  *time.Timer // starts the first queued prompt; nil: none has outlived its owner

	unwatch   context.CancelFunc // ends Journal.Watch; nil: the log is not watched
	news      bool               // the store has something new
	following bool               // followAll is on its way

	desk desk // the conversation and the tools of the agent
}

// Meta returns the session's metadata, with the folders of the clients of the connection that has
// prompted last among its roots.
func (s *Session) Meta() Meta {
	s.mu.Lock()
	with := s.clients.Some(func(a *Attachment) bool { return a.client.Folders != nil && a.client.Profiles == s.of })
	s.mu.Unlock()
	m := s.meta
	for _, a := range with {
		for _, dir := range a.client.Folders() {
			if !slices.Contains(m.Roots, dir) && dir != m.Cwd {
				m.Roots = append(m.Roots[:len(m.Roots):len(m.Roots)], dir)
			}
		}
	}
	return m
}

// load reads the stored records that memory lacks. They take the place of the events with which show
// closed the log's open turn. It runs before the session is shared, or with the owning token.
func (s *Session) load(ctx context.Context) error {
	s.mu.Lock()
	at := s.log.Head()
	if s.shown != nil {
		at = s.log.Written()
	}
	s.mu.Unlock()
	for r, err := range s.journal.Read(ctx, at) {
		var news bool
		if err == nil {
			at, r, news, err = at.Splice(r) // the store may begin in front of where we are
		}
		if err != nil {
			return fmt.Errorf("load session %s: %w", s.meta.ID, err)
		}
		if !news {
			continue
		}
		s.mu.Lock()
		s.resting = false
		s.unshowLocked()
		s.log.Restore(r)
		_, truncated := r.Event.(Truncated)
		s.state.apply(r.Event, r.Time)
		_, offered := r.Event.(Offered)
		offered = offered && len(s.clients) > 0
		s.mu.Unlock()
		if l := s.g.cfg.Listing; offered && l != nil {
			l.Offered(s.meta.Principal, s.meta.ID)
		}
		if truncated {
			if err := s.refold(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// refold rebuilds the state from the effective log, after a truncation, including records
// that are appended meanwhile.
func (s *Session) refold(ctx context.Context) error {
	st, next := newState(), uint64(1) // next is the first record that st lacks
	var hidden spans.Set
	for {
		s.mu.Lock()
		if next > 1 && !slices.Equal(hidden, s.log.Hidden) { // another truncation came
			st, next = newState(), 1
		}
		if next >= s.log.First() {
			s.refoldLocked(st, next)
			s.mu.Unlock()
			return nil
		}
		upto := s.log.Written().Seq
		hidden = slices.Clone(s.log.Hidden)
		s.mu.Unlock()
		for r, err := range s.journal.Read(ctx, Pos{Seq: next}) {
			if err != nil {
				return fmt.Errorf("fold session %s: %w", s.meta.ID, err)
			}
			if r.Seq >= upto {
				break
			}
			if !hidden.Covers(r.Seq) {
				st.apply(r.Event, r.Time)
			}
		}
		next = upto
	}
}

// refoldLocked makes st, which lacks the records from next on, the state.
func (s *Session) refoldLocked(st State, next uint64) {
	for at, ev := range s.log.Events(next) {
		st.apply(ev, at)
	}
	st.Meta = s.meta
	st.sides = s.state.sides.Truncated(func(p Pos) bool { return s.log.Hidden.Covers(p.Seq - 1) }, st.Settings.Agent)
	st.Bound = Bound(st.sides.Present())
	st.answers.Merge(s.state.answers)      // decisions are never undone
	maps.Copy(st.callers, s.state.callers) // who has prompted has prompted
	st.Spent, st.Agreed = s.state.Spent, s.state.Agreed
	s.state = st
}

func (s *Session) skip(p Pos) Pos {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Seq = max(p.Seq, 1)
	return s.log.Skip(p)
}

// refusalLocked returns the reason why the session accepts no commands; nil: it does.
func (s *Session) refusalLocked() error {
	if s.closed || s.leaving {
		return ErrClosed
	}
	return s.storeErr
}

// appendLocked puts events into the log and the fold, and returns the readers to
// wake. The lock is held, and let go before they are woken.
func (s *Session) appendLocked(events ...Event) []*Reader {
	now := s.now()
	for _, ev := range events {
		if e, ok := ev.(SettingsChanged); ok {
			was := s.state.Settings
			e.Settings.Choices = s.state.left.Of(was.Agent, e.Settings.Agent, was.Choices, e.Settings.Choices)
			ev = e
		}
		if is(ev, live) {
			s.live = ev
			s.liveRev++
			continue
		}
		if _, ok := ev.(TurnEnded); ok {
			s.live = nil
			s.liveRev++
		}
		_, text, delta := runOf(ev)
		if delta && text == "" {
			continue
		}
		s.log.Append(ev, now)
		s.state.apply(ev, now)
		s.flush.Urgent = s.flush.Urgent || !delta
		s.flush.Unlisted = s.flush.Unlisted || is(ev, listed)
	}
	s.startFlushLocked()
	return s.readyLocked(nil)
}

// appendUnlock is appendLocked as the last thing that is done with the lock: it lets the lock go and
// wakes the readers.
func (s *Session) appendUnlock(events ...Event) {
	wake := s.appendLocked(events...)
	s.mu.Unlock()
	s.wake(wake)
}

// readyLocked marks the readers that wait and returns them.
func (s *Session) readyLocked(list []*Reader) []*Reader { return s.readers.Wake(list) }

// wake wakes the flusher and the readers. It is called without the lock.
func (s *Session) wake(readers []*Reader) {
	s.flush.Ring()
	s.peerChanged()
	for _, r := range readers {
		r.signal()
	}
}

// publish appends events and blocks while every client is far behind.
func (s *Session) publish(ctx context.Context, events ...Event) error {
	return s.publishIf(ctx, func() error { return nil }, events...)
}

// publishIf is publish if fitLocked allows it, which is called with the lock held.
func (s *Session) publishIf(ctx context.Context, fitLocked func() error, events ...Event) error {
	s.mu.Lock()
	err := s.refusalLocked()
	if err == nil {
		err = fitLocked()
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	wake := s.appendLocked(events...)
	lagging := s.laggingLocked()
	s.mu.Unlock()
	s.wake(wake)
	for lagging && err == nil {
		lagging, err = s.waitRoom(ctx)
	}
	return err
}

// laggingLocked reports whether the store, or every reader that counts, is far behind.
func (s *Session) laggingLocked() bool {
	lag := s.log.Lag()
	if s.log.Broken {
		lag = 0
	}
	return s.readers.Lagging(s.log.Total(), lag, s.now)
}

func (s *Session) waitRoom(ctx context.Context) (lagging bool, err error) {
	s.mu.Lock()
	if lagging = s.laggingLocked(); !lagging {
		s.mu.Unlock()
		return false, nil
	}
	room := s.readers.Room()
	s.mu.Unlock()
	look := time.NewTimer(readers.Look) // a reader may have stalled meanwhile
	defer look.Stop()
	select {
	case <-room:
	case <-look.C:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return true, nil
}

// progress notes that a reader took size bytes out of the store.
func (s *Session) progress(r *Reader, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.at.Asked = s.now()
	r.at.Taken = min(r.at.Taken+uint64(size), s.log.Total())
	s.readers.Moved()
}

// newIDLocked makes an id that is unique in the session for ever: no two owners
// have the same epoch, and the records that a fork has copied come from sessions with
// fewer forks before them.
func (s *Session) newIDLocked(kind string) string {
	s.lastID++
	b := []byte(kind)
	if s.meta.Forks > 0 {
		b = append(strconv.AppendInt(b, int64(s.meta.Forks), 36), '_')
	}
	b = strconv.AppendUint(b, s.epoch, 36)
	return string(strconv.AppendInt(append(b, '-'), int64(s.lastID), 10))
}

func (s *Session) newID(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newIDLocked(kind)
}

func (s *Session) read(after Pos, signal func(*Reader)) *Reader {
	r := &Reader{s: s, wake: make(chan struct{}, 1), pos: after}
	r.signal = r.token
	if signal != nil {
		r.signal = func() { signal(r) }
	}
	s.mu.Lock()
	r.pos.Seq = max(r.pos.Seq, 1)
	s.readers.Add(r, &r.at, s.now(), s.log.Dropped())
	s.mu.Unlock()
	r.signal()
	return r
}

// State returns the current state of the session.
func (s *Session) State() (st State) {
	s.view(func(now *State) { st = now.public() })
	return st
}

// note stores the session's summary for lists, and notifies the listing.
func (s *Session) note(sum Summary) {
	// A summary is derived from the log; one that is lost is made again.
	_ = s.g.cfg.Store.Note(context.Background(), s.meta.Principal, sum)
	if s.g.cfg.Listing != nil {
		s.g.cfg.Listing.Listed(s.meta.Principal, sum)
	}
}
