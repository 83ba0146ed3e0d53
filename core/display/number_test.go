package display

import "testing"

func TestDollarsAndNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "$0.00", 12.345: "$12.35", 0.25: "$0.25", 0.0421: "$0.042", 0.00123: "$0.0012", 1e-9: "$0.000000"} {
		if got := Dollars(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
