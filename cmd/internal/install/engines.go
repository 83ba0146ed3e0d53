package install

import (
	"strconv"
	"strings"
)

// semver is a version of three numbers. What follows a - does not count: no release of Node has it.
type semver [3]int

// parseSemver reads a version, of which the last numbers may be missing or x. n is how many there are;
// ok is false if it is no version.
func parseSemver(text string) (v semver, n int, ok bool) {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "="), "v")
	text, _, _ = strings.Cut(text, "-")
	text, _, _ = strings.Cut(text, "+")
	parts := strings.Split(text, ".")
	if len(parts) > 3 {
		return v, 0, false
	}
	for i, p := range parts {
		if p == "x" || p == "X" || p == "*" {
			return v, i, true
		}
		number, err := strconv.Atoi(p)
		if err != nil || number < 0 {
			return v, 0, false
		}
		v[i], n = number, i+1
	}
	return v, n, true
}

func (v semver) compare(o semver) int {
	for i := range v {
		if v[i] != o[i] {
			if v[i] < o[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// after returns the first version that does not begin with the first n numbers of v.
func (v semver) after(n int) semver {
	var next semver
	copy(next[:n], v[:n])
	next[n-1]++
	return next
}

// satisfies reports whether a version is in a range as package.json has it in engines. known is false if
// the range is not understood.
func satisfies(version, ranges string) (fits, known bool) {
	v, n, ok := parseSemver(version)
	if !ok || n < 3 {
		return false, false
	}
	for _, alternative := range strings.Split(ranges, "||") {
		in, ok := v.in(strings.Fields(alternative))
		if !ok {
			return false, false
		}
		fits = fits || in
	}
	return fits, true
}

// in reports whether a version fulfils all comparisons.
func (v semver) in(words []string) (in, ok bool) {
	in = true
	for i := 0; i < len(words); i++ {
		word := words[i]
		if i+2 < len(words) && words[i+1] == "-" {
			words[i+2], word = "<="+words[i+2], ">="+word
			i++
		}
		op := word[:len(word)-len(strings.TrimLeft(word, "<>=^~"))]
		text := word[len(op):]
		if text == "" && i+1 < len(words) { // ">= 20"
			i++
			text = words[i]
		}
		low, n, valid := parseSemver(text)
		if !valid {
			return false, false
		}
		high, bounded := low.bound(op, n)
		var is bool
		switch op {
		case ">=":
			is = v.compare(low) >= 0
		case ">":
			if is = v.compare(low) > 0; n > 0 && n < 3 {
				is = v.compare(low.after(n)) >= 0
			}
		case "<":
			is = v.compare(low) < 0
		case "<=":
			if is = v.compare(low) <= 0; n > 0 && n < 3 {
				is = v.compare(low.after(n)) < 0
			}
		case "", "=", "^", "~", "~>":
			is = v.compare(low) >= 0 && (!bounded || v.compare(high) < 0)
		default:
			return false, false
		}
		in = in && is
	}
	return in, true
}

// bound returns the version below which ^, ~ and a version without a sign allow.
func (v semver) bound(op string, n int) (high semver, bounded bool) {
	switch {
	case n == 0:
		return high, false
	case op == "^":
		for i := range n {
			if v[i] != 0 {
				return v.after(i + 1), true
			}
		}
		return v.after(n), true
	case op == "~" || op == "~>":
		return v.after(min(n, 2)), true
	}
	return v.after(n), true
}
