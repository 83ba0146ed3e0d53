package display

import "strconv"

// Dollars formats an amount of money. Small ones count: two digits after the point, or as many
// more as are needed to show two that are not 0, at most six.
func Dollars(x float64) string {
	digits := 2
	for limit := 0.1; digits < 6 && x > 0 && x < limit; limit /= 10 {
		digits++
	}
	return "$" + strconv.FormatFloat(x, 'f', digits, 64)
}

// Number formats a number with a comma between thousands.
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
