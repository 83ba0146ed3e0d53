package bridge_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/fidelity"
)

// teller describes events, without what the lists have, and with ids by their order.
type teller struct {
	losses [][]fidelity.Loss
	ids    map[string]string
	list   []string
	grows  string                 // the delta at the end of the list
	calls  map[core.CallID]string // as they were described last
	runs   core.CallID            // the one that was told to run last
	spent  core.Usage             // by the turn
	window string                 // how full it was last
}

// shown have events of a turn in a form in which those that a protocol does not tell apart are the same.
var shown = []struct {
	protocol string
	in       func(events []core.Event, stack []string) []core.Event
}{{"eca", inECA}, {"acp", inACP}}

// told describes the events of a turn, without what the protocols of a stack (from the top on) and their lists do
// not carry.
func told(events []core.Event, stack []string, losses [][]fidelity.Loss) []string {
	for _, as := range shown {
		if slices.Contains(stack, as.protocol) {
			events = as.in(events, stack)
		}
	}
	d := teller{losses: losses, ids: map[string]string{}, calls: map[core.CallID]string{}}
	for _, ev := range events {
		d.event(ev)
	}
	for i, line := range d.list {
		if head, text, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(head, "output of ") {
			d.list[i] = head + ": " + strings.TrimSpace(text)
		}
	}
	return d.list
}

// becomes returns how some list has a fact; false: all carry it as it is, or some values of it.
func (d *teller) becomes(f fidelity.Fact) (how fidelity.How, listed bool) {
	for _, list := range d.losses {
		if l, ok := fidelity.Of(list, f); ok && l.How != fidelity.InPart && how != fidelity.Lost {
			how, listed = l.How, true
		}
	}
	return how, listed
}

// id names an id of a kind.
func (d *teller) id(kind, id string) string {
	if d.ids[kind+id] == "" {
		d.ids[kind+id] = fmt.Sprintf("%s %d", kind, len(d.ids)+1)
	}
	return d.ids[kind+id]
}

// grow adds a piece of a text, to the end of the list if that is the same text.
func (d *teller) grow(key, text string) {
	if d.grows == key {
		d.list[len(d.list)-1] += text
		return
	}
	d.list, d.grows = append(d.list, key+": "+text), key
}

// add adds a line.
func (d *teller) add(line string) { d.list, d.grows = append(d.list, line), "" }

func (d *teller) event(ev core.Event) {
	if n, ok := noticeOf(ev); ok { // whether it is one already is another test's
		ev = n
	}
	if how, _ := d.becomes(fidelity.Fact(reflect.TypeOf(ev).Name())); how == fidelity.Lost {
		return
	}
	switch e := any(ev).(type) {
	case core.Opened, core.Claimed, core.SettingsChanged, core.Bound, core.PromptQueued, core.TitleChanged, core.Offered: // each gateway's own
	case core.Answered, core.Steered: // of the user, who is at the top
	case core.Phase: // it is live, and may come later than what came after it
	case core.Cited:
		d.source(e.Link)
	case core.TextDelta:
		d.grow(d.id("message", string(e.Message)), e.Text)
	case core.ThoughtDelta:
		d.grow(d.id("thought", string(e.Thought)), e.Text)
	case core.CallOutput:
		d.grow("output of "+d.id("call", string(e.Call)), e.Text)
	case core.CallArgs:
		d.grow("arguments of "+d.id("call", string(e.Call)), e.Text)
	case core.CallChanged:
		d.call(e.Call)
	case core.Notice:
		line := d.facts(e)
		if how, _ := d.becomes("Notice.Text"); how == fidelity.AsText {
			line += " " + e.Text
		}
		d.add(line)
	case core.PlanChanged:
		e.Entries = slices.Clone(e.Entries)
		for i := range e.Entries {
			e.Entries[i].Priority = cmp.Or(e.Entries[i].Priority, "medium")
		}
		d.add(d.facts(e))
	case core.Asked:
		if slices.ContainsFunc(e.Ask.Options, func(o core.Option) bool { return o.ID == string(o.Decision) }) {
			e.Ask.Options = nil // the gateway's own
		}
		d.add(d.facts(e))
	case core.UsageChanged:
		d.usage(e)
	case core.TurnEnded:
		if e.Stop != core.StopCanceled && e.Stop != core.StopError && d.spent != (core.Usage{}) {
			d.add(d.facts(core.UsageChanged{Last: d.spent}))
		}
		d.add(d.facts(e))
	default:
		d.add(d.facts(ev))
	}
}

// call adds a change of a call, unless it is one of what is lost.
func (d *teller) call(c core.Call) {
	head := d.id("call", string(c.ID)) + " "
	line := head + d.facts(core.CallChanged{Call: c})
	if d.calls[c.ID] == line {
		return
	}
	if last := len(d.list) - 1; c.State.Ended() && d.runs == c.ID && d.grows == "" && strings.HasPrefix(d.list[last], head) {
		d.list = d.list[:last] // a call that could not run is told as one that ran and failed
	}
	d.runs = ""
	if c.State == core.Running {
		d.runs = c.ID
	}
	d.calls[c.ID] = line
	d.add(line)
}

func (d *teller) source(l core.Link) { d.add("source " + l.URI + " " + l.Title) }

// usage adds how full the window is, in place, and keeps the tokens for the end of the turn: a protocol
// may have one of them in an update and the other in the answer to the prompt.
func (d *teller) usage(e core.UsageChanged) {
	d.spent = d.spent.Add(e.Last)
	e.Last = core.Usage{}
	if line := d.facts(e); line != d.window {
		d.window = line
		d.add(line)
	}
}

// facts describes an event by its facts.
func (d *teller) facts(ev core.Event) string {
	var b strings.Builder
	fidelity.Walk(ev, func(f fidelity.Fact, v reflect.Value) {
		_, listed := d.becomes(f)
		switch {
		case fidelity.IsInternal(f):
		case !v.IsValid():
			b.WriteString(string(f))
		case listed, v.IsZero():
		default:
			line, err := json.Marshal(v.Interface())
			if err != nil {
				line = []byte(err.Error())
			}
			fmt.Fprintf(&b, " %s=%s", strings.TrimPrefix(string(f), f.Event()+"."), line)
		}
	})
	return b.String()
}
