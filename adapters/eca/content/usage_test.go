package content

import (
	"testing"

	"dragoman/core"
)

func TestCostText(t *testing.T) {
	for cost, want := range map[float64]string{0: "0.00", 0.5: "0.50", 0.0125: "0.0125", 1.0 / 3: "0.333333", 12: "12.00", 1e-9: "0.00"} {
		if got := costText(&cost); got != want {
			t.Errorf("%v: got %q, want %q", cost, got, want)
		}
	}
	if got := costText(nil); got != "" {
		t.Errorf("unknown: %q", got)
	}
}

// The tokens that clients show beside the window are those that fill it, and those of the bar. In the
// early documents they are the session's, or, of an agent that counts none, those in its window.
func TestSessionTokensAreThoseInTheWindow(t *testing.T) {
	shares := []core.Share{{Part: "messages", Tokens: 5}}
	for _, test := range []struct {
		usage       core.UsageChanged
		want, early int
	}{
		{core.UsageChanged{Last: core.Usage{In: 4, Out: 1}, Total: core.Usage{In: 10, Out: 2}, Context: 5, Window: 100, Shares: shares}, 5, 12},
		{core.UsageChanged{Last: core.Usage{In: 4, Out: 1}, Total: core.Usage{In: 10, Out: 2}}, 5, 12},
		{core.UsageChanged{Context: 5, Window: 100}, 5, 5},
		{core.UsageChanged{}, 0, 0},
	} {
		now, early := Usage(test.usage, 0, false), Usage(test.usage, 0, true)
		if now.SessionTokens != test.want || early.SessionTokens != test.early {
			t.Errorf("%+v: got %d and, early, %d, want %d and %d", test.usage, now.SessionTokens, early.SessionTokens, test.want, test.early)
		}
		if b := now.ContextBreakdown; b != nil && b.UsedTokens != now.SessionTokens || early.ContextBreakdown != nil {
			t.Errorf("%+v: the bar is %+v, and, early, %+v", test.usage, b, early.ContextBreakdown)
		}
	}
}
