package eca_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// A client that takes a millisecond for each message gets a model's text in few messages,
// whatever the model's pace, and all of it.
func TestDeltasAreJoined(t *testing.T) {
	const deltas = 2000
	for _, pace := range []time.Duration{0, 10 * time.Microsecond, 100 * time.Microsecond, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			want := strings.Builder{}
			prof := profile()
			prof.Agents[0].Backend = &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				m := turn.NewMessage()
				for i := range deltas {
					text := fmt.Sprintf("word %d ", i)
					want.WriteString(text)
					if err := turn.Emit(ctx, core.TextDelta{Message: m, Text: text}); err != nil {
						return "", err
					}
					if pace > 0 {
						<-time.After(pace)
					}
				}
				return core.StopEnd, nil
			}}
			s := begin(t, same(prof), "/w")
			s.seen = nil
			s.send(s.request("chat/prompt", promptOf("c", "go on")))
			texts := 0
			for done := false; !done; {
				m := s.until(func(message) bool { return true })
				<-time.After(time.Millisecond)
				if m.is("text", "") && m.Params.Role == "assistant" {
					texts++
				}
				done = finished("c")(m)
			}
			if got := s.text("c"); got != want.String() {
				t.Errorf("a delta each %v: %d bytes arrived of %d", pace, len(got), want.Len())
			}
			if texts >= deltas/10 {
				t.Errorf("a delta each %v: %d deltas came in %d messages", pace, deltas, texts)
			}
			t.Logf("a delta each %v: %d messages", pace, texts)
			s.close()
		})
	}
}
