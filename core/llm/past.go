package llm

import (
	"bytes"
	"reflect"
	"sync"
	"unsafe"

	"dragoman/core"
	"dragoman/core/inference"
)

const (
	maxPasts     = 64       // sessions with a cached history
	maxPastBytes = 64 << 20 // of all of them together
)

// encodedPiece is a piece of a history in the form for requests. It never changes;
// additions follow it.
type encodedPiece struct {
	json     []byte
	pictures [][]byte // of the marks in json
	chars    int      // without pictures
}

// pastCache caches the encoded histories of sessions, so that a request encodes only new
// messages. It is safe for concurrent use. A nil pastCache caches nothing.
type pastCache struct {
	mu    sync.Mutex // guards the fields below
	kept  map[pastKey]*past
	bytes int
	most  int // maximum size in bytes
	clock uint64
}

// pastKey identifies a session, its model, and the form of calls.
type pastKey struct {
	model    string
	session  core.SessionID
	unsigned bool // as traitUnsigned
}

// past is the encoded beginning of a history. One goroutine at a time uses it.
type past struct {
	encodedPiece
	messages []inference.Message // the messages encoded in it
	used     uint64
}

// size returns how many bytes a cached history holds.
func (p *past) size() int {
	n := cap(p.json)
	for _, data := range p.pictures {
		n += len(data)
	}
	return n
}

func newPastCache() *pastCache { return &pastCache{kept: map[pastKey]*past{}, most: maxPastBytes} }

// take removes the cached past of a session; nil: there is none, or another goroutine
// has it.
func (p *pastCache) take(k pastKey) *past {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.kept[k]
	if one != nil {
		delete(p.kept, k)
		p.bytes -= one.size()
	}
	return one
}

// put caches the encoded history of a session, and drops the least recently used ones
// over the limit.
func (p *pastCache) put(k pastKey, one *past) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.kept[k]; old != nil { // two goroutines have encoded it
		p.bytes -= old.size()
	}
	p.clock++
	one.used = p.clock
	p.kept[k] = one
	p.bytes += one.size()
	for len(p.kept) > maxPasts || p.bytes > p.most {
		var oldest pastKey
		var least *past
		for k, one := range p.kept {
			if least == nil || one.used < least.used {
				oldest, least = k, one
			}
		}
		delete(p.kept, oldest)
		p.bytes -= least.size()
	}
}

// past encodes the new messages of a history whose encoding is final. It returns the
// encoded part, and the messages that follow it.
func (m *remote) past(r *inference.Request, w stretch) (encodedPiece, []inference.Message, error) {
	if m.p.pasts == nil || r.Session == "" {
		return encodedPiece{}, r.Messages, nil
	}
	key := pastKey{m.info.ID, r.Session, m.takes(traitUnsigned)}
	one := m.p.pasts.take(key)
	to := w.cut(m, r.Messages)
	if one == nil || len(one.messages) > to || !begins(r.Messages, one.messages) ||
		!w.parts(m, r.Messages, len(one.messages)) {
		one = &past{}
	}
	if err := one.add(m, r.Messages[len(one.messages):to], w); err != nil {
		return encodedPiece{}, nil, err
	}
	now := one.encodedPiece
	m.p.pasts.put(key, one)
	return now, r.Messages[to:], nil
}

// add encodes messages after the existing ones.
func (p *past) add(m *remote, messages []inference.Message, w stretch) (err error) {
	list, shown := w.elements(m, messages)
	at := len(p.json)
	if at > 0 && len(list) > 0 {
		p.json = append(p.json, ',')
	}
	if p.json, err = encodeList(p.json, list); err != nil {
		return err
	}
	p.pictures = append(p.pictures, shown.data...)
	p.chars += characters(p.json[at:]) - shown.bytes
	p.messages = append(p.messages, messages...)
	return nil
}

// begins reports whether a history begins with these messages.
func begins(messages, with []inference.Message) bool {
	if len(messages) < len(with) {
		return false
	}
	for i := range with {
		if !sameMessage(&messages[i], &with[i]) {
			return false
		}
	}
	return true
}

// sameMessage compares by content. Messages that are identical in memory, as most of a
// history is from request to request, take almost no time.
func sameMessage(a, b *inference.Message) bool {
	return a.Role == b.Role && a.Text == b.Text && sameBlocks(a.Blocks, b.Blocks) &&
		same(a.Thoughts, b.Thoughts, func(a, b *inference.Thought) bool {
			return a.Text == b.Text && bytes.Equal(a.Sealed, b.Sealed)
		}) &&
		same(a.Calls, b.Calls, func(a, b *inference.ToolUse) bool {
			return a.ID == b.ID && a.Name == b.Name && bytes.Equal(a.Args, b.Args)
		}) &&
		a.Result.ID == b.Result.ID && a.Result.Name == b.Result.Name && a.Result.Failed == b.Result.Failed &&
		sameBlocks(a.Result.Blocks, b.Result.Blocks)
}

// same compares lists whose elements never change.
func same[T any](a, b []T, equal func(a, b *T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	if unsafe.SliceData(a) == unsafe.SliceData(b) {
		return true
	}
	for i := range a {
		if !equal(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func sameBlocks(a, b []core.Block) bool {
	return same(a, b, func(a, b *core.Block) bool {
		switch x := (*a).(type) {
		case core.Text:
			y, ok := (*b).(core.Text)
			return ok && x == y
		case core.Image:
			y, ok := (*b).(core.Image)
			return ok && x.MIME == y.MIME && x.URI == y.URI && bytes.Equal(x.Data, y.Data)
		case core.Audio, core.Link, core.Resource, core.Diff, core.Terminal:
			return reflect.DeepEqual(*a, *b)
		}
		return false
	})
}
