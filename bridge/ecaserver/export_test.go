package ecaserver

import "time"

// Hurry gives a server less time to end a turn.
func (b *Backend) Hurry(d time.Duration) { b.limits.cancel, b.limits.end = d, d }

// HurryHello gives a server less time to greet.
func (b *Backend) HurryHello(d time.Duration) { b.limits.hello = d }
