package pump

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"sync"

	"dragoman/core"
)

// Prompts knows the prompts of one session on one connection that have been read
// and have not ended. The zero value is ready.
type Prompts struct {
	mu   sync.Mutex // guards the fields below
	base string
	last int
	open map[string]*Ticket
	none []func() // wait until open is empty
}

// Ticket is one prompt. Its context goes to core's Attachment.Prompt, and its
// Key into core's Prompt.
type Ticket struct {
	Key    string
	n      int // its index among its Prompts
	cancel context.CancelCauseFunc
	turn   core.TurnID // guarded by the lock of its Prompts
	done   func(core.TurnEnded)
	begun  func(core.TurnID)
}

// Register notes a prompt, on the reading goroutine. The prompt ends with ctx at the
// latest. The pump calls begun, if not nil, right after the record that accepts the prompt
// (queued or started), and done right after the one that ends its turn; each at most once.
func (p *Prompts) Register(
	ctx context.Context,
	begun func(core.TurnID),
	done func(core.TurnEnded),
) (context.Context, *Ticket) {
	ctx, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[string]*Ticket{}
	}
	p.last++
	t := &Ticket{
		Key:    p.prefixLocked() + strconv.Itoa(p.last),
		n:      p.last,
		cancel: cancel,
		begun:  begun,
		done:   done,
	}
	p.open[t.Key] = t
	return ctx, t
}

// Prefix is the common prefix of the keys of these prompts, which no others have.
func (p *Prompts) Prefix() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.prefixLocked()
}

func (p *Prompts) prefixLocked() string {
	if p.base == "" {
		p.base = rand.Text()[:12] + "-"
	}
	return p.base
}

// Cancel ends the context of this prompt only.
func (t *Ticket) Cancel() { t.cancel(core.ErrCanceled) }

// Forget drops a prompt that the core refused; it reports whether the prompt was open.
func (p *Prompts) Forget(t *Ticket) bool {
	p.mu.Lock()
	_, ok := p.open[t.Key]
	delete(p.open, t.Key)
	after := p.noneLocked()
	p.mu.Unlock()
	t.cancel(nil)
	for _, f := range after {
		f()
	}
	return ok
}

// Cancel ends every prompt that is registered now, as cancelled: those that were read before.
func (p *Prompts) Cancel() { p.Stop(core.ErrCanceled) }

// Stop is Cancel with another cause. The last prompt read is stopped first, so that none begins
// because the one before it has ended.
func (p *Prompts) Stop(cause error) {
	p.mu.Lock()
	list := slices.SortedFunc(maps.Values(p.open), func(a, b *Ticket) int { return b.n - a.n })
	p.mu.Unlock()
	for _, t := range list {
		t.cancel(cause)
	}
}

// Has reports whether a turn that has not ended is that of one of these prompts.
func (p *Prompts) Has(turn core.TurnID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.open {
		if t.turn == turn && turn != "" {
			return true
		}
	}
	return false
}

// Open counts the prompts that have not ended.
func (p *Prompts) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// Abandon ends all prompts with e, whatever becomes of their turns: for a log that can no longer
// be read. Only the pump calls it.
func (p *Prompts) Abandon(e core.TurnEnded) {
	p.mu.Lock()
	list := p.open
	p.open = nil
	after := p.noneLocked()
	p.mu.Unlock()
	for _, t := range list {
		e.Turn = t.turn
		t.done(e)
		t.cancel(nil)
	}
	for _, f := range after {
		f()
	}
}

// WhenNone calls f once no prompt is open: now, or when the last one has ended, after its done. f
// must not block.
func (p *Prompts) WhenNone(f func()) {
	p.mu.Lock()
	none := len(p.open) == 0
	if !none {
		p.none = append(p.none, f)
	}
	p.mu.Unlock()
	if none {
		f()
	}
}

// noneLocked takes the functions that wait for the last prompt's end, if it has ended.
func (p *Prompts) noneLocked() []func() {
	if len(p.open) > 0 {
		return nil
	}
	list := p.none
	p.none = nil
	return list
}

// After returns the action that must follow a record, or nil.
func (p *Prompts) After(ev core.Event) func() {
	switch e := any(ev).(type) {
	case core.TurnStarted:
		return p.bind(e.Key, e.Turn)
	case core.PromptQueued:
		return p.bind(e.Key, e.Turn)
	case core.TurnEnded:
		return p.end(e)
	}
	return nil
}

func (p *Prompts) bind(key string, turn core.TurnID) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.open[key]
	if t == nil || t.turn != "" {
		return nil
	}
	t.turn = turn
	if t.begun == nil {
		return nil
	}
	return func() { t.begun(turn) }
}

func (p *Prompts) end(e core.TurnEnded) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, t := range p.open {
		if t.turn == e.Turn {
			delete(p.open, key)
			t.cancel(nil)
			after := p.noneLocked()
			return func() {
				t.done(e)
				for _, f := range after {
					f()
				}
			}
		}
	}
	return nil
}
