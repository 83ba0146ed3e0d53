package jsonl

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/codec"
)

// Arrival is a session from elsewhere with the sessions of its tasks. They are written aside, each
// with its lock held, and appear together when Commit is called, or not at all. It is used by one
// goroutine, and ends with Commit or Abort.
type Arrival struct {
	store *Store
	parts []*arriving // the session itself first
}

// arriving is one session of an Arrival. Its log is written under the name of a log that is being
// deleted, so that a sweep removes what a crash leaves of it.
type arriving struct {
	files
	meta  core.Meta
	lock  *heldLock
	log   *file // nil: it is finished
	out   *bufio.Writer
	enc   codec.Encoder
	end   core.Pos
	epoch uint64
	buf   []byte
	names map[string]bool // of spilled output, in lower case
	entry indexEntry      // set when it is finished
	shown bool            // its log has the name of a log
}

// Receive begins an Arrival.
func (s *Store) Receive() *Arrival { return &Arrival{store: s} }

// Session begins the next session; core.ErrExists if there is one of this id. The first one is the
// session itself, the others are those of its tasks. Write adds its records, from Opened on.
func (a *Arrival) Session(ctx context.Context, meta core.Meta) error {
	if err := checkID(meta.Principal, meta.ID); err != nil {
		return fmt.Errorf("import session: %w", err)
	}
	err := a.finish(ctx)
	if err == nil {
		err = a.begin(ctx, meta)
	}
	if err != nil {
		return fmt.Errorf("import session %q: %w", meta.ID, err)
	}
	return nil
}

func (a *Arrival) begin(ctx context.Context, meta core.Meta) error {
	f, err := a.store.session(meta.Principal, meta.ID, true)
	if err != nil {
		return err
	}
	if len(a.parts) == 0 {
		if err := a.announce(ctx, f, meta); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(a.parts, func(p *arriving) bool { return p.files == f }) {
		return core.ErrExists
	}
	held, err := f.lockNew(ctx)
	if err != nil {
		return err
	}
	p := &arriving{files: f, meta: meta, lock: held, names: map[string]bool{}}
	a.parts = append(a.parts, p) // from here on Abort removes it
	if err := p.open(); err != nil {
		return err
	}
	return a.store.syncFolder(f) // without it a loss of power would leave the other files alone
}

// announce puts the session into the index, which has a list sweep if it dies before there is a log. It
// first sweeps what an earlier import has left: that may have an id that is needed now.
func (a *Arrival) announce(ctx context.Context, f files, meta core.Meta) error {
	return a.store.changeIndex(ctx, func(root string) error {
		_ = a.store.sweep(ctx, root) // what it cannot remove is refused as core.ErrExists
		if exists(f.log) {
			return core.ErrExists
		}
		_, err := a.store.appendEntries(ctx, root, true, indexEntry{Principal: meta.Principal, Summary: newSummary(meta)})
		return err
	})
}

// open creates the log, and removes what else there is under the session's name.
func (p *arriving) open() (err error) {
	const flag = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	f, err := p.disk.open(p.gone(), flag)
	if err == nil {
		err = errors.Join(f.Close(), p.clearGone())
	}
	if err != nil {
		return err
	}
	if p.log, err = p.disk.open(p.gone(), flag); err != nil {
		return err
	}
	p.out = bufio.NewWriterSize(p.log, 64<<10)
	b, err := json.Marshal(header{formatName, formatVersion, append(features(), gaps)})
	if err == nil {
		_, err = p.out.Write(seal(b, 0))
	}
	return err
}

// Write adds a record to the session that was begun last. It must follow the one before it, in the
// same epoch or a higher one.
func (a *Arrival) Write(r core.Record) error {
	p, err := a.last()
	if err == nil {
		err = p.write(r)
	}
	if err != nil {
		return fmt.Errorf("import record %d: %w", r.Seq, err)
	}
	return nil
}

func (a *Arrival) last() (*arriving, error) {
	if n := len(a.parts); n > 0 && a.parts[n-1].log != nil {
		return a.parts[n-1], nil
	}
	return nil, errors.New("no session was begun")
}

func (p *arriving) write(r core.Record) error {
	next, rest, ok, err := p.end.Splice(r)
	switch {
	case err != nil:
		return err
	case !ok || rest.Seq != r.Seq || rest.Off != r.Off:
		return errors.New("it has the number of an earlier record")
	case r.Epoch < p.epoch:
		return errors.New("it is of an earlier epoch than the record before it")
	}
	if cap(p.buf) > keepBuf {
		p.buf = nil
	}
	p.buf = p.enc.Append(p.buf[:0], r)
	if len(p.buf) > p.maxBody {
		if p.buf, err = moveOut(p.buf, 0, p.disk, p.values()); err != nil {
			return err
		}
	}
	if p.buf = seal(p.buf, 0); len(p.buf) > maxLine {
		return errors.New("it is too long")
	}
	p.end, p.epoch = next, r.Epoch
	_, err = p.out.Write(p.buf)
	return err
}

// Spill adds cut tool output to the session that was begun last, under its name (core.Spills).
func (a *Arrival) Spill(name string, content io.Reader) error {
	p, err := a.last()
	if err == nil {
		err = p.spilled(name, content)
	}
	if err != nil {
		return fmt.Errorf("import cut output %.100q: %w", name, err)
	}
	return nil
}

func (p *arriving) spilled(name string, content io.Reader) error {
	err := core.CheckSpill(name)
	switch fold := strings.ToLower(name); {
	case err != nil:
		return err
	case !filepath.IsLocal(name): // a device, on some systems
		return errors.New("the system does not allow this name")
	case p.names[fold]:
		return errors.New("there are two of this name")
	default:
		p.names[fold] = true
	}
	if err := p.disk.makeDir(p.spill()); err != nil {
		return err
	}
	f, err := p.disk.open(filepath.Join(p.spill(), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.sync()
	}
	return errors.Join(err, f.Close())
}

// finish makes the session that was begun last durable and checks it as an owner would.
func (a *Arrival) finish(ctx context.Context) error {
	p, err := a.last()
	if err != nil {
		return nil // none was begun, or it is finished
	}
	if err = p.out.Flush(); err == nil {
		err = p.log.sync()
	}
	err = errors.Join(err, p.log.Close())
	p.log, p.out, p.buf = nil, nil, nil
	p.enc.Reset()
	if err == nil && len(p.names) > 0 {
		err = p.disk.syncDir(p.spill())
	}
	if err != nil {
		return err
	}
	f := p.files
	f.log = p.gone()
	if err := verify(f.log, f, p.meta.ID); err != nil {
		return err
	}
	p.entry, err = derive(ctx, f)
	if err == nil && (p.entry.Summary.ID != p.meta.ID || p.entry.Principal != p.meta.Principal) {
		err = errors.New("its first record is that of another session")
	}
	return err
}

// Commit makes the sessions appear. When it returns they are durable; with an error there is none of
// them, and all is removed. After a crash they are all there, or the next sweep removes the rest.
func (a *Arrival) Commit(ctx context.Context) error {
	err := a.finish(ctx)
	if err == nil && len(a.parts) == 0 {
		err = errors.New("there is no session")
	}
	if err == nil {
		err = a.show(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("import sessions: %w", err), a.Abort())
	}
	for _, p := range a.parts {
		_ = p.lock.unlock() // in any case it is not locked any more
	}
	a.parts = nil
	return nil
}

// show gives the logs their names: those of tasks first, and that of the session last, since it is the
// one that is looked for. Their keys are noted before, so that a sweep finds them if it is missing.
func (a *Arrival) show(ctx context.Context) error {
	first := a.parts[0]
	if len(a.parts) > 1 {
		var keys []byte
		for _, p := range a.parts[1:] {
			keys = append(append(keys, p.key()...), '\n')
		}
		if err := first.disk.replace(first.arrival(), keys, true); err != nil {
			return err
		}
		if err := first.disk.syncDir(first.dir); err != nil {
			return err
		}
	}
	var entries []indexEntry
	for _, p := range slices.Backward(a.parts) {
		entries = append(entries, p.entry)
	}
	err := a.store.changeIndex(ctx, func(root string) error {
		_, err := a.store.appendEntries(ctx, root, true, entries...)
		for _, p := range slices.Backward(a.parts) {
			if err == nil {
				err = p.disk.rename(p.gone(), p.files.log)
				p.shown = err == nil || exists(p.files.log)
			}
			if err == nil {
				err = p.disk.syncDir(p.dir)
			}
		}
		return err
	})
	if err == nil {
		err = first.disk.remove(first.arrival())
	}
	return err
}

// Abort removes what was written. After Commit it does nothing.
func (a *Arrival) Abort() error {
	var errs []error
	for _, p := range a.parts { // the session itself first: without it the others mean nothing
		errs = append(errs, p.abort())
	}
	if len(a.parts) > 0 && errors.Join(errs...) == nil {
		errs = append(errs, a.parts[0].disk.remove(a.parts[0].arrival()), a.parts[0].disk.remove(a.parts[0].arrival()+unfinished))
	}
	a.parts = nil
	return errors.Join(errs...)
}

func (p *arriving) abort() error {
	var err error
	if p.log != nil {
		err = p.log.Close()
	}
	if p.shown {
		err = errors.Join(err, p.disk.rename(p.files.log, p.gone()))
	}
	if err = errors.Join(err, p.clearLeft(), p.clearGone()); err != nil {
		return errors.Join(err, p.lock.unlock())
	}
	return p.lock.remove()
}

// key returns the part of the names of a session's files that they share.
func (f files) key() string { return strings.TrimSuffix(filepath.Base(f.log), ".jsonl") }

// sweepArrival removes what an import that has died has left of the sessions of tasks: their own is
// missing then. Their keys stay noted while one of them cannot be removed. The session must be locked.
func (f files) sweepArrival(ctx context.Context) error {
	if err := f.disk.remove(f.arrival() + unfinished); err != nil || !exists(f.arrival()) {
		return err
	}
	if !exists(f.log) {
		keys, err := readKeys(f.arrival())
		for _, key := range keys {
			if err == nil {
				err = filesIn(f.disk, f.maxBody, filepath.Join(filepath.Dir(f.dir), key[:2]), key).sweepTask(ctx)
			}
		}
		if err != nil {
			return err
		}
	}
	return f.disk.remove(f.arrival())
}

// sweepTask removes the session of a task.
func (f files) sweepTask(ctx context.Context) error {
	if !exists(f.log) { // what is aside is swept under its own name
		return nil
	}
	held, err := f.disk.lock(ctx, f.lock, func() bool { return false })
	if err != nil {
		return err
	}
	if err = f.disk.rename(f.log, f.gone()); err == nil {
		err = f.disk.syncDir(f.dir)
	}
	if err == nil {
		err = errors.Join(f.clearLeft(), f.clearGone())
	}
	if err != nil {
		return errors.Join(err, held.unlock())
	}
	return held.remove()
}

// readKeys reads the keys that show has noted.
func readKeys(path string) (keys []string, err error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewScanner(f)
	for in.Scan() {
		key := in.Text()
		if len(key) != 32 || strings.Trim(key, "0123456789abcdef") != "" {
			return nil, fmt.Errorf("%s: %w", path, errBad)
		}
		keys = append(keys, key)
	}
	return keys, in.Err()
}
