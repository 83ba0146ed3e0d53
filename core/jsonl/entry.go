package jsonl

import (
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
	in := entryText{rest: string(object)}
	if e = in.entry(); in.bad {
		e = indexEntry{}
		if json.Unmarshal(object, &e) != nil {
			return e, false
		}
	}
	return e, e.Summary.ID != ""
}

// entryText is the rest of an entry that is being decoded. bad is set by whatever has another form.
type entryText struct {
	rest string
	bad  bool
}

func (t *entryText) entry() (e indexEntry) {
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
	return e
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
	all = make([]string, 0, 1)
	for !t.bad {
		all = append(all, t.text())
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
	at, err := time.Parse(time.RFC3339Nano, t.text())
	t.bad = t.bad || err != nil
	return at
}
