package piped

import (
	"slices"
	"strings"

	"dragoman/core/child"
)

// ChainVar is the variable by which gateways notice that they start each other, directly or
// through programs between them.
const ChainVar = "DRAGOMAN_CHAIN"

// proxyNames are the variables that a program gets including the password, because without it the
// program could not use the network through such a proxy.
var proxyNames = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// Env returns the environment of a program: the part of ours that every program gets
// ([child.Safe]), the chain of gateways, our variables in more (a list like child.Safe), and the
// given ones, which replace ours, in a fixed order.
func Env(ours, more []string, given map[string]string) []string {
	env := slices.DeleteFunc(
		child.Environ(ours, slices.Concat([]string{ChainVar}, proxyNames, more)),
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
