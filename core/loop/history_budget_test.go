package loop

import (
	"fmt"
	"runtime"
	"testing"

	"dragoman/core"
)

// turnsOf returns the events of n turns with a question and an answer.
func turnsOf(n int) (events []core.Event) {
	for i := range n {
		turn := core.TurnID(fmt.Sprint("t", i))
		events = append(events,
			core.TurnStarted{Turn: turn, Prompt: words("question")},
			core.TextDelta{Message: core.MessageID(turn), Text: "answer"},
			core.TurnEnded{Turn: turn, Stop: core.StopEnd})
	}
	return events
}

// Folding a log, and asking for the messages with each turn, allocates memory in proportion to its
// length.
func TestBudgetHistory(t *testing.T) {
	allocated := func(n int, each bool) uint64 {
		events := turnsOf(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h := &history{}
		for _, ev := range events {
			h.apply(ev)
			if _, end := ev.(core.TextDelta); each && end {
				h.messages()
			}
		}
		runtime.ReadMemStats(&after)
		if got := len(h.messages()); got != 2*n {
			t.Fatalf("%d messages of %d turns", got, n)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, each := range []bool{false, true} {
		if small, large := allocated(1000, each), allocated(8000, each); large > 12*small {
			t.Errorf("asked each time %v: 1,000 turns take %d bytes, 8,000 turns %d", each, small, large)
		}
	}
}

// BenchmarkFold folds the log of 2,500 turns, as the first turn after a load does.
func BenchmarkFold(b *testing.B) {
	events := turnsOf(2500)
	for b.Loop() {
		fold(events...)
	}
}
