package share

import (
	"fmt"
	"testing"
)

// The results of the newest orders are kept, and no others.
func TestResultsAreBounded(t *testing.T) {
	var l results
	first, _ := l.of("0")
	for i := range maxResults - 1 {
		l.of(fmt.Sprint("more ", i))
	}
	if r, was := l.of("0"); !was || r != first {
		t.Error("the first order is forgotten too early")
	}
	l.of("one more")
	if _, was := l.of("0"); was || len(l.all) > maxResults || len(l.order) > maxResults {
		t.Errorf("%d results are kept, of %d orders", len(l.all), len(l.order))
	}
}
