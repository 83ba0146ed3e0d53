package jsonl

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/core"
)

// decodeEntry decodes a line of the index, as unseal returns it. Entries in the form that json.Marshal gives them,
// which is that of nearly all, are decoded ten times as fast as by encoding/json.
func decodeEntry(object []byte) (e indexEntry, ok bool) {
	ok = e.decode(string(object), nil)
	return e, ok
}

// decode sets e, which shares the memory of object, and that of roots if they are the same.
func (e *indexEntry) decode(object string, roots []string) (ok bool) {
	in := entryText{rest: object, roots: roots}
	if in.entry(e); in.bad {
		*e = indexEntry{}
		if json.Unmarshal([]byte(object), e) != nil {
			return false
		}
	}
	return e.Summary.ID != ""
}

// entryHead is the part of an entry that decides about its session's place in lists.
type entryHead struct {
	principal, id []byte
	log           int64
	keeps         bool
}

// headOf returns the head of an entry.
func headOf(object []byte) (h entryHead, ok bool) {
	if h, ok = usualHead(object); ok {
		return h, true
	}
	e, ok := decodeEntry(object)
	return entryHead{[]byte(e.Principal), []byte(e.Summary.ID), e.Log, e.Keeps}, ok
}

// usualHead returns the head of an entry that has the form in which json.Marshal writes it, without escapes.
func usualHead(object []byte) (h entryHead, ok bool) {
	rest, ok := bytes.CutPrefix(object, []byte(`{"p":"`))
	h.principal, rest, _ = bytes.Cut(rest, []byte(`"`))
	number, rest, _ := bytes.Cut(bytes.TrimPrefix(rest, []byte(`,"n":`)), []byte(`,"s":{"id":"`))
	var end bool
	h.id, _, end = bytes.Cut(rest, []byte(`"`))
	if !ok || !end || len(h.id) == 0 || bytes.IndexByte(h.principal, '\\') >= 0 || bytes.IndexByte(h.id, '\\') >= 0 {
		return entryHead{}, false
	}
	if h.log, ok = digits(number); !ok {
		return entryHead{}, false
	}
	tail := object[max(0, len(object)-64):]
	i := bytes.LastIndex(tail, []byte(`,"messages":`))
	if i < 0 {
		return entryHead{}, false
	}
	tail, end = bytes.CutSuffix(tail[i+len(`,"messages":`):], []byte(`}`))
	tail, h.keeps = bytes.CutSuffix(tail, []byte(`,"k":true`))
	tail, ok = bytes.CutSuffix(tail, []byte(`}`))
	_, number2 := digits(bytes.TrimSuffix(tail, []byte(`,"archived":true`)))
	return h, ok && end && number2
}

// digits returns a number that is written with digits only.
func digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// entryText is the rest of an entry that is being decoded. bad is set by whatever has another form.
type entryText struct {
	rest  string
	bad   bool
	roots []string
}

func (t *entryText) entry(e *indexEntry) {
	t.must(`{"p":`)
	e.Principal = core.Principal(t.text())
	t.must(`,"n":`)
	e.Log = t.number()
	t.must(`,"s":{"id":`)
	e.Summary.ID = core.SessionID(t.text())
	if t.may(`,"title":`) {
		e.Summary.Title = t.text()
	}
	t.must(`,"cwd":`)
	e.Summary.Cwd = t.text()
	if t.may(`,"roots":[`) {
		e.Summary.Roots = t.texts()
	}
	if t.may(`,"parent":`) {
		e.Summary.Parent = core.SessionID(t.text())
	}
	t.must(`,"created":`)
	e.Summary.Created = t.time()
	t.must(`,"updated":`)
	e.Summary.Updated = t.time()
	if t.may(`,"model":`) {
		e.Summary.Model = t.text()
	}
	if t.may(`,"agent":`) {
		e.Summary.Agent = t.text()
	}
	t.must(`,"messages":`)
	e.Summary.Messages = int(t.number())
	e.Summary.Archived = t.may(`,"archived":true`)
	t.must(`}`)
	e.Keeps = t.may(`,"k":true`)
	t.must(`}`)
	t.bad = t.bad || t.rest != ""
}

// may skips a text, if it is the next one.
func (t *entryText) may(s string) (ok bool) {
	t.rest, ok = strings.CutPrefix(t.rest, s)
	return ok
}

func (t *entryText) must(s string) { t.bad = !t.may(s) || t.bad }

// text returns a string without escapes.
func (t *entryText) text() string {
	if !t.may(`"`) {
		t.bad = true
		return ""
	}
	s, rest, ok := strings.Cut(t.rest, `"`)
	t.bad = t.bad || !ok || strings.IndexByte(s, '\\') >= 0
	t.rest = rest
	return s
}

// texts returns the strings of a list that has begun.
func (t *entryText) texts() (all []string) {
	same := true
	for !t.bad {
		next := t.text()
		if same = same && len(all) < len(t.roots) && t.roots[len(all)] == next; same {
			all = t.roots[:len(all)+1]
		} else {
			all = append(slices.Clip(all), next)
		}
		if t.may(`]`) {
			break
		}
		t.must(`,`)
	}
	return slices.Clip(all)
}

func (t *entryText) number() int64 {
	end := 0
	for end < len(t.rest) && t.rest[end] >= '0' && t.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(t.rest[:end], 10, 64)
	t.rest, t.bad = t.rest[end:], t.bad || err != nil || end > 1 && t.rest[0] == '0'
	return n
}

func (t *entryText) time() time.Time {
	text := t.text()
	if at, ok := usualTime(text); ok {
		return at
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	t.bad = t.bad || err != nil
	return at
}

// usualTime returns a time in UTC, as time.Parse does, of a usual date.
func usualTime(s string) (at time.Time, ok bool) {
	const form = "0000-00-00T00:00:00"
	if len(s) <= len(form) || s[len(s)-1] != 'Z' {
		return time.Time{}, false
	}
	var parts [6]int
	n := 0
	for i := range len(form) {
		switch {
		case form[i] != '0':
			n++
			if s[i] != form[i] {
				return time.Time{}, false
			}
		case s[i] < '0' || s[i] > '9':
			return time.Time{}, false
		default:
			parts[n] = 10*parts[n] + int(s[i]-'0')
		}
	}
	nanos, unit := 0, int(time.Second)
	if rest := s[len(form) : len(s)-1]; rest != "" {
		if rest[0] != '.' || len(rest) < 2 || len(rest) > 10 {
			return time.Time{}, false
		}
		for _, c := range []byte(rest[1:]) {
			if c < '0' || c > '9' {
				return time.Time{}, false
			}
			unit /= 10
			nanos += unit * int(c-'0')
		}
	}
	if parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > 28 || parts[3] > 23 || parts[4] > 59 || parts[5] > 59 {
		return time.Time{}, false
	}
	return time.Date(parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5], nanos, time.UTC), true
}
