package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// sample collects the measurements of one figure.
type sample []float64

func (s *sample) took(d time.Duration) { *s = append(*s, float64(d)/float64(time.Millisecond)) }

// part returns the value below which a part of the sample lies: 0 is the least, 0.5 the median. NaN-free:
// an empty sample is zero.
func (s sample) part(p float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

func (s sample) least() float64  { return s.part(0) }
func (s sample) median() float64 { return s.part(0.5) }

// number shows three digits; zero is what was not measured.
func number(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// times shows a ratio.
func times(v, to float64) string {
	if v == 0 || to == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ×", v/to)
}

// both shows the least and the median.
func (s sample) both() string { return number(s.least()) + " / " + number(s.median()) }

// heading begins the text of a part.
func (b *bench) heading(title, method string) {
	fmt.Fprintf(&b.report, "\n## %s\n\n%s\n", title, method)
}

// table adds a table; the first row is its head.
func (b *bench) table(rows ...[]string) {
	b.report.WriteByte('\n')
	for i, r := range rows {
		fmt.Fprintf(&b.report, "| %s |\n", strings.Join(r, " | "))
		if i == 0 {
			b.report.WriteString(strings.Repeat("|---", len(r)) + "|\n")
		}
	}
}

func row(cells ...string) []string { return cells }
