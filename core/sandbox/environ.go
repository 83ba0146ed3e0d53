package sandbox

import (
	"slices"
	"strings"
)

// changed returns an environment with the changes of a profile.
func changed(env, changes []string) []string {
	out := slices.Clone(env)
	for _, c := range changes {
		name, _, given := strings.Cut(c, "=")
		out = slices.DeleteFunc(out, func(kv string) bool {
			has, _, _ := strings.Cut(kv, "=")
			return has == name
		})
		if given {
			out = append(out, c)
		}
	}
	return out
}
