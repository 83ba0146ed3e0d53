package eca

import (
	"bytes"
	"encoding/json"
	"slices"

	"dragoman/adapters/pump"
	"dragoman/core"
)

// maxWhole limits the text of one message of a history, in bytes.
const maxWhole = 256 << 10

// past gathers the messages of a history. The client gets the end of each thing, at the place where it
// began: a call as it was prepared and as it ended, texts whole, the last plan and the last usage alone.
// Clients of early documents get every step.
type past struct {
	pump.Backlog            // of calls
	run          core.Event // the text that may go on, as a delta without text; nil: none
	text         []byte
	usage, plan  []byte // nil: none on the page
	buf          []byte
}

// remember begins the history of a view.
func (v *View) remember() {
	v.past = &past{}
	v.past.Now = v.callNow
	if v.client != "Neovim" { // which loses what does not come in one read
		v.frame = maxWhole
	}
}

// gathers reports whether the records are history of which only the end is shown.
func (v *View) gathers() bool { return !v.live && v.past != nil }

// encode takes the messages for a record.
func (p *past) encode(dst []byte, v *View, r core.Record) []byte {
	switch e := any(r.Event).(type) {
	case core.TextDelta:
		return p.say(dst, v, core.TextDelta{Message: e.Message}, e.Text)
	case core.ThoughtDelta:
		return p.say(dst, v, core.ThoughtDelta{Thought: e.Thought}, e.Text)
	case core.CallChanged:
		if v.calls[e.Call.ID] == nil && !v.hides && !v.plans(e.Call) {
			dst = p.endText(dst, v)
			p.Begin(string(e.Call.ID))
		}
	}
	key, task := v.about(r.Event)
	p.buf = encodeRecord(p.buf[:0], v, r)
	lines := p.buf
	if v.hides {
		lines = nil
	}
	switch e := any(r.Event).(type) {
	case core.UsageChanged:
		p.usage = slices.Clone(lines) // nil if another page has the last one
		return dst
	case core.Asked:
		if c := v.calls[e.Ask.Call]; c != nil && c.about && !v.hides {
			dst = p.endText(dst, v)
			p.Begin(string(e.Ask.Call))
		}
		return dst
	case core.PlanChanged:
		task = true
	}
	switch {
	case task && len(p.buf) > 0:
		p.plan = slices.Clone(lines)
		return dst
	case len(lines) == 0:
		return dst
	case p.Open(key):
		return p.End(dst, key, lines)
	}
	dst = p.endText(dst, v)
	at := len(dst)
	return p.Add(append(dst, lines...), at)
}

// about returns the call that an event may end, and whether it changes the plan.
func (v *View) about(ev core.Event) (key string, task bool) {
	var id core.CallID
	switch e := any(ev).(type) {
	case core.CallChanged:
		id = e.Call.ID
	case core.Answered:
		id = v.asks[e.Ask].Call
	}
	c := v.calls[id]
	return string(id), c != nil && c.task
}

// say takes a piece of a text. Pieces that follow each other become one text.
func (p *past) say(dst []byte, v *View, run core.Event, text string) []byte {
	if v.hides {
		return dst
	}
	if p.run != run {
		dst = p.endText(dst, v)
		p.run = run
	}
	if p.text = append(p.text, text...); len(p.text) >= maxWhole {
		dst = p.endText(dst, v)
	}
	return dst
}

// endText takes the text that was growing: something else follows it.
func (p *past) endText(dst []byte, v *View) []byte {
	run, text, at := p.run, string(p.text), len(dst)
	p.run, p.text = nil, p.text[:0]
	switch e := any(run).(type) {
	case core.TextDelta:
		e.Text = text
		run = e
	case core.ThoughtDelta:
		e.Text = text
		run = e
	default:
		return dst
	}
	return p.Add(encodeRecord(dst, v, core.Record{Event: run}), at)
}

// settle ends the history: calls that have not ended are shown as they are now.
func (p *past) settle(dst []byte, v *View) []byte {
	dst = p.Settle(p.endText(dst, v))
	dst = append(append(dst, p.plan...), p.usage...)
	v.past, v.frame = nil, frameText
	return dst
}

// callNow returns the messages of a call that has not ended.
func (v *View) callNow(id string) (lines []byte) {
	c := v.calls[core.CallID(id)]
	if c == nil {
		return nil
	}
	if lines = v.prepare(nil, c); c.now.State == core.Running {
		lines = v.runs(lines, c)
	}
	return lines
}

// indented returns the arguments of a call as clients show them.
func indented(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		return string(args)
	}
	return b.String()
}
