package guide

import (
	"strconv"
	"strings"
)

// get finds a field of a mapping.
func (n node) get(key string) (node, bool) {
	for _, f := range n.fields {
		if f.key == key {
			return f.value, true
		}
	}
	return node{}, false
}

// first returns the first field of several names that is not empty.
func (n node) first(keys ...string) node {
	for _, k := range keys {
		if v, ok := n.get(k); ok && !v.empty() {
			return v
		}
	}
	return node{}
}

// empty reports whether a value is missing, null or ~.
func (n node) empty() bool {
	return n.kind == textNode && (n.text == "" || n.text == "~" || n.text == "null")
}

// string returns a scalar's text, "" for anything else.
func (n node) string() string {
	if n.kind != textNode || n.empty() {
		return ""
	}
	return n.text
}

// bool returns a scalar as a boolean; otherwise is the default.
func (n node) bool(otherwise bool) bool {
	switch strings.ToLower(n.string()) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	return otherwise
}

func (n node) int() int {
	i, err := strconv.Atoi(n.string())
	if err != nil || i < 0 {
		return 0
	}
	return i
}

// strings returns a list's scalars, or a single scalar as a list.
func (n node) strings() []string {
	var list []string
	if s := n.string(); s != "" {
		list = append(list, s)
	}
	for _, v := range n.list {
		if s := strings.TrimSpace(v.string()); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// words is strings for scalars that may have several values, separated by commas.
// Commas in brackets do not separate.
func (n node) words() []string {
	if n.kind == listNode {
		return n.strings()
	}
	var list []string
	open, begin := 0, 0
	s := n.string()
	add := func(word string) {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	for i := range len(s) {
		switch s[i] {
		case '{', '[', '(':
			open++
		case '}', ']', ')':
			open--
		case ',':
			if open <= 0 {
				add(s[begin:i])
				begin = i + 1
			}
		}
	}
	add(s[begin:])
	return list
}
