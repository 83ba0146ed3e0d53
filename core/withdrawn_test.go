package core_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
)

// A queued prompt that was taken back never runs, also when the turn before it
// ends in the same moment: whichever goroutine comes first.
func TestWithdrawnPromptNeverRuns(t *testing.T) {
	for name, stop := range map[string]func(a *core.Attachment, cancels []context.CancelCauseFunc){
		"contexts": func(_ *core.Attachment, cancels []context.CancelCauseFunc) {
			for _, cancel := range slices.Backward(cancels) { // the last one first, for turns begin while we are at it
				cancel(core.ErrCanceled)
			}
		},
		"cancel": func(a *core.Attachment, _ []context.CancelCauseFunc) {
			if err := a.Cancel(context.Background(), "", nil); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 300 {
				synctest.Test(t, func(t *testing.T) { withdraw(t, stop) })
			}
		})
	}
}

func withdraw(t *testing.T, stop func(*core.Attachment, []context.CancelCauseFunc)) {
	g, a := open(t, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		if turn.Prompt()[0] == (core.Text{Text: "hang"}) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return echo(ctx, turn)
	}, nil)
	defer closeGateway(t, g)
	var cancels []context.CancelCauseFunc
	var last core.TurnID
	for _, text := range []string{"hang", "never", "never"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancels = append(cancels, cancel)
		id, err := a.Prompt(ctx, say(text))
		if err != nil {
			t.Fatal(err)
		}
		last = id
	}
	stop(a, cancels)
	after := prompt(t, a, say("after"))
	r := a.Read(core.Pos{})
	defer r.Close()
	lines := strings.Join(follow(t, r, after), "\n")
	if strings.Contains(lines, "TextDelta never") {
		t.Errorf("turn %s was stopped before it began, and ran:\n%s", last, lines)
	}
	if !strings.Contains(lines, "TextDelta after") || strings.Count(lines, "TurnEnded cancelled") != 3 {
		t.Errorf("three turns were to be stopped, and the fourth to run:\n%s", lines)
	}
	for _, cancel := range cancels {
		cancel(nil)
	}
}
