package eca

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/eca/offer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// A chat is paged by items: a user's message with its mark, a message of the agent, a thought, a
// call, a notice. Contents in between belong to the newest item. An item's number is its cursor.

// pager numbers the items of a chat, record by record.
type pager struct {
	n     int
	items map[string]int
	calls map[core.CallID]int // calls that have not ended

	compacted int // the newest item about a compaction; -1: none
}

func newPager() *pager {
	return &pager{items: map[string]int{}, calls: map[core.CallID]int{}, compacted: -1}
}

// item returns the number of the item that a record belongs to.
func (p *pager) item(ev core.Event) int {
	switch e := any(ev).(type) {
	case core.TurnStarted:
		if content.Prompt(e.Prompt) != "" {
			return p.of("m" + string(e.Message))
		}
	case core.Steered:
		return p.of("m" + string(e.Message))
	case core.TextDelta:
		return p.of("m" + string(e.Message))
	case core.ThoughtStarted:
		return p.of("h" + string(e.Thought))
	case core.ThoughtDelta:
		return p.of("h" + string(e.Thought))
	case core.ThoughtEnded:
		return p.of("h" + string(e.Thought))
	case core.CallArgs:
		return p.of("c" + string(e.Call))
	case core.CallChanged:
		i := p.of("c" + string(e.Call.ID))
		p.calls[e.Call.ID] = i
		if e.Call.State.Ended() {
			delete(p.calls, e.Call.ID)
		}
		return i
	case core.Cited:
		if e.Message != "" {
			return p.of("m" + string(e.Message))
		}
		p.n++
	case core.Asked:
		if i, ok := p.items["c"+string(e.Ask.Call)]; ok { // it shows the call
			return i
		}
	case core.Foreign:
		if e.Text != "" {
			p.n++
		}
	case core.Notice, core.Missing, core.FellBack, core.Instructed, core.Briefed, core.Reverted:
		p.n++
	case core.Compacted:
		p.n++
		p.compacted = p.n - 1
	}
	return max(p.n-1, 0)
}

func (p *pager) of(key string) int {
	i, ok := p.items[key]
	if !ok {
		i = p.n
		p.items[key] = i
		p.n++
	}
	return i
}

// window is the part of a chat that a client asks for: items after one, before one, at most limit
// of them. -1: not given.
type window struct{ limit, before, after int }

var wholeChat = window{-1, -1, -1}

// lastCompaction is the cursor of the newest item about a compaction of the conversation.
const lastCompaction = -2

func windowOf(limit *float64, before, after json.RawMessage) (w window, paged bool, err error) {
	w = wholeChat
	if limit != nil && *limit >= 1 {
		w.limit = int(min(*limit, 1<<30))
	}
	if w.before, err = cursor("before", before); err != nil {
		return w, false, err
	}
	if w.after, err = cursor("after", after); err != nil {
		return w, false, err
	}
	return w, w != wholeChat, nil
}

// errCursor is the error for a cursor that no longer exists.
var errCursor = errors.New("this place in the chat no longer exists; open the chat again")

// cursor reads a cursor of meta, unchanged or as a number; -1: none.
func cursor(name string, raw json.RawMessage) (int, error) {
	raw = bytes.Trim(raw, " \t\r\n\"")
	if len(raw) == 0 || string(raw) == "null" {
		return -1, nil
	}
	if string(raw) == eca.LastCompaction {
		return lastCompaction, nil
	}
	n, err := strconv.ParseUint(string(raw), 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, errCursor)
	}
	return int(n), nil
}

// behind returns the window with the last compaction replaced by its number; an error if the
// conversation was never compacted.
func (w window) behind(compacted int) (window, error) {
	for _, at := range []*int{&w.before, &w.after} {
		if *at != lastCompaction {
			continue
		}
		if *at = compacted; compacted < 0 {
			return w, fmt.Errorf("the conversation was never compacted: %w", errCursor)
		}
	}
	return w, nil
}

// of returns the range of items that the window shows out of total: from, and up to.
func (w window) of(total int) (from, to int) {
	to = total
	if w.after >= 0 {
		from = min(w.after+1, total)
	}
	if w.before >= 0 {
		to = max(from, min(w.before, total))
	}
	switch {
	case w.limit < 0:
	case w.after >= 0 && w.before < 0:
		to = min(to, from+w.limit)
	default:
		from = max(from, to-w.limit)
	}
	return from, to
}

// page is a part of a chat's items.
type page struct {
	pager           *pager
	from, to, total int
	compacted       int // as the pager's
}

// pageOf finds the part of a chat that a window shows, up to a position. The last page has all
// calls that have not ended: the user must see their questions.
func pageOf(ctx context.Context, att *core.Attachment, head core.Pos, w window) (*page, error) {
	p := newPager()
	if err := each(ctx, att, head, func(r core.Record) { p.item(r.Event) }); err != nil {
		return nil, err
	}
	w, err := w.behind(p.compacted)
	if err != nil {
		return nil, err
	}
	if w.before > p.n || w.after >= max(p.n, 1) {
		return nil, errCursor
	}
	pg := &page{pager: newPager(), total: p.n, compacted: p.compacted}
	if pg.from, pg.to = w.of(p.n); pg.to == p.n {
		for _, i := range p.calls {
			pg.from = min(pg.from, i)
		}
	}
	return pg, nil
}

// each reads a session up to a position.
func each(ctx context.Context, att *core.Attachment, head core.Pos, do func(core.Record)) error {
	for rec, err := range att.Records(ctx, core.Pos{}, head) {
		if err != nil {
			return err
		}
		at := core.Pos{Epoch: rec.Epoch, Seq: rec.Seq, Off: rec.Off}
		if rec.Seq > 0 && at.Before(head) {
			do(rec)
		}
	}
	return nil
}

// rest returns the part of the chat from the beginning of the page; nil: all of it.
func (p *page) rest() *page {
	if p == nil {
		return nil
	}
	return &page{pager: newPager(), from: p.from, compacted: p.compacted}
}

// shows reports whether a record of the history belongs to the page.
func (p *page) shows(ev core.Event) bool {
	i := p.pager.item(ev)
	if p.to == p.total { // later records belong to it, too
		return i >= p.from
	}
	return i >= p.from && i < p.to
}

// meta describes the place of the page in the chat.
func (p *page) meta() *eca.PageMeta {
	m := &eca.PageMeta{Total: p.total, Returned: p.to - p.from}
	if p.from > 0 {
		text := strconv.Itoa(p.from)
		m.BeforeCursor = &text
	}
	if p.to > 0 && p.to < p.total { // the first items need no cursor
		text := strconv.Itoa(p.to - 1)
		m.AfterCursor = &text
	}
	if p.compacted >= 0 {
		text := strconv.Itoa(p.compacted)
		m.CompactionCursor = &text
	}
	return m
}

// historyLimit is the number of items on a page if the client gives none.
const historyLimit = 100

// history handles chat/history: the answer contains a page of a chat. Nothing is shown again.
func (s *Server) history(ctx context.Context, call *wire.Call, p eca.HistoryParams) error {
	if err := checkID(p.ChatID); err != nil {
		return err
	}
	w, _, err := windowOf(p.Limit, p.Before, p.After)
	if err != nil {
		s.reply(ctx, call, eca.HistoryResult{Error: refused(err)}, nil)
		return nil
	}
	if w.limit < 0 {
		w.limit = historyLimit
	}
	c := s.chatOf(p.ChatID)
	c.queue.Go(func() {
		res, err := c.history(ctx, w)
		if err != nil {
			res = eca.HistoryResult{Error: refused(err)}
		}
		s.reply(ctx, call, res, nil)
	})
	return nil
}

func (c *chat) history(ctx context.Context, w window) (res eca.HistoryResult, err error) {
	sess, _, err := c.session(ctx, false)
	if err != nil {
		return res, err
	}
	peer := c.srv.peerNow()
	att := sess.Attach(core.Client{Name: peer.name, Role: core.Observe})
	defer att.Close()
	head := att.Head()
	pg, err := pageOf(ctx, att, head, w)
	if err != nil {
		return res, err
	}
	view := newView(c.id, peer.lacks, peer.name, c.srv.offered())
	view.flags, view.fixed = att.Flags(), c.srv.fixed(c.srv.offered(), offer.State{Settings: att.State().Settings})
	var lines []byte
	err = each(ctx, att, head, func(r core.Record) {
		view.hides = !pg.shows(r.Event)
		lines = encode(lines, view, r)
	})
	if view.past != nil {
		lines = view.past.settle(lines, view)
	}
	res = eca.HistoryResult{Contents: contents(lines), Meta: pg.meta()}
	return res, err
}

// contents returns the params of the messages that show a content.
func contents(lines []byte) []json.RawMessage {
	list := []json.RawMessage{}
	for line := range bytes.Lines(lines) {
		var m struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(line, &m) == nil && m.Method == eca.MethodContentReceived {
			list = append(list, m.Params)
		}
	}
	return list
}
