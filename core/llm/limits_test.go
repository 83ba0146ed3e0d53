package llm

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A provider may have any number of models: the knowledge about 256 of them is kept,
// and a time to wait makes room when it is over.
func TestExperienceIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, full := newGate(0, 0), http.Header{"Retry-After": {"30"}}
		for i := range 1000 {
			g.heed(fmt.Sprint("model ", i), full, http.StatusTooManyRequests)
		}
		if n := len(g.until); n != 256 || g.held("model 0") == 0 {
			t.Errorf("the times of %d models are remembered", n)
		}
		<-time.After(time.Minute)
		g.heed("another", full, http.StatusTooManyRequests)
		if n := len(g.until); n != 1 || g.held("another") == 0 {
			t.Errorf("the times of %d models are remembered when they are over", n)
		}
	})
	var known traits
	for i := range 1000 {
		known.drop(fmt.Sprint("model ", i), traitEffort)
	}
	if n := len(known.refused); n != 256 {
		t.Errorf("the refused traits of %d models are kept", n)
	}
}
