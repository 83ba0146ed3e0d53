package llm

import (
	"io"
	"strings"
	"testing"

	"dragoman/core/coretest"
)

// Reading a delta of the usual form allocates nothing of its own: only what is yielded is allocated,
// once for all deltas of one read.
func TestBudgetDeltas(t *testing.T) {
	if coretest.Race {
		t.Skip("the race detector allocates")
	}
	const few, many = 1000, 11000
	cost := func(n int) float64 {
		event := []byte("data: " + wireDelta + "\n\n")
		end := "data: " + finished("stop") + "\n\ndata: [DONE]\n\n"
		return testing.AllocsPerRun(5, func() {
			body := io.MultiReader(io.LimitReader(&endlessBody{event: event}, int64(n*len(event))), strings.NewReader(end))
			text := 0
			for d, err := range modelOf(t, body).Stream(t.Context(), coretest.ModelRequest()) {
				if err != nil {
					t.Fatal(err)
				}
				text += len(d.Text)
			}
			if text != n*len(" word") {
				t.Fatalf("%d bytes of text", text)
			}
		})
	}
	if got := (cost(many) - cost(few)) / (many - few); got > 0.05 {
		t.Errorf("%.3f allocations per delta", got)
	}
}
