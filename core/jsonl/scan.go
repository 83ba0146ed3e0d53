package jsonl

import (
	"bytes"
	"errors"
	"io"

	"dragoman/core"
	"dragoman/core/codec"
)

const (
	// maxSeq is the highest record number that is accepted.
	maxSeq = 1 << 53
	// maxOff is the longest run that is accepted, in bytes: real runs are far shorter.
	maxOff = 1 << 20
)

// scan reads the records of a log, damaged or not, and finds damaged and missing
// parts. Reading, claiming and repairing all use it, so they see the same log.
type scan struct {
	l *lines

	// The good record that next has found.
	line   codec.Line
	object []byte   // its line, as unseal returns it
	end    core.Pos // after it
	epoch  uint64   // its epoch, the highest so far
	run    []byte   // its stream; empty: none

	// The gap before it.
	gap       loss
	before    core.Pos // the end of the record before the gap
	beforeRun []byte   // its stream

	all  loss  // all damage found so far
	size int64 // bytes of the file up to the end of the last whole line, good or not
	torn bool  // at the end of the scan: an unfinished line follows
}

// loss describes damaged or missing data in one place, or in several.
type loss struct {
	at      int64  // byte of the file where the damage begins
	bytes   int64  // damaged
	lines   int    // number of lines with those bytes
	astray  int    // records after others that have their numbers
	records uint64 // missing, as far as the numbers show
	first   uint64 // the number of the first of them
	text    uint64 // bytes of text missing before the next record
}

func (l loss) none() bool { return l.lines == 0 && l.astray == 0 && l.records == 0 && l.text == 0 }

// add adds to l a loss that was found after it.
func (l *loss) add(more loss) {
	if l.none() {
		l.at, l.first = more.at, more.first
	}
	l.bytes += more.bytes
	l.lines += more.lines
	l.astray += more.astray
	l.records += more.records
	l.text += more.text
}

// less returns l without last, which was added last.
func (l loss) less(last loss) loss {
	l.bytes -= last.bytes
	l.lines -= last.lines
	l.astray -= last.astray
	return l // numbers and text are missing only before a record
}

// scanLog starts after the first line of a log, which readHeader has read.
func scanLog(l *lines) *scan { return &scan{l: l, size: l.next} }

// next moves to the next good record. At the end of the log it returns io.EOF, and gap
// is the damage after the last record.
func (s *scan) next() error {
	s.gap = loss{}
	for {
		object, err := s.l.object()
		switch {
		case errors.Is(err, errBad):
			if err := s.passOver(); err != nil {
				return err
			}
			continue
		case errors.Is(err, errUnfinished):
			if s.torn = !s.l.lacksEnd(); !s.torn {
				s.lost(loss{at: s.l.at, bytes: s.l.rest(), lines: 1})
			}
			return io.EOF
		case err != nil:
			return err
		}
		s.size = s.l.next
		if s.take(object) {
			return nil
		}
	}
}

// passOver skips a bad line. The error is io.EOF if the line has no end.
func (s *scan) passOver() error {
	if s.l.next == s.l.at { // the line is too long to be read
		if err := s.l.skip(); err != nil {
			s.torn = errors.Is(err, io.EOF)
			return err
		}
	}
	s.size = s.l.next
	s.lost(loss{at: s.l.at, bytes: s.l.next - s.l.at, lines: 1})
	return nil
}

func (s *scan) lost(l loss) {
	s.gap.add(l)
	s.all.add(l)
}

// take examines a line with the right checksum. It returns false for a line that is
// invalid or out of place.
func (s *scan) take(object []byte) bool {
	line, err := codec.ParseLine(object)
	place := line.Place()
	if err == nil && place.Epoch < s.epoch { // written by a stale owner
		return false
	}
	run, end := line.AppendStream(s.beforeRun[:0]), line.End()
	s.beforeRun = run[:0]
	switch {
	case err != nil || place.Seq == 0 || end.Seq > maxSeq || place.Off > maxOff || place.Off > 0 && len(run) == 0:
		s.lost(loss{at: s.l.at, bytes: s.l.next - s.l.at, lines: 1})
		return false
	case len(run) > 0 && end.Off == place.Off: // an empty delta
		return false
	case !s.end.Before(end), s.end.Off > 0 && place.Seq == s.end.Seq && string(run) != string(s.run):
		s.lost(loss{at: s.l.at, astray: 1})
		return false
	}
	s.measure(place)
	s.line, s.object, s.epoch = line, object, place.Epoch
	s.before, s.end = s.end, end
	s.beforeRun, s.run = s.run, run
	return true
}

// measure finds the gap between the last record and the one at place.
func (s *scan) measure(place core.Record) {
	due, off := max(s.end.Seq, 1), s.end.Off
	if off > 0 && place.Seq > due { // the run has ended
		due, off = due+1, 0
	}
	missing := loss{at: s.l.at, first: due}
	if place.Seq > due {
		missing.records, off = place.Seq-due, 0
	}
	if place.Off > off {
		missing.text = place.Off - off
	}
	if !missing.none() {
		s.lost(missing)
		s.gap.first = due
	}
}

// rest returns the size of an unfinished last line, in bytes.
func (l *lines) rest() int64 { return int64(l.to - l.from) }

// lacksEnd reports whether the last line is whole and only the newline at its end is
// damaged. It returns false for a line that a crash has cut short.
func (l *lines) lacksEnd() bool {
	if l.rest() < 2 {
		return false
	}
	_, ok := unseal(bytes.Clone(l.buf[l.from : l.to-1]))
	return ok
}
