package elsewhere

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"sync"

	"dragoman/core"
)

// journal is the log of a session that exists only in an agent so far. It is made when it is first
// claimed; looking at it makes nothing.
type journal struct {
	store core.Store
	meta  core.Meta

	mu   sync.Mutex   // guards made
	made core.Journal // nil: there is none yet
}

var errNotMade = errors.New("the session is not here yet")

func (j *journal) now() core.Journal {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.made
}

// Meta implements core.Journal.
func (j *journal) Meta() core.Meta { return j.meta }

// Claim implements core.Journal.
func (j *journal) Claim(ctx context.Context) (uint64, error) {
	made := j.now()
	if made == nil {
		var err error
		if made, err = j.store.Create(ctx, j.meta); errors.Is(err, core.ErrExists) { // by another process
			made, err = j.store.Open(ctx, j.meta.Principal, j.meta.ID)
		}
		if err != nil {
			return 0, err
		}
		j.mu.Lock()
		j.made = made
		j.mu.Unlock()
	}
	return made.Claim(ctx)
}

// Owner implements core.Journal.
func (j *journal) Owner() string {
	if made := j.now(); made != nil {
		return made.Owner()
	}
	return ""
}

// Release implements core.Journal.
func (j *journal) Release() error {
	if made := j.now(); made != nil {
		return made.Release()
	}
	return nil
}

// Write implements core.Journal.
func (j *journal) Write(ctx context.Context, list []core.Record) error {
	if made := j.now(); made != nil {
		return made.Write(ctx, list)
	}
	return errNotMade
}

// Sync implements core.Journal.
func (j *journal) Sync(ctx context.Context) error {
	if made := j.now(); made != nil {
		return made.Sync(ctx)
	}
	return nil
}

// Read implements core.Journal.
func (j *journal) Read(ctx context.Context, after core.Pos) iter.Seq2[core.Record, error] {
	if made := j.now(); made != nil {
		return made.Read(ctx, after)
	}
	return func(func(core.Record, error) bool) {}
}

// Watch implements core.Journal. Nobody else adds to what does not exist.
func (j *journal) Watch(ctx context.Context, after core.Pos, changed func()) {
	if made := j.now(); made != nil {
		made.Watch(ctx, after, changed)
	}
}

// Spill implements core.Spills.
func (j *journal) Spill(name string) (io.WriteCloser, string, error) {
	if made := j.now(); made != nil {
		return made.Spill(name)
	}
	return nil, "", errNotMade
}

// Spilled implements core.Spills.
func (j *journal) Spilled(ref string) (fs.File, error) {
	if made := j.now(); made != nil {
		return made.Spilled(ref)
	}
	return nil, fs.ErrNotExist
}

// Unspill implements core.Spills.
func (j *journal) Unspill(ref string) error {
	if made := j.now(); made != nil {
		return made.Unspill(ref)
	}
	return nil
}

// Close implements core.Journal.
func (j *journal) Close() error {
	if made := j.now(); made != nil {
		return made.Close()
	}
	return nil
}
