package policy

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"dragoman/core/fileuri"
	"dragoman/core/glob"
)

const (
	maxArguments = 1000 // texts in the arguments of a call that are looked at
	maxDeep      = 32   // lists and objects inside one another
)

// arguments are the paths and addresses in the arguments of a tool of another's. Which of them the
// tool touches is not known, so they count for rules that deny or ask, and never for those that
// allow.
type arguments struct {
	line      // its paths
	addresses []string
	names     []string // that may be those of hosts
}

// readArguments finds what may be a path or an address in the arguments of a call.
func readArguments(raw json.RawMessage, at place) *arguments {
	a := &arguments{}
	var v any
	if len(raw) == 0 || string(raw) == "{}" {
		return a
	}
	if json.Unmarshal(raw, &v) != nil {
		a.full = true
		return a
	}
	o := locator{place: at, line: &a.line, dirs: append([]string{at.dir}, at.roots...), seen: map[string]bool{}}
	left := maxArguments
	var walk func(v any, deep int)
	walk = func(v any, deep int) {
		if deep > maxDeep || left == 0 {
			a.full = true
			return
		}
		switch v := v.(type) {
		case string:
			left--
			a.read(v, &o)
		case []any:
			for _, inner := range v {
				walk(inner, deep+1)
			}
		case map[string]any:
			for _, inner := range v {
				walk(inner, deep+1)
			}
		}
	}
	walk(v, 0)
	return a
}

// read looks at one text. One of several lines is neither a path nor an address.
func (a *arguments) read(text string, o *locator) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxPath || strings.ContainsAny(text, "\n\r") {
		return
	}
	if len(text) > 5 && strings.EqualFold(text[:5], "file:") {
		if p, err := fileuri.Path(text); err == nil {
			text = p
		}
	} else if strings.Contains(text, "://") {
		a.addresses = append(a.addresses, text)
		return
	} else if strings.Contains(text, ".") && !strings.Contains(text, " ") {
		a.names = append(a.names, text)
	}
	o.add(text, glob.Wild(text), o.dirs)
}

// touchesPath reports whether one of the texts may be a path of a deny or ask rule. One with wildcards
// may only touch it; see rule.mayTouch.
func (a *arguments) touchesPath(r rule) bool {
	return slices.ContainsFunc(a.paths, func(m mention) bool { return r.path.Matches(m.folded) })
}

// touchesURL reports whether one of the texts may be an address of a deny or ask rule.
func (a *arguments) touchesURL(r rule) bool {
	for _, text := range a.addresses {
		if r.url.mentions(text) {
			return true
		}
	}
	if r.url.host == "*" {
		return false // then every name would be a host
	}
	for _, text := range a.names {
		if u, err := url.Parse("https://" + text); err == nil && u.Host != "" && r.url.mentions(u.String()) {
			return true
		}
	}
	return false
}
