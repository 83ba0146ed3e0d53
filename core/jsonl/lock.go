package jsonl

import (
	"context"
	"errors"
	"time"

	"dragoman/core"
	"dragoman/core/datadir"
)

// ownerless limits the wait for a lock that has no living owner.
const ownerless = 5 * time.Second

// lockSession takes a session's lock. It refuses at once with *core.OwnedError when a
// living process owns the session. A lock without a living owner will be free soon: its
// holder is just starting or ending, is sweeping after a crash, or was killed while it
// started a program, which has a copy of the lock until it executes. lockSession waits for
// such a lock while ctx lasts, and at most for ownerless.
func lockSession(ctx context.Context, f files, id core.SessionID) (*heldLock, error) {
	end := time.Now().Add(ownerless)
	held, err := f.disk.lock(
		ctx,
		f.lock,
		func() bool { return !readOwner(f.owner).alive() && time.Now().Before(end) },
	)
	if errors.Is(err, datadir.ErrHeld) && ctx.Err() == nil {
		o := readOwner(f.owner)
		err = &core.OwnedError{Session: id, Node: o.String(), Address: o.Address}
	}
	return held, err
}
