package writing

import (
	"sync/atomic"
	"time"
)

// Bell has the goroutine that writes look again. It is called under the lock that guards the log, and
// rung without it.
type Bell struct {
	called atomic.Bool
	token  chan struct{} // holds one: look again
}

// NewBell returns a bell.
func NewBell() Bell { return Bell{token: make(chan struct{}, 1)} }

// Call has the next Ring be heard.
func (b *Bell) Call() { b.called.Store(true) }

// Ring ends a Wait, or the next one, if there was a Call since the last Ring.
func (b *Bell) Ring() {
	if !b.called.Swap(false) {
		return
	}
	select {
	case b.token <- struct{}{}:
	default:
	}
}

// Wait waits until the bell is rung, or for a time.
func (b *Bell) Wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.token:
	}
}
