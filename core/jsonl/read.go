package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"dragoman/core"
	"dragoman/core/codec"
)

// tail is the end of a sound log up to which it was read, with the state that is
// needed to continue: readers that follow a session need not read all of it again.
type tail struct {
	end  core.Pos
	size int64 // bytes read

	file  os.FileInfo // nil: we have written the log and not read it
	epoch uint64
	run   []byte
	time  time.Time // of the last record
	dec   codec.Decoder
}

// follows reports whether reading the log can continue from there.
func (t *tail) follows(log *os.File, after core.Pos) bool {
	if t == nil || t.file == nil || t.end.Seq != after.Seq || t.end.Off != after.Off {
		return false
	}
	now, err := log.Stat()
	return err == nil && os.SameFile(now, t.file) && now.Size() >= t.size
}

// readLog yields the records of a log after a position, until yield returns false.
// Damaged and missing data is yielded as a record too: a core.Missing, or a piece of
// the run in which it is missing. Damage that has no place of its own is reported
// after the last record, unless the session has an owner: then there is no last
// record, and a line that looks damaged may be one that is being written. readLog
// continues from a tail if possible; nil: there is none. It ends where the log ended when
// it began. At the end of a sound log it returns the next tail.
func readLog(
	ctx context.Context,
	f files,
	id core.SessionID,
	after core.Pos,
	from *tail,
	yield func(core.Record) bool,
) (*tail, error) {
	log, err := openFile(f.log, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	info, err := log.Stat()
	if err != nil {
		return nil, err
	}
	left := info.Size()
	if from.follows(log, after) {
		left -= from.size
	} else {
		from = nil
	}
	read := func(yield func(core.Record, int) bool) (*tail, error) {
		return readOpen(ctx, f, id, log, info.Size(), after, from, yield)
	}
	if left > farAhead {
		return readAhead(read, yield)
	}
	return read(func(r core.Record, _ int) bool { return yield(r) })
}

// readOpen is readLog for an open log with a size. It also yields the sizes of the records, in bytes.
func readOpen(
	ctx context.Context,
	f files,
	id core.SessionID,
	log *os.File,
	size int64,
	after core.Pos,
	from *tail,
	yield func(core.Record, int) bool,
) (*tail, error) {
	l := newLines(io.NewSectionReader(log, 0, size)) // an owner may write faster than this reads
	if _, err := readHeader(l); err != nil {
		return nil, err
	}
	s := scanLog(l)
	d := recordReader{values: f.values(), after: after, at: after, yield: yield}
	t := reporter{log: f.log, advice: repairAdvice(id)}
	if from != nil {
		l.goTo(from.size)
		s.size, s.end, s.epoch, s.run = from.size, from.end, from.epoch, from.run
		d.dec, t.last = from.dec, from.time
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		err := s.next()
		if n == 0 && from != nil && !s.all.none() { // the log was cut since, and differs from there
			return readOpen(ctx, f, id, log, size, after, nil, yield)
		}
		if errors.Is(err, io.EOF) {
			if records := t.behind(s); records != nil && !readOwner(f.owner).alive() {
				_, err := d.replace(records)
				return nil, err
			}
			end := &tail{end: s.end, size: s.size}
			if s.all.none() {
				d.dec.Rest()
				end.epoch, end.run, end.time, end.dec = s.epoch, slices.Clone(s.run), t.last, d.dec
				end.file, _ = log.Stat() // if it fails, the next read starts from the beginning
			}
			return end, nil
		}
		if err != nil {
			return nil, err
		}
		more, err := d.replace(t.front(s))
		if more && err == nil {
			more, err = d.record(s)
		}
		if err != nil || !more {
			return nil, err
		}
	}
}

// errBad means that a line is not the one that was written.
var errBad = errors.New("the line is damaged")

// object returns the next line's object. A line that looks bad is read a second time:
// its writer may have cut it off and written another one meanwhile.
func (l *lines) object() ([]byte, error) {
	for tries := 0; ; tries++ {
		line, err := l.read()
		object, ok := unseal(line)
		switch {
		case err == nil && ok:
			return object, nil
		case err != nil && !errors.Is(err, errTooLong):
			return nil, err
		case tries == 1:
			return nil, errBad
		}
		l.again()
	}
}

// recordReader passes the records after a position on to a reader.
type recordReader struct {
	values string
	after  core.Pos
	at     core.Pos // the reader's position
	dec    codec.Decoder
	yield  func(r core.Record, size int) bool // returns false to stop
}

// pass yields the part of a record that the reader lacks. size is that of its stored form.
func (d *recordReader) pass(r core.Record, size int) (more bool, err error) {
	next, rest, ok, err := d.at.Splice(r)
	if err != nil || !ok {
		return err == nil, err
	}
	d.at = next
	return d.yield(rest, size), nil
}

// replace passes records that replace lost ones. A lost record may be one of a call
// that later records refer to, so the decoder starts again.
func (d *recordReader) replace(records []core.Record) (more bool, err error) {
	for _, r := range records {
		if _, ok := r.Event.(core.Missing); ok {
			d.dec = codec.Decoder{}
		}
		if more, err := d.pass(r, 0); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// record passes the record that s is at.
func (d *recordReader) record(s *scan) (more bool, err error) {
	r, line, object := s.line.Place(), s.line, s.object
	wanted := d.after.Before(s.end)
	if digest := valueOf(object); digest != "" && (wanted || line.IsCall()) {
		object, err = withValue(object, d.values, digest)
		if err == nil {
			line, err = codec.ParseLine(object)
		}
		if err == nil && line.End() != s.end { // a body does not change the end of its record
			err = errBad
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errBad) { // a Missing takes its place
			r.Event = core.Missing{
				Records: 1,
				Final:   true,
				Text: fmt.Sprintf(
					"1 record is missing here: its content was in %s/%s, which is lost or damaged.",
					d.values,
					digest,
				),
			}
			return d.replace([]core.Record{r})
		}
		if err != nil {
			return false, err
		}
	}
	if !wanted { // only needed for references in later records
		if err = d.dec.Skip(object); err == nil {
			return true, nil
		}
	} else if r, err = d.dec.DecodeLine(line); err == nil {
		return d.pass(r, len(object))
	}
	r = s.line.Place()
	r.Event = core.Missing{
		Records: 1,
		Final:   true,
		Text: fmt.Sprintf(
			"1 record is missing here: its line, which ends at byte %d of the log, cannot be decoded.",
			s.size,
		),
	}
	return d.replace([]core.Record{r})
}
