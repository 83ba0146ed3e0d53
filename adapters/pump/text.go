package pump

import (
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

// pieces returns the records that are text, and whether all are.
func pieces(recs []core.Record) (list []piece, all bool) {
	for _, r := range recs {
		if p, ok := pieceOf(r); ok {
			list = append(list, p)
		}
	}
	return list, len(list) == len(recs)
}

// hold holds text back that follows other text soon. If it returns false, the held text has to be
// written now, and then recs.
func (p *Pump) hold(r *core.Reader, recs []core.Record) bool {
	if p.Pace <= 0 {
		return false
	}
	t := p.texts[r]
	if t == nil {
		t = &text{}
		p.texts[r] = t
	}
	list, all := pieces(recs)
	now := time.Now()
	if !all || t.timer == nil && now.Sub(t.at) >= p.Pace {
		if len(list) > 0 {
			t.at = now
		}
		return false
	}
	for _, piece := range list {
		t.add(piece)
	}
	if t.size >= most {
		t.at = now
		p.mux.poke()
		return true // held, and due now
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(t.at.Add(p.Pace).Sub(now), p.mux.poke)
	}
	return true
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
		if len(t.held) > 0 && (all || t.size >= most || now.Sub(t.at) >= p.Pace) {
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
