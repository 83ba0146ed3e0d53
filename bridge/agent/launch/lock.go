package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/datadir"
)

const (
	// lockWait is the time that the agent of a dead process has to be gone. Its guard kills it at once.
	lockWait = 5 * time.Second
	lockEnd  = ".lock" // of the names of lock files
)

// Locks keep two processes from having agents for one session at the same time. An agent keeps the
// history of its session in a place of its own, which two programs would spoil. The owner of a session
// has its only conversation, but when the owner is killed its agent lives for some milliseconds more,
// and the next owner may be quicker than the guard that kills it.
type Locks struct {
	Dir  string        // of the lock files, the same for all processes; it is made when it is needed; "": nothing is locked
	Wait time.Duration // for a lock whose process has died; 0: 5 seconds

	swept sync.Once
}

// SessionLock is the lock of a session. A conversation that may start an agent holds it from before the first
// start to its end. If we die, the guards of the agent's programs hold it until these are gone. Of the
// zero value, or without Locks, nothing is locked. One goroutine at a time uses it.
type SessionLock struct {
	Locks *Locks

	file  *datadir.Lock // nil: it is not held
	guard *child.Guard  // that has it as well; nil: none does
	drop  func()        // takes it back from guard
}

// Take takes the lock, if it is not held. It waits for the agent of a process that has died.
func (l *SessionLock) Take(ctx context.Context, m core.Meta) error {
	if l.Locks == nil || l.Locks.Dir == "" || l.file != nil {
		return nil
	}
	if err := os.MkdirAll(l.Locks.Dir, 0o700); err != nil {
		return fmt.Errorf("lock the agent's side of the session: %w", err)
	}
	l.Locks.swept.Do(l.Locks.sweep)
	sum := sha256.Sum256([]byte(string(m.Principal) + "\x00" + string(m.ID)))
	path := filepath.Join(l.Locks.Dir, hex.EncodeToString(sum[:16])+lockEnd)
	wait := l.Locks.Wait
	if wait == 0 {
		wait = lockWait
	}
	limit, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	file, err := datadir.WaitLock(limit, path)
	switch {
	case err == nil:
		l.file = file
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, datadir.ErrHeld):
		return fmt.Errorf("the agent that another process had started for this session still runs after %v, and two of them would spoil its history; "+
			"send the message again, or end the process named dragoman-guard that holds %s", wait, path)
	}
	return fmt.Errorf("lock the agent's side of the session: %w", err)
}

// Under has a guard hold the lock too, before it starts the program in which the session is opened, or before the
// session is opened in one that runs. A guard that held it before does not any more. Where watches end programs
// (child.Guard.Keep), that of a program which runs already does not hold it.
func (l *SessionLock) Under(g *child.Guard) error {
	if l.file == nil || l.guard == g {
		return nil
	}
	l.back()
	drop, err := g.Keep(l.file.File())
	if err != nil {
		return fmt.Errorf("lock the agent's side of the session: %w", err)
	}
	l.guard, l.drop = g, drop
	return nil
}

// Guarded is Under for the guard of a sandbox, or of none, that was made for a program, or was not (err). It
// releases what it cannot use.
func (l *SessionLock) Guarded(in Confined, err error) (Confined, error) {
	if err == nil {
		if err = l.Under(in.Guard); err != nil {
			in.Release()
		}
	}
	return in, err
}

// back takes the lock back from a guard.
func (l *SessionLock) back() {
	if l.drop != nil {
		l.drop()
	}
	l.guard, l.drop = nil, nil
}

// Release gives the lock back. The agent has been ended, or has closed the session.
func (l *SessionLock) Release() error {
	if l.file == nil {
		return nil
	}
	l.back()
	err := l.file.Remove()
	l.file = nil
	return err
}

// sweep removes the files of processes that have died, whose sessions nobody has continued.
func (l *Locks) sweep() {
	list, _ := os.ReadDir(l.Dir) // the next process tries again
	for _, e := range list {
		if filepath.Ext(e.Name()) != lockEnd {
			continue
		}
		if file, err := datadir.TryLock(filepath.Join(l.Dir, e.Name())); err == nil {
			_ = file.Remove()
		}
	}
}
