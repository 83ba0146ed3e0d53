package coretest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"

	"dragoman/core"
)

// Memory is a core.Store in memory. Its data lives as long as the Memory: Close
// releases the claims, like the death of a process, and the store can be used again,
// as the storage of the next process.
type Memory struct {
	// Before, if not nil, is called before each operation, with its name
	// (create, open, list, note, delete, claim, release, write, sync, read) and
	// the session's id; its error is the operation's. It may block. Set it
	// before the first use.
	Before func(ctx context.Context, op string, id core.SessionID) error
	// Address is that of every owner (core.Journal.Owner).
	Address string

	mu       sync.Mutex // guards the fields below
	sessions map[memoryKey]*memorySession
	noted    int
}

type memoryKey struct {
	principal core.Principal
	id        core.SessionID
}

// memorySession is the stored data of a session. Memory.mu guards it.
type memorySession struct {
	meta    core.Meta
	records []core.Record
	end     core.Pos
	epoch   uint64
	owner   *memoryJournal
	summary core.Summary
	noted   int // rises with each note: the session with the greatest was used last
	watches []memoryWatch
	spills  *Spills
}

// memoryWatch is one call of Watch.
type memoryWatch struct {
	done    <-chan struct{}
	changed func()
}

// Watched returns the number of journals that watch a session.
func (m *Memory) Watched(p core.Principal, id core.SessionID) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[memoryKey{p, id}]
	if s == nil {
		return 0
	}
	s.changedLocked()
	return len(s.watches)
}

// changedLocked returns a function to call without the lock when the session has
// changed.
func (s *memorySession) changedLocked() func() {
	s.watches = slices.DeleteFunc(s.watches, func(w memoryWatch) bool {
		select {
		case <-w.done:
			return true
		default:
			return false
		}
	})
	all := slices.Clone(s.watches)
	return func() {
		for _, w := range all {
			w.changed()
		}
	}
}

// memoryJournal is one opened session.
type memoryJournal struct {
	store *Memory
	meta  core.Meta
	at    *memorySession
	epoch uint64 // of the claim
}

var (
	_ core.Store   = (*Memory)(nil)
	_ core.Journal = (*memoryJournal)(nil)
)

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{sessions: map[memoryKey]*memorySession{}} }

func (m *Memory) before(ctx context.Context, op string, id core.SessionID) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%s session %s: %w", op, id, err)
	}
	if m.Before != nil {
		return m.Before(ctx, op, id)
	}
	return nil
}

// Create implements core.Store.
func (m *Memory) Create(ctx context.Context, meta core.Meta) (core.Journal, error) {
	if err := m.before(ctx, "create", meta.ID); err != nil {
		return nil, err
	}
	if id := string(meta.ID); id == "" || len(id) > 256 || strings.ContainsRune(id, 0) || meta.Principal == "" {
		return nil, errors.New(
			"create session: its id or its principal is empty, longer than 256 bytes or has a NUL",
		)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoryKey{meta.Principal, meta.ID}
	if m.sessions[key] != nil {
		return nil, fmt.Errorf("create session %s: %w", meta.ID, core.ErrExists)
	}
	opened := core.Record{Seq: 1, Time: meta.Created, Event: core.Opened{Meta: meta}}
	m.noted++
	s := &memorySession{
		meta: meta, records: []core.Record{opened}, end: opened.End(), noted: m.noted, spills: &Spills{},
		summary: core.Summary{
			ID:      meta.ID,
			Cwd:     meta.Cwd,
			Roots:   meta.Roots,
			Parent:  meta.Parent,
			Created: meta.Created,
			Updated: meta.Created,
		},
	}
	m.sessions[key] = s
	return &memoryJournal{store: m, meta: meta, at: s}, nil
}

// Open implements core.Store.
func (m *Memory) Open(ctx context.Context, p core.Principal, id core.SessionID) (core.Journal, error) {
	if err := m.before(ctx, "open", id); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[memoryKey{p, id}]
	if s == nil {
		return nil, fmt.Errorf("open session %s: %w", id, core.ErrNotFound)
	}
	return &memoryJournal{store: m, meta: s.meta, at: s}, nil
}

// List implements core.Store.
func (m *Memory) List(ctx context.Context, p core.Principal) iter.Seq2[core.Summary, error] {
	return func(yield func(core.Summary, error) bool) {
		if err := m.before(ctx, "list", ""); err != nil {
			yield(core.Summary{}, err)
			return
		}
		m.mu.Lock()
		var all []memorySession
		for key, s := range m.sessions {
			if key.principal == p {
				all = append(all, *s)
			}
		}
		m.mu.Unlock()
		slices.SortFunc(all, func(a, b memorySession) int { return cmp.Compare(b.noted, a.noted) })
		for _, s := range all {
			if !yield(s.summary, nil) {
				return
			}
		}
	}
}

// Note implements core.Store.
func (m *Memory) Note(ctx context.Context, p core.Principal, summary core.Summary) error {
	if err := m.before(ctx, "note", summary.ID); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[memoryKey{p, summary.ID}]
	if s == nil {
		return fmt.Errorf("note session %s: %w", summary.ID, core.ErrNotFound)
	}
	m.noted++
	summary.Running = false
	s.summary, s.noted = summary, m.noted
	return nil
}

// Delete implements core.Store.
func (m *Memory) Delete(ctx context.Context, p core.Principal, id core.SessionID) error {
	if err := m.before(ctx, "delete", id); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := memoryKey{p, id}
	s := m.sessions[key]
	if s == nil {
		return nil
	}
	if s.owner != nil {
		return &core.OwnedError{Session: id, Node: "memory"}
	}
	delete(m.sessions, key)
	return nil
}

// Close releases all claims.
func (m *Memory) Close() error {
	var told []func()
	m.mu.Lock()
	for _, s := range m.sessions {
		if s.owner != nil {
			s.owner = nil
			told = append(told, s.changedLocked())
		}
	}
	m.mu.Unlock()
	for _, tell := range told {
		tell()
	}
	return nil
}

func (j *memoryJournal) Meta() core.Meta { return j.meta }

func (j *memoryJournal) Claim(ctx context.Context) (uint64, error) {
	if err := j.store.before(ctx, "claim", j.meta.ID); err != nil {
		return 0, err
	}
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	if !j.storedLocked() {
		return 0, fmt.Errorf("claim session %s: %w", j.meta.ID, core.ErrNotFound)
	}
	if j.at.owner != nil {
		return 0, &core.OwnedError{Session: j.meta.ID, Node: "memory"}
	}
	j.at.owner, j.epoch = j, j.at.epoch+1
	return j.epoch, nil
}

// storedLocked reports whether the session was not deleted.
func (j *memoryJournal) storedLocked() bool {
	return j.store.sessions[memoryKey{j.meta.Principal, j.meta.ID}] == j.at
}

// Owner implements core.Journal.
func (j *memoryJournal) Owner() string {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	if o := j.at.owner; o != nil && o != j {
		return o.store.Address
	}
	return ""
}

func (j *memoryJournal) Release() error {
	if err := j.store.before(context.Background(), "release", j.meta.ID); err != nil {
		return err
	}
	return j.Close()
}

// Write refuses records that do not follow the log's end, which would be a mistake of
// the caller.
func (j *memoryJournal) Write(ctx context.Context, records []core.Record) error {
	if err := j.store.before(ctx, "write", j.meta.ID); err != nil {
		return err
	}
	told := func() {}
	defer func() { told() }()
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	if j.at.owner != j {
		return fmt.Errorf("write session %s: %w", j.meta.ID, core.ErrFenced)
	}
	end, all, epoch := j.at.end, j.at.records, j.at.epoch
	for _, r := range records {
		if r.Seq == 0 { // live only
			continue
		}
		next, rest, ok, err := end.Splice(r)
		if err != nil {
			return fmt.Errorf("write session %s: %w", j.meta.ID, err)
		}
		if ok && r.Epoch != j.epoch {
			return fmt.Errorf(
				"write session %s: record %d is of epoch %d, and the session is claimed under %d",
				j.meta.ID,
				r.Seq,
				r.Epoch,
				j.epoch,
			)
		}
		if ok {
			end, all, epoch = next, append(all, rest), r.Epoch
		}
	}
	j.at.end, j.at.records, j.at.epoch = end, all, epoch
	told = j.at.changedLocked()
	return nil
}

func (j *memoryJournal) Sync(ctx context.Context) error {
	return j.store.before(ctx, "sync", j.meta.ID)
}

func (j *memoryJournal) Read(ctx context.Context, after core.Pos) iter.Seq2[core.Record, error] {
	return func(yield func(core.Record, error) bool) {
		if err := j.store.before(ctx, "read", j.meta.ID); err != nil {
			yield(core.Record{}, err)
			return
		}
		at := after
		for i := 0; ; i++ {
			j.store.mu.Lock()
			done := i >= len(j.at.records)
			var r core.Record
			if !done {
				r = j.at.records[i]
			}
			j.store.mu.Unlock()
			if done {
				return
			}
			if !at.Before(r.End()) {
				continue
			}
			if err := context.Cause(ctx); err != nil {
				yield(core.Record{}, fmt.Errorf("read session %s: %w", j.meta.ID, err))
				return
			}
			next, rest, _, err := at.Splice(r)
			if err != nil {
				yield(core.Record{}, fmt.Errorf("read session %s: %w", j.meta.ID, err))
				return
			}
			if at = next; !yield(rest, nil) {
				return
			}
		}
	}
}

// Watch implements core.Journal.
func (j *memoryJournal) Watch(ctx context.Context, after core.Pos, changed func()) {
	j.store.mu.Lock()
	more := after.Before(j.at.end)
	j.at.watches = append(j.at.watches, memoryWatch{ctx.Done(), changed})
	j.store.mu.Unlock()
	if more {
		changed()
	}
}

func (j *memoryJournal) Spill(name string) (io.WriteCloser, string, error) {
	return j.at.spills.Spill(name)
}
func (j *memoryJournal) Spilled(ref string) (fs.File, error) { return j.at.spills.Spilled(ref) }
func (j *memoryJournal) Unspill(ref string) error            { return j.at.spills.Unspill(ref) }

func (j *memoryJournal) Close() error {
	told := func() {}
	j.store.mu.Lock()
	if j.at.owner == j {
		j.at.owner = nil
		told = j.at.changedLocked()
	}
	j.store.mu.Unlock()
	told()
	return nil
}
