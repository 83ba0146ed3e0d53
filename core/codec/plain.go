package codec

import (
	"strconv"

	"dragoman/core"
	"dragoman/core/jsonscan"
)

// The events that every turn has are decoded here, without reflection, in the form in which
// this version writes them. For any other form ok is false, and encoding/json decides.

// fields walks through the members of an object that are read one by one.
type fields struct {
	c     jsonscan.Cursor
	words *words
	key   []byte
	begun bool
	bad   bool
}

// next moves to the next member; false: there is none, or f.bad.
func (f *fields) next() bool {
	switch {
	case f.bad:
		return false
	case !f.begun:
		f.begun = true
		if !f.c.Take('{') {
			return f.fail()
		}
		if f.c.Take('}') {
			return false
		}
	case f.c.Take('}'):
		return false
	case !f.c.Take(','):
		return f.fail()
	}
	key, ok := f.c.Key()
	f.key = key
	return ok || f.fail()
}

func (f *fields) fail() bool {
	f.bad = true
	return false
}

// end reports whether all members were read and nothing follows.
func (f *fields) end() bool { return !f.bad && f.c.End() }

// into begins a walk through an object that is the member's value. Behind its last member, next
// continues behind it.
func (f *fields) into() { f.begun = false }

func (f *fields) text() string {
	val, _, ok := f.c.Quoted()
	if !ok {
		f.fail()
	}
	return jsonscan.Text(val)
}

// word reads a string that may have been read before.
func (f *fields) word() string {
	inner, ok := f.c.Word()
	if !ok {
		f.fail()
		return ""
	}
	return f.words.of(inner)
}

func (f *fields) number() int {
	val, ok := f.c.Value()
	n, fine := parseUint(val)
	if !ok || !fine || n > 1<<53 {
		f.fail()
	}
	return int(n) //nolint:gosec // not above 2^53
}

func (f *fields) raw() []byte {
	val, ok := f.c.Value()
	if !ok {
		f.fail()
	}
	return val
}

// fields returns a walk through a whole value.
func (d *Decoder) fields(v []byte) fields {
	return fields{c: jsonscan.NewCursor(v), words: d.wordsRead()}
}

// word is jsonscan.Text for a string that may have been read before.
func (d *Decoder) word(val []byte) string {
	if !jsonscan.IsString(val) || len(val) > longWord || !jsonscan.Plain(val[1:len(val)-1]) {
		return jsonscan.Text(val)
	}
	return d.wordsRead().of(val[1 : len(val)-1])
}

func (d *Decoder) wordsRead() *words {
	if d.words == nil {
		d.words = &words{}
	}
	return d.words
}

func (d *Decoder) turnEnded(v []byte) (ev core.TurnEnded, ok bool) {
	f := d.fields(v)
	for f.next() {
		switch string(f.key) {
		case "turn":
			ev.Turn = core.TurnID(f.word())
		case "stop":
			ev.Stop = core.StopReason(f.word())
		case "err":
			ev.Err = f.text()
		default:
			f.fail()
		}
	}
	return ev, f.end()
}

func (d *Decoder) turnStarted(v []byte) (ev core.TurnStarted, ok bool) {
	var prompt, standing []byte
	f := d.fields(v)
	for f.next() {
		switch string(f.key) {
		case "turn":
			ev.Turn = core.TurnID(f.word())
		case "message":
			ev.Message = core.MessageID(f.text())
		case "key":
			ev.Key = f.text()
		case "origin":
			f.origin(&ev.Origin)
		case "passing":
			ev.Passing = f.number()
		case "prompt":
			prompt = f.raw()
		case "standing":
			standing = f.raw()
		default:
			f.fail()
		}
	}
	if ok = f.end(); ok && prompt != nil {
		ev.Prompt, ok = parseBlocks(prompt)
	}
	if ok && standing != nil {
		ev.Standing, ok = parseBlocks(standing)
		ev.Standing = append([]core.Block{}, ev.Standing...) // an empty list is not nil
	}
	return ev, ok
}

func (f *fields) origin(o *core.Origin) {
	f.into()
	for f.next() {
		switch string(f.key) {
		case "client":
			o.Client = f.word()
		case "principal":
			o.Principal = core.Principal(f.word())
		case "caller":
			o.Caller = core.Caller(f.word())
		case "hops":
			o.Hops = f.number()
		case "approvals":
			o.Approvals = core.Approvals(f.word())
		default:
			f.fail()
		}
	}
}

func (d *Decoder) usageChanged(v []byte) (ev core.UsageChanged, ok bool) {
	f := d.fields(v)
	for f.next() {
		switch string(f.key) {
		case "turn":
			ev.Turn = core.TurnID(f.word())
		case "last":
			f.usage(&ev.Last)
		case "total":
			f.usage(&ev.Total)
		case "model":
			ev.Model = f.word()
		case "context":
			ev.Context = f.number()
		case "window":
			ev.Window = f.number()
		case "shares":
			if ev.Shares != nil { // encoding/json would merge them
				f.fail()
			}
			ev.Shares = f.shares()
		case "compact_at":
			ev.CompactAt = f.number()
		default:
			f.fail()
		}
	}
	return ev, f.end()
}

func (f *fields) usage(u *core.Usage) {
	f.into()
	for f.next() {
		switch string(f.key) {
		case "in":
			u.In = f.number()
		case "out":
			u.Out = f.number()
		case "cache_read":
			u.CacheRead = f.number()
		case "cache_write":
			u.CacheWrite = f.number()
		case "reasoning":
			u.Reasoning = f.number()
		case "cost":
			u.Cost = f.cost()
		case "estimated":
			if u.Estimated = f.c.Literal("true"); !u.Estimated {
				f.fail()
			}
		default:
			f.fail()
		}
	}
}

func (f *fields) cost() *float64 {
	n, err := strconv.ParseFloat(string(f.raw()), 64)
	if err != nil {
		f.fail()
	}
	return &n
}

func (f *fields) shares() (shares []core.Share) {
	if !f.c.Take('[') || f.c.Take(']') { // an empty list is not nil, and never written
		f.fail()
		return nil
	}
	shares = make([]core.Share, 0, 4)
	for !f.bad {
		var s core.Share
		f.into()
		for f.next() {
			switch string(f.key) {
			case "part":
				s.Part = f.word()
			case "tokens":
				s.Tokens = f.number()
			default:
				f.fail()
			}
		}
		shares = append(shares, s)
		if !f.c.Take(',') {
			break
		}
	}
	if !f.c.Take(']') {
		f.fail()
	}
	return shares
}

// words keeps one copy of strings that are read again and again: names, and the ids of what is
// going on. The zero value is ready.
type words [32]string

// longWord limits the length of a string that is kept.
const longWord = 64

// of returns a string with the text b.
func (w *words) of(b []byte) string {
	if len(b) == 0 || len(b) > longWord {
		return string(b)
	}
	h := uint32(len(b))
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	s := &w[(h>>16^h)%uint32(len(w))]
	if *s != string(b) {
		*s = string(b)
	}
	return *s
}
