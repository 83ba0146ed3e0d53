package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/cursor"
	"dragoman/core/jsonscan"
)

// The stored names of the kinds of events. They never change.
const (
	kindOpened          = "opened"
	kindClaimed         = "claimed"
	kindPromptQueued    = "prompt_queued"
	kindTurnStarted     = "turn_started"
	kindExpanded        = "expanded"
	kindSteered         = "steered"
	kindPhase           = "phase"
	kindTextDelta       = "text"
	kindThoughtStarted  = "thought_started"
	kindThoughtDelta    = "thought"
	kindThoughtEnded    = "thought_ended"
	kindCall            = "call"
	kindCallArgs        = "call_args"
	kindCallOutput      = "call_output"
	kindAsked           = "asked"
	kindAnswered        = "answered"
	kindPlanChanged     = "plan"
	kindUsageChanged    = "usage"
	kindTitleChanged    = "title"
	kindArchived        = "archived"
	kindSettingsChanged = "settings"
	kindBound           = "bound"
	kindNotice          = "notice"
	kindMissing         = "missing"
	kindFellBack        = "fell_back"
	kindInstructed      = "instructed"
	kindBriefed         = "briefed"
	kindFlagged         = "flagged"
	kindCompacted       = "compacted"
	kindShortened       = "shortened"
	kindReverted        = "reverted"
	kindCited           = "cited"
	kindMoved           = "moved"
	kindTruncated       = "truncated"
	kindTurnEnded       = "turn_ended"
	kindForeign         = "foreign"
	kindOffered         = "offered"
	kindLost            = "lost" // an event that could not be encoded; not known to happen
)

// The stored forms that differ from the events in memory.
type (
	storedClaimed struct {
		Epoch uint64 `json:"epoch"`
		Node  string `json:"node"`
		After string `json:"after"`
	}
	storedTruncated struct {
		After string `json:"after"`
		By    string `json:"by,omitempty"`
	}
	storedPhase struct {
		Turn  core.TurnID    `json:"turn,omitempty"`
		Kind  core.PhaseKind `json:"kind"`
		Tool  string         `json:"tool,omitempty"`
		After time.Duration  `json:"after,omitempty"`
	}
)

// appendEvent appends the members k and v.
func (e *Encoder) appendEvent(dst []byte, ev core.Event) []byte {
	switch ev := ev.(type) {
	case core.TextDelta:
		return appendDelta(dst, kindTextDelta, string(ev.Message), ev.Text)
	case core.ThoughtDelta:
		return appendDelta(dst, kindThoughtDelta, string(ev.Thought), ev.Text)
	case core.CallArgs:
		return appendDelta(dst, kindCallArgs, string(ev.Call), ev.Text)
	case core.CallOutput:
		return appendDelta(dst, kindCallOutput, string(ev.Call), ev.Text)
	case core.CallChanged:
		return append(e.appendCall(appendKind(dst, kindCall), ev.Call), '}')
	case core.ThoughtEnded:
		dst = appendStringMember(appendKind(dst, kindThoughtEnded), "thought", string(ev.Thought))
		dst = appendIntMember(dst, "took", int64(ev.Took))
		return append(appendRawMember(dst, "sealed", ev.Sealed), '}')
	case core.Bound:
		dst = appendStringMember(appendKind(dst, kindBound), "agent", ev.Agent)
		if ev.Heard != (core.Pos{}) {
			dst = appendStringMember(dst, "heard", cursor.Format(ev.Heard))
		}
		return append(appendRawMember(dst, "state", ev.State), '}')
	case core.Opened:
		ev.Meta.Created = storable(ev.Meta.Created)
		return appendPlain(dst, kindOpened, ev, nil)
	case core.Claimed:
		return appendPlain(dst, kindClaimed, storedClaimed{ev.Epoch, ev.Node, cursor.Format(ev.After)}, nil)
	case core.PromptQueued:
		return appendPlain(dst, kindPromptQueued, ev, ev.Prompt)
	case core.TurnStarted:
		dst = appendPlain(dst, kindTurnStarted, ev, ev.Prompt)
		if ev.Standing == nil {
			return dst
		}
		return append(AppendBlocks(appendKey(dst[:len(dst)-1], "standing"), ev.Standing), '}')
	case core.Expanded:
		return appendPlain(dst, kindExpanded, ev, nil)
	case core.Steered:
		return appendPlain(dst, kindSteered, ev, ev.Prompt)
	case core.Phase:
		return appendPlain(dst, kindPhase, storedPhase(ev), nil)
	case core.ThoughtStarted:
		return appendPlain(dst, kindThoughtStarted, ev, nil)
	case core.Asked:
		ev.Ask.Deadline = storable(ev.Ask.Deadline)
		return appendPlain(dst, kindAsked, ev, nil)
	case core.Answered:
		return appendPlain(dst, kindAnswered, ev, nil)
	case core.PlanChanged:
		return appendPlain(dst, kindPlanChanged, ev, nil)
	case core.UsageChanged:
		ev.Last.Cost, ev.Total.Cost = finite(ev.Last.Cost), finite(ev.Total.Cost)
		return appendPlain(dst, kindUsageChanged, ev, nil)
	case core.TitleChanged:
		return appendPlain(dst, kindTitleChanged, ev, nil)
	case core.Archived:
		return appendPlain(dst, kindArchived, ev, nil)
	case core.SettingsChanged:
		return appendPlain(dst, kindSettingsChanged, ev, nil)
	case core.Notice:
		return appendPlain(dst, kindNotice, ev, nil)
	case core.Missing:
		clear(e.calls) // a missing record may belong to one of them
		return appendPlain(dst, kindMissing, ev, nil)
	case core.FellBack:
		return appendPlain(dst, kindFellBack, ev, nil)
	case core.Instructed:
		return appendPlain(dst, kindInstructed, ev, nil)
	case core.Briefed:
		return appendPlain(dst, kindBriefed, ev, nil)
	case core.Flagged:
		return appendPlain(dst, kindFlagged, ev, nil)
	case core.Compacted:
		return appendPlain(dst, kindCompacted, ev, nil)
	case core.Shortened:
		return appendPlain(dst, kindShortened, ev, nil)
	case core.Reverted:
		return appendPlain(dst, kindReverted, ev, nil)
	case core.Cited:
		return appendPlain(dst, kindCited, ev, nil)
	case core.Moved:
		return appendPlain(dst, kindMoved, ev, nil)
	case core.Truncated:
		return appendPlain(dst, kindTruncated, storedTruncated{cursor.Format(ev.After), ev.By}, nil)
	case core.TurnEnded:
		clear(e.calls) // all calls have ended before
		return appendPlain(dst, kindTurnEnded, ev, nil)
	case core.Foreign:
		dst = appendStringMember(appendKind(dst, kindForeign), "protocol", ev.Protocol)
		if ev.Method != "" {
			dst = appendStringMember(dst, "method", ev.Method)
		}
		if ev.Text != "" {
			dst = appendStringMember(dst, "text", ev.Text)
		}
		if len(ev.Content) > 0 {
			dst = AppendBlocks(appendKey(dst, "content"), ev.Content)
		}
		return append(appendRawMember(dst, "raw", ev.Raw), '}')
	case core.Offered:
		return appendPlain(dst, kindOffered, ev, nil)
	case core.Unknown:
		return appendRawMember(jsonscan.AppendString(appendKey(dst, "k"), ev.Kind), "v", ev.Raw)
	case nil:
	}
	return append(appendStringMember(appendKind(dst, kindLost), "err", "a record without an event"), '}')
}

// appendKind appends the member k and begins v; the caller closes it.
func appendKind(dst []byte, kind string) []byte {
	dst = append(append(dst, `,"k":"`...), kind...)
	return append(dst, `","v":{`...)
}

// appendDelta appends a piece of a run.
func appendDelta(dst []byte, kind, id, text string) []byte {
	dst = jsonscan.AppendString(append(appendKind(dst, kind), `"id":`...), id)
	dst = jsonscan.AppendString(append(dst, `,"text":`...), text)
	return append(dst, '}')
}

// appendPlain appends an event in the form of encoding/json, and the prompt of events
// that have one.
func appendPlain(dst []byte, kind string, ev any, prompt []core.Block) []byte {
	body, err := jsonscan.Append(nil, ev)
	if err != nil {
		dst = appendStringMember(appendKind(dst, kindLost), "kind", kind)
		return append(appendStringMember(dst, "err", err.Error()), '}')
	}
	dst = append(appendKind(dst, kind), body[1:len(body)-1]...)
	if len(prompt) > 0 {
		dst = AppendBlocks(appendKey(dst, "prompt"), prompt)
	}
	return append(dst, '}')
}

// finite returns a cost that JSON can express; nil: it is unknown.
func finite(cost *float64) *float64 {
	if cost == nil || math.IsNaN(*cost) || math.IsInf(*cost, 0) {
		return nil
	}
	return cost
}

// event decodes the event of a record.
func (d *Decoder) event(l Line) (core.Event, error) {
	ev := d.known(string(l.kind), l.body)
	if ev != nil {
		return ev, nil
	}
	var raw json.RawMessage
	ok := true
	switch {
	case l.text != nil:
		raw = json.RawMessage(jsonscan.Text(l.text))
	case l.body != nil:
		raw, ok = parseRaw([]byte("v"), l.body, true)
	}
	if !ok {
		return nil, fmt.Errorf("%w: its event is not JSON", errNotRecord)
	}
	return core.Unknown{Kind: strings.Clone(string(l.kind)), Raw: raw}, nil
}

// known decodes an event; nil: this version does not understand it.
func (d *Decoder) known(kind string, v []byte) core.Event {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	switch kind {
	case kindCall:
		if c, ok := d.call(v); ok {
			return core.CallChanged{Call: c}
		}
		return nil
	case kindThoughtEnded, kindBound, kindForeign:
		return decodeRawEvent(kind, v)
	case kindClaimed:
		if s, ok := decodePlain[storedClaimed](v); ok {
			after, err := cursor.Parse(s.After)
			return orNil(core.Claimed{Epoch: s.Epoch, Node: s.Node, After: after}, err == nil)
		}
		return nil
	case kindTruncated:
		if s, ok := decodePlain[storedTruncated](v); ok {
			after, err := cursor.Parse(s.After)
			return orNil(core.Truncated{After: after, By: s.By}, err == nil)
		}
		return nil
	case kindPhase:
		s, ok := decodePlain[storedPhase](v)
		return orNil(core.Phase(s), ok)
	case kindPromptQueued:
		ev, prompt, ok := decodePrompt[core.PromptQueued](v)
		ev.Prompt = prompt
		return orNil(ev, ok)
	case kindTurnStarted:
		if ev, ok := d.turnStarted(v); ok {
			return ev
		}
		ev, prompt, ok := decodePrompt[core.TurnStarted](v)
		standing, fine := standingOf(v)
		ev.Prompt, ev.Standing = prompt, standing
		return orNil(ev, ok && fine)
	case kindSteered:
		ev, prompt, ok := decodePrompt[core.Steered](v)
		ev.Prompt = prompt
		return orNil(ev, ok)
	case kindOpened:
		ev, ok := decodePlain[core.Opened](v)
		ev.Meta.Created = storable(ev.Meta.Created)
		return orNil(ev, ok)
	case kindAsked:
		ev, ok := decodePlain[core.Asked](v)
		ev.Ask.Deadline = storable(ev.Ask.Deadline)
		return orNil(ev, ok)
	case kindTurnEnded:
		d.forget()
		if ev, ok := d.turnEnded(v); ok {
			return ev
		}
		return plainEvent[core.TurnEnded](v)
	case kindThoughtStarted:
		return plainEvent[core.ThoughtStarted](v)
	case kindAnswered:
		return plainEvent[core.Answered](v)
	case kindPlanChanged:
		return plainEvent[core.PlanChanged](v)
	case kindUsageChanged:
		if ev, ok := d.usageChanged(v); ok {
			return ev
		}
		return plainEvent[core.UsageChanged](v)
	case kindTitleChanged:
		return plainEvent[core.TitleChanged](v)
	case kindArchived:
		return plainEvent[core.Archived](v)
	case kindSettingsChanged:
		return plainEvent[core.SettingsChanged](v)
	case kindExpanded:
		return plainEvent[core.Expanded](v)
	case kindNotice:
		return plainEvent[core.Notice](v)
	case kindMissing:
		d.forget()
		return plainEvent[core.Missing](v)
	case kindFellBack:
		return plainEvent[core.FellBack](v)
	case kindInstructed:
		return plainEvent[core.Instructed](v)
	case kindBriefed:
		return plainEvent[core.Briefed](v)
	case kindFlagged:
		return plainEvent[core.Flagged](v)
	case kindCompacted:
		return plainEvent[core.Compacted](v)
	case kindShortened:
		return plainEvent[core.Shortened](v)
	case kindReverted:
		return plainEvent[core.Reverted](v)
	case kindCited:
		return plainEvent[core.Cited](v)
	case kindMoved:
		return plainEvent[core.Moved](v)
	case kindOffered:
		return plainEvent[core.Offered](v)
	}
	return nil
}

// delta decodes a piece of a run.
func (d *Decoder) delta(l Line) core.Event {
	if string(l.id[1:len(l.id)-1]) != d.id || strings.ContainsAny(d.id, `\"`) {
		d.id = jsonscan.Text(l.id)
	}
	if l.plain {
		return deltaEvent(l.stream, d.id, string(l.piece[1:len(l.piece)-1]))
	}
	return deltaEvent(l.stream, d.id, jsonscan.Text(l.piece))
}

// deltaEvent makes a piece of a stream from its streamKind and id.
func deltaEvent(stream byte, id, text string) core.Event {
	switch stream {
	case 't':
		return core.TextDelta{Message: core.MessageID(id), Text: text}
	case 'h':
		return core.ThoughtDelta{Thought: core.ThoughtID(id), Text: text}
	case 'a':
		return core.CallArgs{Call: core.CallID(id), Text: text}
	default:
		return core.CallOutput{Call: core.CallID(id), Text: text}
	}
}

// deltaOf finds the strings of a piece of a run, still quoted.
func deltaOf(v []byte) (id, text []byte, ok bool) {
	m := membersOf(v)
	for m.Next() {
		switch string(m.Key) {
		case "id":
			id = m.Val
		case "text":
			text = m.Val
		}
	}
	return id, text, !m.Bad && jsonscan.IsString(id) && jsonscan.IsString(text)
}

// streamKind returns the kind of the stream whose deltas are stored as kind; 0: there
// is none.
func streamKind(kind string) byte {
	switch kind {
	case kindTextDelta:
		return 't'
	case kindThoughtDelta:
		return 'h'
	case kindCallArgs:
		return 'a'
	case kindCallOutput:
		return 'o'
	}
	return 0
}

// decodeRawEvent decodes the events that contain JSON of other programs.
func decodeRawEvent(kind string, v []byte) core.Event {
	var ended core.ThoughtEnded
	var bound core.Bound
	var foreign core.Foreign
	m, ok := membersOf(v), true
	for m.Next() {
		switch string(m.Key) {
		case "thought":
			ended.Thought = core.ThoughtID(jsonscan.Text(m.Val))
		case "took":
			n, err := strconv.ParseInt(string(m.Val), 10, 64)
			ended.Took, ok = time.Duration(n), ok && err == nil
		case "agent":
			bound.Agent = jsonscan.Text(m.Val)
		case "sealed", "sealed~":
			ended.Sealed, ok = parseRaw(m.Key, m.Val, ok)
		case "heard":
			at, err := cursor.Parse(jsonscan.Text(m.Val))
			bound.Heard, ok = at, ok && err == nil
		case "state", "state~":
			bound.State, ok = parseRaw(m.Key, m.Val, ok)
		case "protocol":
			foreign.Protocol = jsonscan.Text(m.Val)
		case "method":
			foreign.Method = jsonscan.Text(m.Val)
		case "text":
			foreign.Text = jsonscan.Text(m.Val)
		case "content":
			foreign.Content, ok = parseBlocks(m.Val)
		case "raw", "raw~":
			foreign.Raw, ok = parseRaw(m.Key, m.Val, ok)
		}
	}
	switch kind {
	case kindBound:
		return orNil(bound, ok && !m.Bad)
	case kindForeign:
		return orNil(foreign, ok && !m.Bad)
	}
	return orNil(ended, ok && !m.Bad)
}

// parseRaw is the inverse of appendRawMember.
func parseRaw(key, val []byte, ok bool) (json.RawMessage, bool) {
	if key[len(key)-1] == '~' {
		return json.RawMessage(jsonscan.Text(val)), ok
	}
	return bytes.ToValidUTF8(val, []byte("\uFFFD")), ok && jsonscan.Valid(val)
}

func decodePlain[T any](v []byte) (ev T, ok bool) {
	err := json.Unmarshal(v, &ev)
	return ev, err == nil
}

func plainEvent[T core.Event](v []byte) core.Event {
	ev, ok := decodePlain[T](v)
	return orNil(ev, ok)
}

func decodePrompt[T any](v []byte) (ev T, prompt []core.Block, ok bool) {
	m, ok := membersOf(v), true
	for m.Next() {
		if string(m.Key) == "prompt" {
			prompt, ok = parseBlocks(m.Val)
		}
	}
	if !ok || m.Bad || json.Unmarshal(v, &ev) != nil {
		return ev, nil, false
	}
	return ev, prompt, true
}

// standingOf decodes the member standing of an event; nil: there is none.
func standingOf(v []byte) (blocks []core.Block, ok bool) {
	m, ok := membersOf(v), true
	for m.Next() {
		if string(m.Key) == "standing" {
			blocks, ok = parseBlocks(m.Val)
			blocks = append([]core.Block{}, blocks...) // an empty list is not nil
		}
	}
	return blocks, ok
}

func orNil(ev core.Event, ok bool) core.Event {
	if !ok {
		return nil
	}
	return ev
}
