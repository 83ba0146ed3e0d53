package toolsearch

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"dragoman/core/inference"
)

// The weights of a word, by its place.
const (
	inName        = 4.0
	inArguments   = 1.0
	inDescription = 1.0
)

// rank lists the tools that have at least one of the query's words, the best first:
// those that have more of them, in their names, and words that few others have. Filler
// words count only if there are no others.
func rank(list []inference.ToolSpec, query string) []inference.ToolSpec {
	terms := tokens(query)
	if said := slices.DeleteFunc(slices.Clone(terms), isFiller); len(said) > 0 {
		terms = said
	}
	weights := make([]map[string]float64, len(list))
	having := map[string]int{} // the number of tools that have a word
	for i, t := range list {
		w := map[string]float64{}
		add := func(text string, weight float64) {
			for _, word := range tokens(text) {
				for _, term := range terms {
					if alike(word, term) {
						w[term] = max(w[term], weight)
					}
				}
			}
		}
		add(t.Name, inName)
		add(t.Description, inDescription)
		for _, name := range argumentNames(t.Schema) {
			add(name, inArguments)
		}
		for term := range w {
			having[term]++
		}
		weights[i] = w
	}
	type scored struct {
		tool  inference.ToolSpec
		score float64
	}
	var found []scored
	for i, w := range weights {
		score := 0.0
		for _, term := range terms { // in their order: sums must not depend on the order of a map
			score += w[term] * math.Log(1+float64(len(list))/float64(max(having[term], 1)))
		}
		if score > 0 {
			found = append(found, scored{list[i], score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	tools := make([]inference.ToolSpec, len(found))
	for i, f := range found {
		tools[i] = f.tool
	}
	return tools
}

// argumentNames lists the names of a tool's arguments.
func argumentNames(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s) // without a valid schema there are none
	return slices.Collect(maps.Keys(s.Properties))
}

// alike reports whether two words differ only in their ends: issue and issues, create
// and creates.
func alike(a, b string) bool {
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	return short == long || len(short) >= 3 && len(long)-len(short) <= 3 && strings.HasPrefix(long, short)
}

// tokens returns the words of a text in lower case. The parts of names are words, in
// snake_case and in camelCase.
func tokens(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	lower := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if unicode.IsUpper(r) && lower {
			end()
		}
		lower = unicode.IsLower(r)
		word = append(word, r)
	}
	end()
	return words
}

// isFiller reports whether a word has no meaning for a tool's purpose.
func isFiller(word string) bool {
	switch word {
	case "a", "an", "the", "and", "or", "to", "of", "for", "in", "on", "at", "by", "with", "from", "is", "it", "that", "this", "all", "tool", "tools":
		return true
	}
	return false
}
