package upstream

import (
	"runtime"
	"slices"
	"strings"

	"dragoman/core/child"
)

// chainName is the variable by which gateways that start each other notice that.
const chainName = "DRAGOMAN_CHAIN"

// proxyNames are the variables that a server gets with the password in them, since
// without it the server could not reach the network through such a proxy.
var proxyNames = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// childEnv is the environment of a server: what every program gets of ours, and what
// it is given, in a fixed order.
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

// lookup finds a variable; the last one of a name counts.
func lookup(env []string, name string) (value string) {
	for _, kv := range env {
		n, v, _ := strings.Cut(kv, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}
