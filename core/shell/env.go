package shell

import (
	"slices"
	"strings"

	"dragoman/core/child"
)

// Env returns the environment of a command: the variables that every program
// gets from ours, those that keep names, and, unless keep names them, variables that
// stop programs from waiting for a key.
func Env(env, keep []string) []string {
	out := child.Environ(env, keep)
	for _, kv := range Quiet() {
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

// Quiet returns variables that switch off colours, pagers and questions.
func Quiet() []string {
	return []string{"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GIT_TERMINAL_PROMPT=0"}
}
