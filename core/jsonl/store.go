package jsonl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/datadir"
)

// maxID is the longest id of a session, in bytes.
const maxID = 256

// Store keeps sessions in a folder. It implements core.Store.
type Store struct {
	// Address returns the address under which other processes reach this one, for the sessions that it
	// owns; empty: they do not. nil: it has none. It is called at each claim, and set before the first.
	Address func() string

	dir     string
	disk    disk
	maxBody int                    // the longest record in a line of the log, in bytes
	root    atomic.Pointer[string] // the path of dir; nil: not checked yet, or missing

	indexing chan struct{} // holds one element while this process changes the index
	index    kept          // guarded by indexing
	reading  chan struct{} // holds one element while this process reads the index for a list
	catalog  catalog       // guarded by reading
	watches  watches

	rebuildWG sync.WaitGroup // of the goroutine that rebuilds the index

	mu      sync.Mutex // guards the fields below
	open    map[*journal]struct{}
	durable map[string]bool // folders of sessions whose names are known to be durable
	closed  bool
	rebuilt *rebuilding // nil: the index is not being rebuilt in the background

	stopRebuild   context.CancelFunc // of rebuilt
	cannotRebuild bool               // it has failed: the folder cannot be written
}

var _ core.Store = (*Store)(nil)

// New returns the store in dir, without touching the disk: dir is checked when it is
// needed, and created with the first session.
func New(dir string) *Store {
	return &Store{
		dir:      dir,
		maxBody:  maxBody,
		indexing: make(chan struct{}, 1),
		reading:  make(chan struct{}, 1),
		open:     map[*journal]struct{}{},
		durable:  map[string]bool{},
	}
}

// Dir returns the data folder.
func (s *Store) Dir() string { return s.dir }

// files holds the paths of one session.
type files struct {
	disk                        disk
	maxBody                     int
	dir, base, log, lock, owner string // base is log without its ending
}

// The paths that are seldom needed are made when they are, because open sessions are many. gone is the log of
// a session that is being deleted, or imported; arrival has the keys of the sessions that are imported with it.
func (f files) values() string  { return f.base + ".values" }
func (f files) spill() string   { return f.base + ".spill" }
func (f files) gone() string    { return f.base + ".gone" }
func (f files) arrival() string { return f.base + ".arrival" }

// find returns the folder of dir; with make it is created if necessary. The error is
// fs.ErrNotExist if it is missing.
func (s *Store) find(make bool) (string, error) {
	if root := s.root.Load(); root != nil {
		return *root, nil
	}
	if make && s.dir != "" {
		if err := s.disk.makeDirs(s.dir); err != nil {
			return "", err
		}
	}
	root, err := checkTop(s.dir)
	if err != nil {
		return "", err
	}
	sessions := filepath.Join(root, "sessions")
	if make {
		if err := s.disk.makeDir(sessions); err != nil {
			return "", err
		}
	}
	if err := checkDir(sessions); err != nil {
		return "", err
	}
	s.root.Store(&root)
	return root, nil
}

// session returns the paths of a session; with make its folder is created if
// necessary, and becomes durable with syncFolder. The error is fs.ErrNotExist if it is missing.
func (s *Store) session(p core.Principal, id core.SessionID, make bool) (files, error) {
	root, err := s.find(make)
	if err != nil {
		return files{}, err
	}
	f := s.files(root, p, id)
	err = checkDir(f.dir)
	if !make || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	s.mu.Lock()
	delete(s.durable, f.dir)
	s.mu.Unlock()
	_, err = f.disk.newDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) { // the data folder was removed meanwhile
		s.root.Store(nil)
		if _, err = s.find(true); err == nil {
			_, err = f.disk.newDir(f.dir)
		}
	}
	if err != nil {
		return files{}, err
	}
	return f, checkDir(f.dir)
}

func (s *Store) files(root string, p core.Principal, id core.SessionID) files {
	return s.filesAt(root, keyOf(p, id))
}

func (s *Store) filesAt(root, key string) files {
	return s.filesOf(filepath.Join(root, "sessions", key[:2]), key)
}

// keyOf returns the part of the names of a session's files that they share.
func keyOf(p core.Principal, id core.SessionID) string {
	var both [128]byte
	sum := sha256.Sum256(append(append(append(both[:0], p...), 0), id...))
	var key [32]byte
	hex.Encode(key[:], sum[:16])
	return string(key[:])
}

func (s *Store) filesOf(dir, key string) files { return filesIn(s.disk, s.maxBody, dir, key) }

func filesIn(d disk, maxBody int, dir, key string) files {
	log := filepath.Join(dir, key) + ".jsonl"
	base := log[:len(log)-len(".jsonl")] // it shares the memory
	return files{
		base:    base,
		disk:    d,
		maxBody: maxBody,
		dir:     dir,
		log:     log,
		lock:    base + ".lock",
		owner:   base + ".owner",
	}
}

// checkID refuses an id that is not valid for a session.
func checkID(p core.Principal, id core.SessionID) error {
	for _, s := range [...]struct{ what, text string }{{"id", string(id)}, {"principal", string(p)}} {
		switch {
		case s.text == "":
			return fmt.Errorf("the session's %s is empty", s.what)
		case len(s.text) > maxID:
			return fmt.Errorf("the session's %s has %d bytes, the most is %d", s.what, len(s.text), maxID)
		case strings.ContainsRune(s.text, 0) || !utf8.ValidString(s.text):
			return fmt.Errorf("the session's %s is not text: it has a NUL or is not UTF-8", s.what)
		}
	}
	return nil
}

// Create implements core.Store. When it returns, the session survives the death of the process. A loss of power may
// undo it until it is synced for the first time (journal.Sync): nothing was said in it before.
func (s *Store) Create(ctx context.Context, meta core.Meta) (core.Journal, error) {
	if err := checkID(meta.Principal, meta.ID); err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	log := newLog(meta)
	f, err := s.session(meta.Principal, meta.ID, true)
	if err == nil {
		err = s.create(ctx, f, meta, log)
	}
	if err != nil {
		return nil, fmt.Errorf("create session %q: %w", meta.ID, err)
	}
	j := s.journal(f, meta)
	j.begin(log)
	return j, nil
}

func (s *Store) create(ctx context.Context, f files, meta core.Meta, log []byte) error {
	held, err := f.lockNew(ctx)
	if err != nil {
		return err
	}
	if err := f.clearGone(); err != nil {
		return errors.Join(err, held.unlock())
	}
	err = s.note(ctx, meta.Principal, newSummary(meta), int64(len(log)), func() error {
		return f.disk.replace(f.log, log, false)
	})
	if err != nil { // it may exist nevertheless
		return errors.Join(err, f.disk.remove(f.log), held.remove())
	}
	_ = held.unlock() // in any case it is not locked any more
	return nil
}

// lockNew locks a session that has no log; core.ErrExists if it has one.
func (f files) lockNew(ctx context.Context) (*heldLock, error) {
	for {
		if f.there() {
			return nil, core.ErrExists
		}
		held, err := f.disk.lock(ctx, f.lock, func() bool { return !f.there() })
		if f.there() {
			if err == nil {
				err = held.unlock()
			} else {
				err = nil // its owner keeps the lock
			}
			return nil, errors.Join(core.ErrExists, err)
		}
		if !errors.Is(err, datadir.ErrHeld) || ctx.Err() != nil { // else it was there, and deleted meanwhile
			return held, err
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Open implements core.Store.
func (s *Store) Open(ctx context.Context, p core.Principal, id core.SessionID) (core.Journal, error) {
	if err := checkID(p, id); err != nil {
		return nil, fmt.Errorf("open session: %w: %w", core.ErrNotFound, err)
	}
	f, err := s.session(p, id, false)
	var meta core.Meta
	if err == nil {
		meta, err = readMeta(f)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open session %q: %w", id, core.ErrNotFound)
	case errors.Is(err, errHead):
		return nil, fmt.Errorf("open session %q: %w; %s", id, err, repairAdvice(id))
	case err != nil:
		return nil, fmt.Errorf("open session %q: %w", id, err)
	case meta.ID != id || meta.Principal != p:
		return nil, fmt.Errorf("open session %q: %s is the log of another session, %q", id, f.log, meta.ID)
	}
	return s.journal(f, meta), nil
}

func (s *Store) journal(f files, meta core.Meta) *journal {
	j := &journal{store: s, files: f, meta: meta}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[j] = struct{}{}
	return j
}

// Delete implements core.Store. It fails with *core.OwnedError while a process,
// including this one, owns the session.
func (s *Store) Delete(ctx context.Context, p core.Principal, id core.SessionID) error {
	if checkID(p, id) != nil {
		return nil // there is no session
	}
	f, err := s.session(p, id, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = s.delete(ctx, f, id)
	}
	if err != nil {
		return fmt.Errorf("delete session %q: %w", id, err)
	}
	return nil
}

func (s *Store) delete(ctx context.Context, f files, id core.SessionID) error {
	if !exists(f.log) && !exists(f.lock) {
		return nil
	}
	held, err := lockSession(ctx, f, id)
	if err != nil {
		return err
	}
	// The log first: without it there is no session. After a crash, its other name
	// means that the session's other files must be removed as well.
	if err = f.disk.rename(f.log, f.gone()); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = f.disk.syncDir(f.dir)
	}
	if err == nil {
		err = errors.Join(f.clearLeft(), f.clearGone())
	}
	if err == nil {
		err = s.compact(ctx)
	}
	if err != nil {
		return errors.Join(err, held.unlock())
	}
	return held.remove()
}

// Close releases all claims and closes all journals.
func (s *Store) Close() error {
	s.watches.close()
	s.endRebuild()
	s.mu.Lock()
	open := make([]*journal, 0, len(s.open))
	for j := range s.open {
		open = append(open, j)
	}
	s.mu.Unlock()
	var errs []error
	for _, j := range open {
		errs = append(errs, j.Close())
	}
	return errors.Join(append(errs, s.closeIndex())...)
}
