package glob

import "strings"

// Alternatives expands the braces of a word of the shell: a{b,c} is ab and ac. Other wildcards stay.
// ok is false if there are more than most, or may be. A sequence such as {1..9} stands for *.
func Alternatives(word string, most int) (list []string, ok bool) {
	found := map[string]bool{word: true}
	for todo := []string{word}; len(todo) > 0; {
		w := todo[0]
		todo = todo[1:]
		before, choices, after, braces := innermost(w)
		if !braces {
			list = append(list, w)
			continue
		}
		for _, c := range choices {
			if next := before + c + after; !found[next] {
				found[next] = true
				todo = append(todo, next)
			}
		}
		if len(list)+len(todo) > most {
			return nil, false
		}
	}
	return list, true
}

// innermost splits a word at a pair of braces that has none inside it.
func innermost(w string) (before string, choices []string, after string, ok bool) {
	end := strings.IndexByte(w, '}')
	if end < 0 {
		return w, nil, "", false
	}
	start := strings.LastIndexByte(w[:end], '{')
	if start < 0 {
		return w, nil, "", false
	}
	inner := w[start+1 : end]
	if !strings.Contains(inner, ",") && strings.Contains(inner, "..") {
		inner = "*"
	}
	return w[:start], strings.Split(inner, ","), w[end+1:], true
}
