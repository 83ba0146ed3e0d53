package tools

import (
	"slices"
	"strings"

	"dragoman/core/child"
)

// childEnv returns the environment of a command: the variables that every program
// gets from ours, those that keep names, and, unless keep names them, variables that
// stop programs from waiting for a key.
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

// quietly returns variables that switch off colours, pagers and questions.
func quietly() []string {
	return []string{"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GIT_TERMINAL_PROMPT=0"}
}
