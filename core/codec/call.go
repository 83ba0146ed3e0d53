package codec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"dragoman/core"
	"dragoman/core/jsonscan"
)

// The fields of a call that are written only when they have changed.
const (
	sameTitle   = "title"
	sameArgs    = "args"
	sameContent = "content"
	sameOutput  = "output"
)

// appendCall appends the members of a call, and keeps it while other records of it may
// follow.
func (e *Encoder) appendCall(dst []byte, c core.Call) []byte {
	last, again := e.calls[c.ID]
	same := make([]string, 0, 4)
	// differs reports whether a field must be written, and lists it if not.
	differs := func(name string, empty, equal bool) bool {
		if again && equal && !empty {
			same = append(same, name)
			return false
		}
		return !empty
	}
	dst = appendStringMember(dst, "id", string(c.ID))
	dst = appendStringMember(dst, "turn", string(c.Turn))
	dst = appendStringMember(dst, "server", c.Server)
	dst = appendStringMember(dst, "tool", c.Tool)
	dst = appendStringMember(dst, "kind", string(c.Kind))
	dst = appendStringMember(dst, "state", string(c.State))
	dst = appendStringMember(dst, "why", c.Why)
	dst = appendStringMember(dst, "child", string(c.Child))
	if c.Spent != (core.Expense{}) {
		dst = appendSpent(appendKey(dst, "spent"), c.Spent)
	}
	dst = appendStringMember(dst, "spill", c.Spill)
	dst = appendTimeMember(dst, "start", c.Start)
	dst = appendTimeMember(dst, "end", c.End)
	if len(c.Locations) > 0 {
		dst = appendLocations(appendKey(dst, "locations"), c.Locations)
	}
	if differs(sameTitle, c.Title == "", c.Title == last.Title) {
		dst = appendStringMember(dst, "title", c.Title)
	}
	if differs(sameArgs, len(c.Args) == 0, bytes.Equal(c.Args, last.Args)) {
		dst = appendRawMember(dst, "args", c.Args)
	}
	if differs(sameContent, len(c.Content) == 0, slices.EqualFunc(c.Content, last.Content, equalBlocks)) {
		dst = AppendBlocks(appendKey(dst, "content"), c.Content)
	}
	if differs(sameOutput, len(c.Output) == 0, bytes.Equal(c.Output, last.Output)) {
		dst = appendRawMember(dst, "output", c.Output)
	}
	dst = appendRawMember(dst, "meta", c.Meta)
	if len(same) > 0 {
		dst = append(appendKey(dst, "same"), '[')
		for i, name := range same {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonscan.AppendString(dst, name)
		}
		dst = append(dst, ']')
	}
	e.calls = remember(e.calls, c)
	return dst
}

// appendSpent appends the value of a call's member "spent".
func appendSpent(dst []byte, e core.Expense) []byte {
	raw, err := json.Marshal(e)
	if err != nil { // a cost that is no number
		return append(dst, "{}"...)
	}
	return append(dst, raw...)
}

// parseSpent is the inverse of appendSpent. It is a function of its own so that no call is allocated for it.
func parseSpent(raw []byte) (e core.Expense, ok bool) {
	err := json.Unmarshal(raw, &e)
	return e, err == nil
}

// remember keeps the fields of c that later records of the call may share.
func remember(calls map[core.CallID]core.Call, c core.Call) map[core.CallID]core.Call {
	if c.State.Ended() {
		delete(calls, c.ID)
		return calls
	}
	if calls == nil {
		calls = map[core.CallID]core.Call{}
	}
	calls[c.ID] = core.Call{Title: c.Title, Args: c.Args, Content: c.Content, Output: c.Output}
	return calls
}

func appendLocations(dst []byte, locations []core.Location) []byte {
	dst = append(dst, '[')
	for i, l := range locations {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(append(dst, `{"path":`...), l.Path)
		dst = append(appendIntMember(dst, "line", int64(l.Line)), '}')
	}
	return append(dst, ']')
}

func parseLocations(b []byte) (locations []core.Location, ok bool) {
	e := elementsOf(b)
	for e.Next() {
		var l core.Location
		m := membersOf(e.Val)
		for m.Next() {
			switch string(m.Key) {
			case "path":
				l.Path = jsonscan.Text(m.Val)
			case "line":
				n, err := strconv.Atoi(string(m.Val))
				if err != nil {
					return nil, false
				}
				l.Line = n
			}
		}
		if m.Bad {
			return nil, false
		}
		locations = append(locations, l)
	}
	return locations, !e.Bad
}

// call decodes a call; ok is false if this version does not understand it.
func (d *Decoder) call(v []byte) (c core.Call, ok bool) {
	var same []byte
	m, ok := membersOf(v), true
	for m.Next() {
		switch string(m.Key) {
		case "id":
			c.ID = core.CallID(d.word(m.Val))
		case "turn":
			c.Turn = core.TurnID(d.word(m.Val))
		case "server":
			c.Server = d.word(m.Val)
		case "tool":
			c.Tool = d.word(m.Val)
		case "kind":
			c.Kind = callKind(m.Val)
		case "state":
			c.State = callState(m.Val)
		case "why":
			c.Why = jsonscan.Text(m.Val)
		case "child":
			c.Child = core.SessionID(jsonscan.Text(m.Val))
		case "spent":
			var fine bool
			c.Spent, fine = parseSpent(m.Val)
			ok = ok && fine
		case "spill":
			c.Spill = jsonscan.Text(m.Val)
		case "start":
			c.Start, _ = parseTime(m.Val)
		case "end":
			c.End, _ = parseTime(m.Val)
		case "locations":
			if ok {
				c.Locations, ok = parseLocations(m.Val)
			}
		case "title":
			c.Title = jsonscan.Text(m.Val)
		case "args", "args~":
			c.Args, ok = parseRaw(m.Key, m.Val, ok)
		case "content":
			if ok {
				c.Content, ok = parseBlocks(m.Val)
			}
		case "output", "output~":
			c.Output, ok = parseRaw(m.Key, m.Val, ok)
		case "meta", "meta~":
			c.Meta, ok = parseRaw(m.Key, m.Val, ok)
		case "same":
			same = m.Val
		}
	}
	if m.Bad || !ok {
		return core.Call{}, false
	}
	bodies := d.skipped[c.ID]
	delete(d.skipped, c.ID)
	if same != nil {
		for _, body := range bodies {
			d.call(body)
		}
		restore(&c, d.calls[c.ID], same)
	}
	d.calls = remember(d.calls, c)
	return c, true
}

// skipCall keeps a call's record for later ones, without decoding it.
func (d *Decoder) skipCall(v []byte) {
	var id core.CallID
	var state core.CallState
	whole := true
	m := membersOf(v)
	for m.Next() {
		switch string(m.Key) {
		case "id":
			id = core.CallID(jsonscan.Text(m.Val))
		case "state":
			state = callState(m.Val)
		case "same":
			whole = false
		}
	}
	switch {
	case m.Bad:
		return
	case state.Ended():
		delete(d.calls, id)
		delete(d.skipped, id)
		return
	case whole:
		delete(d.calls, id)
		delete(d.skipped, id)
	}
	if d.skipped == nil {
		d.skipped = map[core.CallID][][]byte{}
	}
	d.skipped[id] = append(d.skipped[id], bytes.Clone(v))
}

// restore copies the fields that a record only names.
func restore(c *core.Call, last core.Call, same []byte) {
	if bytes.Contains(same, []byte(`"`+sameTitle+`"`)) {
		c.Title = last.Title
	}
	if bytes.Contains(same, []byte(`"`+sameArgs+`"`)) {
		c.Args = last.Args
	}
	if bytes.Contains(same, []byte(`"`+sameContent+`"`)) {
		c.Content = last.Content
	}
	if bytes.Contains(same, []byte(`"`+sameOutput+`"`)) {
		c.Output = last.Output
	}
}

// callKind and callState avoid the allocation of a string for known names.
func callKind(b []byte) core.CallKind {
	for _, k := range [...]core.CallKind{
		core.KindRead, core.KindEdit, core.KindDelete, core.KindMove, core.KindSearch,
		core.KindExecute, core.KindThink, core.KindFetch, core.KindOther,
	} {
		if len(b) == len(k)+2 && string(b[1:len(b)-1]) == string(k) {
			return k
		}
	}
	return core.CallKind(jsonscan.Text(b))
}

func callState(b []byte) core.CallState {
	for _, s := range [...]core.CallState{
		core.Proposed, core.Awaiting, core.Running, core.Succeeded, core.Errored, core.Rejected, core.Canceled,
	} {
		if len(b) == len(s)+2 && string(b[1:len(b)-1]) == string(s) {
			return s
		}
	}
	return core.CallState(jsonscan.Text(b))
}
