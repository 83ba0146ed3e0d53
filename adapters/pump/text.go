package pump

import (
	"slices"
	"time"

	"dragoman/core"
)

// most limits the held text, in bytes.
const most = 32 << 10

// text is the state of a reader whose session streams text: when the last text was sent, and
// the records since then.
type text struct {
	at    time.Time
	held  []piece
	size  int
	timer *time.Timer // wakes the pump; nil: nothing is held
}

// piece is a record of text together with the following ones of the same run.
type piece struct {
	rec  core.Record
	run  core.Event // the delta without its text
	with func(string) core.Event
	text []byte
}

// pieceOf returns a record as a piece; ok is false for a record that is not text.
func pieceOf(rec core.Record) (p piece, ok bool) {
	text := ""
	switch e := any(rec.Event).(type) {
	case core.TextDelta:
		text, p.with = e.Text, func(s string) core.Event { return core.TextDelta{Message: e.Message, Text: s} }
	case core.ThoughtDelta:
		text, p.with = e.Text, func(s string) core.Event { return core.ThoughtDelta{Thought: e.Thought, Text: s} }
	case core.CallArgs:
		text, p.with = e.Text, func(s string) core.Event { return core.CallArgs{Call: e.Call, Text: s} }
	case core.CallOutput:
		text, p.with = e.Text, func(s string) core.Event { return core.CallOutput{Call: e.Call, Text: s} }
	default:
		return p, false
	}
	p.rec, p.run, p.text = rec, p.with(""), []byte(text)
	return p, true
}

// isText reports whether pieceOf takes a record.
func isText(r core.Record) bool {
	switch any(r.Event).(type) {
	case core.TextDelta, core.ThoughtDelta, core.CallArgs, core.CallOutput:
		return true
	}
	return false
}

// textual reports whether all records are text.
func textual(recs []core.Record) bool {
	for _, r := range recs {
		if !isText(r) {
			return false
		}
	}
	return true
}

// paced returns what is to be written of a reader now that it has new records: these behind the text
// that is held, or nothing if all of it is text that has to wait.
func (p *Pump) paced(r *core.Reader, recs []core.Record) []core.Record {
	if p.Pace <= 0 || len(recs) == 0 || p.feeds[r].Past() {
		return recs
	}
	t := p.texts[r]
	if t == nil {
		t = &text{}
		p.texts[r] = t
	}
	now := time.Now()
	calm := p.Queues && p.calm.passes(len(recs))
	if !textual(recs) {
		if slices.ContainsFunc(recs, isText) {
			t.at = now
		}
		return append(p.take(r), recs...)
	}
	free := calm || !p.Queues && (now.Sub(t.at) >= p.Pace || p.read())
	if free && len(t.held) == 0 {
		t.at = now
		return recs
	}
	if p.Queues && len(t.held) == 0 {
		t.at = now // what is gathered waits from here on
	}
	for _, rec := range recs {
		if piece, ok := pieceOf(rec); ok {
			t.add(piece)
		}
	}
	if free || t.size >= most {
		t.at = now
		return p.take(r)
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(t.at.Add(p.Pace).Sub(now), p.mux.poke)
	}
	return nil
}

// read reports whether the client has read everything, as far as that can be seen.
func (p *Pump) read() bool {
	if p.gauge == nil {
		return false
	}
	n, ok := p.gauge.Unread()
	return ok && n == 0
}

func (t *text) add(p piece) {
	t.size += len(p.text)
	if n := len(t.held); n > 0 {
		if last := &t.held[n-1]; last.run == p.run && last.rec.Seq == p.rec.Seq && last.rec.Epoch == p.rec.Epoch {
			last.text = append(last.text, p.text...)
			return
		}
	}
	t.held = append(t.held, p)
}

// due lists the readers whose text is to be written: all with held text, or those whose time has
// come.
func (p *Pump) due(all bool) (list []*core.Reader) {
	now := time.Now()
	for r, t := range p.texts {
		if len(t.held) > 0 && (all || now.Sub(t.at) >= p.Pace) {
			t.at = now
			list = append(list, r)
		}
	}
	return list
}

// take removes and returns the held records of a reader.
func (p *Pump) take(r *core.Reader) []core.Record {
	t := p.texts[r]
	if t == nil {
		return nil
	}
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	recs := make([]core.Record, len(t.held))
	for i, h := range t.held {
		h.rec.Event = h.with(string(h.text))
		recs[i] = h.rec
	}
	t.held, t.size = nil, 0
	return recs
}
