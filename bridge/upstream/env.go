package upstream

import (
	"runtime"
	"slices"
	"strings"

	"dragoman/core/child"
)

// chainName is the variable by which gateways notice that they start each other.
const chainName = "DRAGOMAN_CHAIN"

// proxyNames are the variables that a server gets including the password, because without it the
// server could not use the network through such a proxy.
var proxyNames = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// childEnv returns the environment of a server: the part of ours that every program gets, and the
// server's own variables, in a fixed order.
func childEnv(ours []string, given map[string]string) []string {
	env := slices.DeleteFunc(
		child.Environ(ours, append([]string{chainName}, proxyNames...)),
		func(kv string) bool {
			name, _, _ := strings.Cut(kv, "=")
			_, replaced := given[name]
			return replaced
		},
	)
	for name, value := range given {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// lookup finds a variable; the last one of that name counts.
func lookup(env []string, name string) (value string) {
	for _, kv := range env {
		n, v, _ := strings.Cut(kv, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}
