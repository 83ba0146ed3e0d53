package tools

import (
	"slices"
	"strings"

	"dragoman/core/child"
)

// childEnv is the environment of a command: what every program gets of ours, what
// keep names, and, where it does not, what keeps programs from waiting for a key.
func childEnv(env, keep []string) []string {
	out := child.Environ(env, keep)
	for _, kv := range quietly() {
		name, _, _ := strings.Cut(kv, "=")
		is := func(has string) bool {
			n, _, _ := strings.Cut(has, "=")
			return child.Named([]string{name}, n)
		}
		if child.Named(keep, name) && slices.ContainsFunc(out, is) {
			continue
		}
		out = append(slices.DeleteFunc(out, is), kv)
	}
	return out
}

// quietly keeps programs from colours, pagers and questions.
func quietly() []string {
	return []string{"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GIT_TERMINAL_PROMPT=0"}
}
