package ecaserver

import "time"

// Hurry gives a server less time to end a turn that was stopped, and to greet.
func (b *Backend) Hurry(d time.Duration) { b.limits.cancel, b.limits.hello, b.limits.end = d, d, d }
