package coretest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/inference"
)

// ModelLive is the part of the suite that needs neither a clock nor a wire that
// breaks to order: for a service outside of the process. It runs the cases that open
// does not skip. open makes a model whose service does what the case says and ends
// in t.Cleanup what it starts. The service is told case and kind by the model's name;
// of ModelEndless it sends some thousand words, of ModelRateLimit it asks for a
// second, and of ModelReset it says some of the alphabet.
func ModelLive(t *testing.T, open func(t *testing.T, c ModelCase) inference.Model) {
	for _, c := range modelCases {
		check := c.check
		switch c.does {
		case ModelMute, ModelLongWait, ModelDown, ModelSlow, ModelStalls: // they are about time
			continue
		case ModelEndless:
			check = checkCancels
		case ModelRateLimit:
			check = checkWaits
		case ModelReset:
			check = checkBroken
		case ModelText, ModelThought, ModelCall, ModelParallel, ModelBadArgs, ModelFlaky, ModelCut, ModelReports, ModelLongLine,
			ModelImage, ModelCached, ModelOverflow, ModelNoKey:
		}
		t.Run(string(c.does), func(t *testing.T) {
			before := runtime.NumGoroutine()
			t.Run("answers", func(t *testing.T) { check(t, open(t, c.does)) })
			for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatalf("%d goroutines, there were %d", runtime.NumGoroutine(), before)
				}
			}
		})
	}
}

// checkCancels stops a long answer at 40 places and leaves as many.
func checkCancels(t *testing.T, m inference.Model) {
	for i := range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		h := Hear(ctx, t, m, ModelRequest(), func(inference.Delta) bool {
			if n++; n > i {
				cancel()
			}
			return true
		})
		cancel()
		if !errors.Is(h.Err, context.Canceled) || h.Stop != "" {
			t.Fatalf("cancel %d: stop %q, error %v, %d deltas", i, h.Stop, h.Err, n)
		}
		n = 0
		Hear(t.Context(), t, m, ModelRequest(), func(inference.Delta) bool { n++; return n <= i })
	}
}

// checkBroken is checkTruncated where the break comes at any place. On a busy machine
// it may take all that was sent with it: then the request is repeated.
func checkBroken(t *testing.T, m inference.Model) {
	h := hear(t, m)
	if len(h.Retries) > 0 {
		wantEnd(t, h, core.StopEnd)
		wantEqual(t, "text", h.Text, "Hello, world.")
		return
	}
	wantKind(t, h, inference.ErrTruncated)
	if h.Text == "" || !strings.HasPrefix("abcdefghijklmnopqrstuvwxyz", h.Text) {
		t.Errorf("text %q", h.Text)
	}
}

// checkWaits is checkRateLimit for a clock that others share.
func checkWaits(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	wantEqual(t, "text", h.Text, "Hello, world.")
	if len(h.Retries) != 1 || h.Retries[0] != time.Second {
		t.Errorf("retries %v, want 1s", h.Retries)
	}
}
