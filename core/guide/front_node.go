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

// first is the first field of several names that says something.
func (n node) first(keys ...string) node {
	for _, k := range keys {
		if v, ok := n.get(k); ok && !v.empty() {
			return v
		}
	}
	return node{}
}

// empty tells nothing, null and ~ from values.
func (n node) empty() bool {
	return n.kind == textNode && (n.text == "" || n.text == "~" || n.text == "null")
}

// string is a scalar's text, "" for anything else.
func (n node) string() string {
	if n.kind != textNode || n.empty() {
		return ""
	}
	return n.text
}

// bool reads a scalar as a choice; otherwise is what it is where nothing is said.
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

// strings are a list's scalars, or a scalar alone.
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

// words is strings where a scalar may hold several, with commas between them.
// Commas in brackets part nothing.
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
