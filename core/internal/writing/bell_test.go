package writing

import (
	"testing"
	"testing/synctest"
	"time"
)

// A bell is heard once after a call, by who waits or by the next one, and not without a call.
func TestBell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBell()
		waits := func(what string, want time.Duration) {
			t.Helper()
			start := time.Now()
			if b.Wait(time.Second); time.Since(start) != want {
				t.Errorf("%s: waited for %v", what, time.Since(start))
			}
		}
		b.Ring()
		waits("without a call", time.Second)
		b.Call()
		waits("with a call alone", time.Second)
		b.Ring()
		waits("rung before", 0)
		b.Ring()
		waits("rung again", time.Second)
		b.Call()
		time.AfterFunc(time.Millisecond, b.Ring)
		waits("rung meanwhile", time.Millisecond)
		for range 3 {
			b.Call()
			b.Ring()
		}
		waits("rung often", 0)
		waits("and heard once", time.Second)
	})
}
