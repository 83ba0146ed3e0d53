package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"dragoman/core"
	"dragoman/core/codec"
)

// readLog yields the records of a log behind after, until yield has enough. What is
// damaged or missing is a record too: a core.Missing, or a piece of the run in which it
// is missing. What has no place for one is reported behind the last record, unless
// somebody owns the session: then there is no last record, and a line that looks
// damaged may be one that is being written. been, if not nil, is called at the end of the log.
func readLog(
	ctx context.Context,
	f files,
	id core.SessionID,
	after core.Pos,
	yield func(core.Record) bool,
	been func(end core.Pos, size int64),
) error {
	log, err := openFile(f.log, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	l := newLines(log)
	if _, err := readHeader(l); err != nil {
		return err
	}
	s := scanLog(l)
	d := decoding{values: f.values, after: after, at: after, yield: yield}
	t := teller{log: f.log, advice: repairAdvice(id)}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := s.next()
		if errors.Is(err, io.EOF) {
			if been != nil {
				been(s.end, s.size)
			}
			if told := t.behind(s); told != nil && !readOwner(f.owner).alive() {
				_, err := d.tell(told)
				return err
			}
			return nil
		}
		if err != nil {
			return err
		}
		more, err := d.tell(t.front(s))
		if more && err == nil {
			more, err = d.record(s)
		}
		if err != nil || !more {
			return err
		}
	}
}

// errBad says that a line is not what was written there.
var errBad = errors.New("the line is damaged")

// object returns the next line's object. A line that looks bad is read once
// more: its writer may have cut it back and written another meanwhile.
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

// decoding turns the records of a log into those behind a position.
type decoding struct {
	values string
	after  core.Pos
	at     core.Pos // of the reader
	dec    codec.Decoder
	yield  func(core.Record) bool // false: it has enough
}

// pass yields the part of a record that the reader lacks.
func (d *decoding) pass(r core.Record) (more bool, err error) {
	next, rest, ok, err := d.at.Splice(r)
	if err != nil || !ok {
		return err == nil, err
	}
	d.at = next
	return d.yield(rest), nil
}

// tell passes records that stand for lost ones. A lost record may be one of a call that
// later records refer to, so the decoder starts anew.
func (d *decoding) tell(told []core.Record) (more bool, err error) {
	for _, r := range told {
		if _, ok := r.Event.(core.Missing); ok {
			d.dec = codec.Decoder{}
		}
		if more, err := d.pass(r); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// record passes the record that s is at.
func (d *decoding) record(s *scan) (more bool, err error) {
	r, line, object := s.line.Place(), s.line, s.object
	wanted := d.after.Before(s.end)
	if digest := valueOf(object); digest != "" && (wanted || line.IsCall()) {
		object, err = withValue(object, d.values, digest)
		if err == nil {
			line, err = codec.ParseLine(object)
		}
		if err == nil && line.End() != s.end { // a body does not change where its record ends
			err = errBad
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errBad) { // its place is kept
			r.Event = core.Missing{
				Records: 1,
				Final:   true,
				Text: fmt.Sprintf(
					"1 record is missing here: its content was in %s/%s, which is lost or damaged.",
					d.values,
					digest,
				),
			}
			return d.tell([]core.Record{r})
		}
		if err != nil {
			return false, err
		}
	}
	if !wanted { // only what later records refer to is wanted
		if err = d.dec.Skip(object); err == nil {
			return true, nil
		}
	} else if r, err = d.dec.DecodeLine(line); err == nil {
		return d.pass(r)
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
	return d.tell([]core.Record{r})
}
