package configs

import "strings"

// Suggest returns the candidate that a mistyped word most likely means, or "".
func Suggest(word string, candidates []string) string {
	if len(word) > 64 {
		return ""
	}
	best, least := "", 0
	for _, c := range candidates {
		if fold(word) == fold(c) {
			return c
		}
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if d <= max(1, len(c)/3) && d < len(c) && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}

// DidYouMean returns a clause for the end of a message about a mistyped word, or "".
func DidYouMean(word string, candidates []string) string {
	if s := Suggest(word, candidates); s != "" {
		return "; did you mean " + quote(s) + "?"
	}
	return ""
}

// fold makes the usual spellings of one name equal: apiKey, api-key, API_KEY.
func fold(s string) string { return separators.Replace(strings.ToLower(s)) }

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between a and b.
func distance(a, b string) int {
	var older []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, last = last, row
	}
	return last[len(b)]
}

// oneOf lists words for a message: "a", "a or b", "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " or " + words[n]
}
