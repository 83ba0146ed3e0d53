package jsonl

import (
	"fmt"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/codec"
)

// reporter makes the records that replace the lost parts of a log. All but their text
// depends only on the log, so reading shows the same numbers and positions that Repair
// writes.
type reporter struct {
	log        string // the damaged file
	advice     string // a sentence: how to repair, or what was done
	final      bool   // the log is being repaired
	last       time.Time
	unreported loss // damage that no record in its place could report
}

// front makes the records before the good one that s is at.
func (t *reporter) front(s *scan) (records []core.Record) {
	place := s.line.Place()
	defer func() { t.last = place.Time }()
	if s.gap.none() {
		return nil
	}
	r := core.Record{Epoch: s.before.Epoch, Time: t.last}
	switch gap := s.gap; {
	case gap.records > 0:
		r.Seq, r.Event = gap.first, core.Missing{
			Records: gap.records,
			Final:   t.final,
			Text:    gap.missing() + " here: " + gap.where(t.log) + ". " + t.advice,
		}
		records = append(records, r)
	case gap.lines > 0 && s.before.Off > 0 && place.Seq > s.before.Seq: // it may have been the end of the run
		t.unreported.add(gap)
		r.Seq, r.Off, r.Event = s.before.Seq, s.before.Off, codec.StreamDelta(
			s.beforeRun,
			fmt.Sprintf("[%s damaged here]", bytesAre(gap.bytes)),
		)
		records = append(records, r)
	default:
		t.unreported.add(gap)
	}
	if s.gap.text > 0 {
		r.Seq, r.Off, r.Event = place.Seq, place.Off-s.gap.text, codec.StreamDelta(s.run, filler(s.gap.text))
		records = append(records, r)
	}
	return records
}

// behind makes the record after the last good one, if there is anything left to
// report.
func (t *reporter) behind(s *scan) (records []core.Record) {
	t.unreported.add(s.gap)
	if t.unreported.none() {
		return nil
	}
	r := core.Record{Epoch: s.end.Epoch, Seq: max(s.end.Seq, 1), Time: t.last}
	if s.end.Off > 0 {
		r.Seq++
	}
	r.Event = core.Missing{
		Records: 1,
		Final:   t.final,
		Text:    "The log of this session is damaged: " + t.unreported.where(t.log) + ". " + t.advice,
	}
	return []core.Record{r}
}

// missing describes how many records are missing.
func (l loss) missing() string {
	if l.records == 1 {
		return "1 record is missing"
	}
	return fmt.Sprintf("%d records are missing", l.records)
}

// total describes all damage of a file.
func (l loss) total(file string) string {
	if l.records == 0 {
		return l.where(file)
	}
	return l.missing() + ": " + l.where(file)
}

// where describes the damage of a file, with its place.
func (l loss) where(file string) string {
	var what []string
	if l.lines > 0 {
		what = append(what, bytesAre(l.bytes)+" damaged")
	}
	switch {
	case l.astray == 1:
		what = append(what, "1 record is out of order")
	case l.astray > 1:
		what = append(what, fmt.Sprintf("%d records are out of order", l.astray))
	}
	if l.text > 0 {
		what = append(what, fmt.Sprintf("%d bytes of text are missing", l.text))
	}
	if len(what) == 0 {
		what = append(what, "nothing is left of what was there")
	}
	return fmt.Sprintf("%s, at byte %d of %s", strings.Join(what, " and "), l.at, file)
}

func bytesAre(n int64) string {
	if n == 1 {
		return "1 byte is"
	}
	return fmt.Sprintf("%d bytes are", n)
}

// filler returns a text of n bytes that replaces a lost one, so that the text after it
// keeps its position.
func filler(n uint64) string {
	text := fmt.Sprintf("[%s missing here]", bytesAre(int64(n)))
	if uint64(len(text)) > n {
		return strings.Repeat(".", int(n))
	}
	return text + strings.Repeat(".", int(n)-len(text))
}

// repairAdvice returns the advice to repair a damaged session.
func repairAdvice(id core.SessionID) string {
	return "\"dragoman sessions repair " + typed(id) + "\" repairs the session and keeps the damaged file next to it."
}

// typed returns an id in the form for a command line, or ID if it needs quoting.
func typed(id core.SessionID) string {
	for _, c := range id {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.:", c) {
			return "ID" // "sessions list" shows the id
		}
	}
	return string(id)
}
