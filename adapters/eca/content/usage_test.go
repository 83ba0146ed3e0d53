package content

import "testing"

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
