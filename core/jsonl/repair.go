package jsonl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"dragoman/core"
	"dragoman/core/codec"
)

// Repaired is the result of a Repair. The zero value means that the log was sound.
type Repaired struct {
	Damage string // what was damaged, and is therefore lost, for people
	Kept   string // the path of the damaged log
}

// damaged returns the path of the n-th damaged log of a session, counted from 1.
func (f files) damaged(n int) string {
	if n == 1 {
		return f.log + ".damaged"
	}
	return fmt.Sprintf("%s.damaged-%d", f.log, n)
}

// Check describes the damage of a session's log, for people; "": none. It reads the
// whole log, size bytes, and changes nothing. If the session has an owner, damage
// after the last good record does not count: the owner may be writing there. An error
// means that Repair would fail too.
func (s *Store) Check(
	ctx context.Context,
	p core.Principal,
	id core.SessionID,
) (damage string, size int64, err error) {
	f, err := s.repairable(p, id)
	if err == nil {
		damage, size, err = s.check(ctx, f, p, id)
	}
	if err != nil {
		err = fmt.Errorf("check session %q: %w", id, err)
	}
	return damage, size, err
}

func (s *Store) check(
	ctx context.Context,
	f files,
	p core.Principal,
	id core.SessionID,
) (string, int64, error) {
	log, err := openFile(f.log, os.O_RDONLY)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = log.Close() }()
	sv, err := s.survey(ctx, log, p, id)
	if err != nil {
		return "", sv.size, err
	}
	if readOwner(f.owner).alive() {
		sv.loss = sv.inside
	}
	return sv.damage(f.log), sv.size, nil
}

// repairable returns the files of a session that has a log.
func (s *Store) repairable(p core.Principal, id core.SessionID) (files, error) {
	if err := checkID(p, id); err != nil {
		return files{}, fmt.Errorf("%w: %w", core.ErrNotFound, err)
	}
	f, err := s.session(p, id, false)
	if err == nil && !exists(f.log) {
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = core.ErrNotFound
	}
	return f, err
}

// Repair replaces a damaged log by a sound one: all good lines, unchanged, with
// records in the place of missing ones, as in reading. The damaged log is kept in the
// same folder until the session is deleted. Repair fails with *core.OwnedError while a
// process owns the session. When it returns the new log is durable. If it is killed
// the log is either the damaged one or the sound one, and Repair can be called again.
//
// A lost beginning is restored from the index. That is impossible for a sub-session,
// because its permissions were in it.
func (s *Store) Repair(ctx context.Context, p core.Principal, id core.SessionID) (Repaired, error) {
	f, err := s.repairable(p, id)
	var done Repaired
	if err == nil {
		done, err = s.repair(ctx, f, p, id)
	}
	if err != nil {
		return Repaired{}, fmt.Errorf("repair session %q: %w", id, err)
	}
	return done, nil
}

func (s *Store) repair(
	ctx context.Context,
	f files,
	p core.Principal,
	id core.SessionID,
) (done Repaired, err error) {
	held, err := lockSession(ctx, f, id)
	if err != nil {
		return Repaired{}, err
	}
	defer func() { err = errors.Join(err, held.unlock()) }()
	log, err := openFile(f.log, os.O_RDONLY)
	if err != nil {
		return Repaired{}, err
	}
	sv, err := s.survey(ctx, log, p, id)
	if err != nil || sv.sound() {
		return Repaired{}, errors.Join(err, log.Close())
	}
	kept, err := f.keep()
	if err != nil {
		return Repaired{}, errors.Join(fmt.Errorf("keep the damaged log as %s: %w", kept, err), log.Close())
	}
	tmp := f.log + unfinished
	err = f.disk.create(tmp, func(w io.Writer) error { return sv.write(ctx, log, w, kept) })
	if err = errors.Join(err, log.Close()); err == nil { // some systems do not rename open files
		err = verify(tmp, f, id)
	}
	if err == nil {
		err = f.disk.rename(tmp, f.log)
	}
	if err != nil {
		_ = f.disk.remove(tmp)
		return Repaired{}, err
	}
	if err := f.disk.syncDir(f.dir); err != nil {
		return Repaired{}, err
	}
	if e, err := derive(ctx, f); err == nil { // if it fails, the next list derives the summary
		_ = s.note(ctx, p, e.Summary, e.Log, func() error { return nil })
	}
	return Repaired{Damage: sv.damage(kept), Kept: kept}, nil
}

// keep gives the damaged log a second name, durably, unless it already has one. It
// returns that name.
func (f files) keep() (string, error) {
	log, err := os.Lstat(f.log)
	if err != nil {
		return f.damaged(1), err
	}
	n := 1
	for ; exists(f.damaged(n)); n++ {
		if kept, err := os.Lstat(f.damaged(n)); err == nil && os.SameFile(kept, log) {
			return f.damaged(n), f.disk.syncDir(f.dir)
		}
	}
	kept := f.damaged(n)
	err = f.disk.link(f.log, kept)
	if err != nil && !exists(kept) { // this file system has no hard links
		err = f.copyLog(kept)
	}
	return kept, errors.Join(err, f.disk.syncDir(f.dir))
}

func (f files) copyLog(to string) error {
	log, err := openFile(f.log, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	tmp := f.log + unfinished
	err = f.disk.create(tmp, func(w io.Writer) error {
		_, err := io.Copy(w, log)
		return err
	})
	if err == nil {
		err = f.disk.rename(tmp, to)
	}
	return err
}

// create writes a new file, or replaces the content of an old one, durably.
func (d disk) create(path string, write func(io.Writer) error) error {
	file, err := d.open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = file.sync()
	}
	return errors.Join(err, file.Close())
}

// verify checks a new log before it replaces the damaged one.
func verify(path string, f files, id core.SessionID) error {
	log, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	f.log = path
	_, err = examine(log, f, id)
	return err
}

// survey describes a log before its repair.
type survey struct {
	header header
	meta   core.Meta // restored, for a log that has lost its Opened
	from   int64     // the offset after the first line
	size   int64     // bytes read

	headLost, openedLost bool
	loss                 loss // all damage
	inside               loss // the damage before the last good record
}

func (sv *survey) sound() bool { return !sv.headLost && !sv.openedLost && sv.loss.none() }

// damage describes the damage for people.
func (sv *survey) damage(log string) string {
	switch {
	case sv.sound():
		return ""
	case sv.loss.none():
		return "the beginning of " + log + " is damaged"
	case sv.headLost:
		return "the beginning of " + log + " is damaged, and " + sv.loss.total(log)
	}
	return sv.loss.total(log)
}

// survey reads a whole log. The error is the reason why it cannot be repaired.
func (s *Store) survey(
	ctx context.Context,
	log io.ReaderAt,
	p core.Principal,
	id core.SessionID,
) (sv survey, err error) {
	l := newLines(log)
	sv.header, err = readHeader(l)
	switch {
	case errors.Is(err, errHead):
		sv.headLost, sv.header = true, header{formatName, formatVersion, features()}
		if err = nil; l.next == l.at { // its line could not be read to the end
			err = l.skip()
		}
	case err == nil:
		err = sv.header.writable()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return sv, err
	}
	sv.from = l.next
	sc := scanLog(l)
	for n := 0; err == nil; n++ {
		if err = sc.next(); err == nil && n == 0 {
			err = sv.first(sc, p, id)
		}
		if err == nil && n%1024 == 0 {
			err = context.Cause(ctx)
		}
	}
	sv.size = l.next
	if !errors.Is(err, io.EOF) {
		return sv, err
	}
	if sc.end.Seq == 0 {
		return sv, fmt.Errorf("nothing of it can be read: \"dragoman sessions rm %s\" removes it", typed(id))
	}
	sv.loss, sv.inside = sc.all, sc.all.less(sc.gap)
	if sv.openedLost {
		sv.meta, err = s.metaOf(log, p, id)
		return sv, err
	}
	return sv, nil
}

// first checks the first good record, which identifies the log.
func (sv *survey) first(sc *scan, p core.Principal, id core.SessionID) error {
	if sv.openedLost = sc.line.Place().Seq > 1; sv.openedLost {
		return nil
	}
	r, err := new(codec.Decoder).DecodeLine(sc.line)
	if err != nil {
		return err
	}
	opened, ok := r.Event.(core.Opened)
	switch {
	case !ok:
		return errors.New("its first record is not one that a log can begin with")
	case opened.Meta.ID != id || opened.Meta.Principal != p:
		return fmt.Errorf("it is the log of another session, %q", opened.Meta.ID)
	}
	return nil
}

// metaOf restores a session's Meta from the index and the log.
func (s *Store) metaOf(log io.ReaderAt, p core.Principal, id core.SessionID) (core.Meta, error) {
	root, err := s.find(false)
	if err != nil {
		return core.Meta{}, err
	}
	index, err := openFile(indexPath(root), os.O_RDONLY)
	if err != nil {
		return core.Meta{}, fmt.Errorf(
			"its first record is damaged, and its folder cannot be looked up without an index: %w",
			err,
		)
	}
	defer func() { _ = index.Close() }()
	for e, err := range entries(index) {
		switch {
		case err != nil:
			return core.Meta{}, fmt.Errorf(
				"its first record is damaged, and %s cannot be read: %w",
				indexPath(root),
				err,
			)
		case e.Principal != p || e.Summary.ID != id:
			continue
		case e.Summary.Parent != "":
			return core.Meta{}, errors.New(
				"its first record is damaged, and the permissions of this sub-session were in it",
			)
		}
		sum := e.Summary
		forks, err := forksOf(log)
		return core.Meta{ID: id, Principal: p, Cwd: sum.Cwd, Roots: sum.Roots, Created: sum.Created, Forks: forks}, err
	}
	return core.Meta{}, fmt.Errorf("its first record is damaged, and %s has no entry with its folder", indexPath(root))
}

// forksOf returns a number of forks that is above that of every id in a log. New ids
// begin with it, so no id is made twice.
func forksOf(log io.ReaderAt) (most int, err error) {
	l := newLines(log)
	most = 1 // the log may have ids copied from a session without forks
	for {
		line, err := l.read()
		switch {
		case errors.Is(err, errTooLong):
			err = l.skip()
		case err == nil:
			for id := range bytes.SplitSeq(line, []byte(`"`)) {
				most = max(most, forksIn(string(id))+1)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, errUnfinished) {
			return most, nil
		}
		if err != nil {
			return most, err
		}
	}
}

// forksIn returns the number of forks (core.Meta.Forks) of the session that made an
// id, or 0 if the text is not an id.
func forksIn(id string) int {
	if len(id) < 2 {
		return 0
	}
	forks, rest, ok := strings.Cut(id[1:], "_")
	epoch, n, dash := strings.Cut(rest, "-")
	if !ok || !dash || epoch == "" || n == "" {
		return 0
	}
	of, err := strconv.ParseInt(forks, 36, 32)
	if err != nil || of < 0 {
		return 0
	}
	return int(of)
}

// write writes the sound log; kept is the new path of the damaged one.
func (sv *survey) write(ctx context.Context, log io.ReaderAt, w io.Writer, kept string) error {
	h := sv.header
	if !slices.Contains(h.Features, gaps) {
		h.Features = append(slices.Clone(h.Features), gaps)
	}
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if _, err := w.Write(seal(b, 0)); err != nil {
		return err
	}
	l := newLines(log)
	l.next = sv.from
	sc := scanLog(l)
	out := logWriter{
		w:      w,
		opened: core.Record{Seq: 1, Time: sv.meta.Created, Event: core.Opened{Meta: sv.meta}},
	}
	t := reporter{
		log:    kept,
		final:  true,
		advice: "That is the damaged log; this one holds everything in it that was intact.",
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := sc.next()
		if errors.Is(err, io.EOF) {
			return out.records(t.behind(sc))
		}
		if err == nil {
			err = out.records(t.front(sc))
		}
		if err == nil {
			err = out.line(sc.object)
		}
		if err != nil {
			return err
		}
	}
}

// logWriter writes the lines of a repaired log.
type logWriter struct {
	w      io.Writer
	opened core.Record // for a log that has lost its first record
	enc    codec.Encoder
	buf    []byte
}

// line writes a good line unchanged.
func (c *logWriter) line(object []byte) error {
	c.buf = seal(append(c.buf[:0], object...), 0)
	_, err := c.w.Write(c.buf)
	return err
}

func (c *logWriter) records(list []core.Record) error {
	for _, r := range list {
		if m, ok := r.Event.(core.Missing); ok && r.Seq == 1 {
			if err := c.line(c.enc.Append(nil, c.opened)); err != nil {
				return err
			}
			if m.Records--; m.Records == 0 {
				continue
			}
			r.Seq, r.Event = 2, m
		}
		if err := c.line(c.enc.Append(nil, r)); err != nil {
			return err
		}
	}
	return nil
}
