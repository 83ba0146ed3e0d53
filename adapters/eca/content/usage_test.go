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

// The tokens of the session are those of all requests, or, of an agent that counts none, those in its
// window.
func TestSessionTokens(t *testing.T) {
	for _, test := range []struct {
		usage core.UsageChanged
		want  int
	}{
		{core.UsageChanged{Total: core.Usage{In: 10, Out: 2}, Context: 5, Window: 100}, 12},
		{core.UsageChanged{Context: 5, Window: 100}, 5},
	} {
		if got := Usage(test.usage, 0, true).SessionTokens; got != test.want {
			t.Errorf("%+v: got %d, want %d", test.usage, got, test.want)
		}
	}
}
