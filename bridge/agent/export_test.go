package agent

import "time"

// Hurry gives an agent less time for its answers.
func (b *Backend) Hurry(d time.Duration) { b.limits = limits{d, d, d, d, d} }
