package jsonl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/codec"
)

// claim is the state of an owned session.
type claim struct {
	log   *file // for appending
	lock  *heldLock
	epoch uint64

	// For the writer alone:
	size int64    // of the log, as we left it
	end  core.Pos // after its last record
	enc  codec.Encoder

	placed atomic.Bool // the session's place in its folder and in the index is durable

	mu     sync.Mutex // guards broken
	broken error      // the error after which nothing more is written
}

// owner describes the owner of a session for people: only the lock decides.
type owner struct {
	PID   int    `json:"pid"`
	Epoch uint64 `json:"epoch"`
	Host  string `json:"host"`
	// Address is Store.Address of the process; empty: it cannot be reached.
	Address string `json:"address,omitempty"`
}

// Holder describes the process that owns a session.
type Holder struct {
	Node    string // in words; empty: no living process owns it
	Here    bool   // it is this process
	Address string // core.Journal.Owner
}

// Owner returns the living process that owns a session. It reads a small file, and not the log.
func (s *Store) Owner(p core.Principal, id core.SessionID) Holder {
	if checkID(p, id) != nil {
		return Holder{}
	}
	f, err := s.session(p, id, false)
	if err != nil {
		return Holder{}
	}
	o := readOwner(f.owner)
	if !o.alive() {
		return Holder{}
	}
	is := Holder{Node: o.String(), Here: o.PID == os.Getpid() && !o.elsewhere()}
	if !o.elsewhere() {
		is.Address = o.Address
	}
	return is
}

// Claim implements core.Journal. It cuts off a line that the last owner's death left
// unfinished. core.ErrReadOnly: the log is damaged or of a later version, or the data
// folder cannot be written.
func (j *journal) Claim(ctx context.Context) (uint64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, fmt.Errorf("claim session %q: %w", j.meta.ID, err)
	}
	held, err := lockSession(ctx, j.files, j.meta.ID)
	if owned := (*core.OwnedError)(nil); errors.As(err, &owned) {
		return 0, err
	}
	var c *claim
	if err == nil {
		if c, err = j.take(held); err != nil {
			if errors.Is(err, fs.ErrNotExist) && !exists(j.files.log) { // deleted: only we have the lock file
				err = errors.Join(core.ErrNotFound, held.remove())
			} else {
				err = errors.Join(err, held.unlock())
			}
		}
	}
	if err != nil {
		if !errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrReadOnly) && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", core.ErrReadOnly, err)
		}
		return 0, fmt.Errorf("claim session %q: %w", j.meta.ID, err)
	}
	j.store.touch()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.claim = c
	return c.epoch, nil
}

// take makes the claim, with the lock held.
func (j *journal) take(held *heldLock) (*claim, error) {
	log, err := j.files.disk.open(j.files.log, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	found, err := examine(log, j.files, j.meta.ID)
	if err == nil && found.torn {
		if err = log.cut(found.size); err == nil {
			err = log.sync()
		}
	}
	c := &claim{log: log, lock: held, epoch: found.epoch + 1, size: found.size, end: found.end}
	if err == nil {
		err = j.files.writeOwner(c.epoch, j.store.address())
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return c, nil
}

// logState describes a log that is not damaged.
type logState struct {
	size  int64 // of its whole lines
	torn  bool  // an unfinished line follows them
	epoch uint64
	end   core.Pos // after the last record
}

// examine reads a whole log. core.ErrReadOnly: it must not be written.
func examine(log io.ReaderAt, f files, id core.SessionID) (logState, error) {
	l := newLines(log)
	h, err := readHeader(l)
	if err == nil {
		err = h.writable()
	}
	if err != nil {
		return logState{}, fmt.Errorf("%w: %w", core.ErrReadOnly, err)
	}
	s := scanLog(l)
	for err == nil {
		err = s.next()
	}
	switch {
	case !errors.Is(err, io.EOF):
		return logState{}, err
	case !s.all.none():
		return logState{}, fmt.Errorf(
			"%w: its log is damaged (%s), and nothing was deleted; %s",
			core.ErrReadOnly,
			s.all.total(f.log),
			strings.TrimSuffix(repairAdvice(id), "."),
		)
	case s.end.Seq == 0:
		return logState{}, fmt.Errorf("%w: it has no records", core.ErrReadOnly)
	}
	return logState{size: s.size, torn: s.torn, epoch: s.epoch, end: s.end}, nil
}

// Owner implements core.Journal.
func (j *journal) Owner() string {
	if j.claimed() != nil {
		return ""
	}
	if o := readOwner(j.files.owner); o.alive() && !o.elsewhere() {
		return o.Address
	}
	return ""
}

// Release implements core.Journal.
func (j *journal) Release() error {
	j.mu.Lock()
	c := j.claim
	j.claim = nil
	if c != nil {
		j.read = &tail{end: c.end, size: c.size}
	}
	j.mu.Unlock()
	if c == nil {
		return nil
	}
	err := j.files.disk.remove(j.files.owner)
	if err = errors.Join(err, c.log.Close(), c.lock.unlock()); err != nil {
		return fmt.Errorf("release session %q: %w", j.meta.ID, err)
	}
	return nil
}

func (j *journal) claimed() *claim {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.claim
}

func readOwner(path string) owner {
	var o owner
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return o
	}
	defer func() { _ = f.Close() }()
	if json.NewDecoder(io.LimitReader(f, 4096)).Decode(&o) != nil {
		return owner{}
	}
	return o
}

// address returns Store.Address.
func (s *Store) address() string {
	if s.Address == nil {
		return ""
	}
	return s.Address()
}

func (f files) writeOwner(epoch uint64, address string) error {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	b, err := json.Marshal(owner{PID: os.Getpid(), Epoch: epoch, Host: host, Address: address})
	if err != nil {
		return err
	}
	return f.disk.replace(f.owner, append(b, '\n'), false)
}

func (o owner) String() string {
	switch {
	case o.PID == 0:
		return "one that has just started"
	case o.Host == "":
		return fmt.Sprintf("process %d", o.PID)
	}
	return fmt.Sprintf("process %d on %s", o.PID, o.Host)
}

// alive reports whether the owner may still be running; an owner on another host may.
func (o owner) alive() bool { return o.PID != 0 && (o.elsewhere() || child.Alive(o.PID)) }

// elsewhere reports whether the owner is, or was, on another host.
func (o owner) elsewhere() bool {
	if o.PID == 0 {
		return false
	}
	host, err := os.Hostname()
	return err != nil || o.Host != host
}
