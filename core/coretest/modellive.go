package coretest

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/inference"
)

// ModelLive is the part of the suite that needs neither a clock nor a connection that
// breaks on demand: for a service outside of the process. It runs the cases that open
// does not skip. open makes a model whose service behaves as the case describes, and
// stops in t.Cleanup everything that it starts. The service learns case and kind from
// the model's name; for ModelEndless it says some thousand words, for ModelRateLimit
// it asks for a second, and for ModelReset it says some of the alphabet.
func ModelLive(t *testing.T, open func(t *testing.T, c ModelCase) inference.Model) {
	for _, c := range modelCases {
		check := c.check
		switch c.does {
		case ModelMute, ModelLongWait, ModelDown, ModelSlow, ModelStalls: // they depend on time
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

// checkCancels is checkEndless for services that may send more before a cancel takes
// effect.
func checkCancels(t *testing.T, m inference.Model) {
	stopAnywhere(t, m, func(int, int) bool { return true })
}

// checkBroken is checkTruncated for connections that break at any point. On a busy
// machine the break may lose all data before it: then the request is repeated.
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

// checkWaits is checkRateLimit with a real clock.
func checkWaits(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	wantEqual(t, "text", h.Text, "Hello, world.")
	if len(h.Retries) != 1 || h.Retries[0] != time.Second {
		t.Errorf("retries %v, want 1s", h.Retries)
	}
}
