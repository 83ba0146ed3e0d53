package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// chainVar holds which configurations have started each other's MCP servers, down to
// this process: a configuration can name dragoman itself as one.
const chainVar = "DRAGOMAN_CHAIN"

// maxChain is how many may.
const maxChain = 4

// chain is the configurations that have started us, and ours.
func (a *app) chain() (before []string, ours string) {
	if s := a.getenv(chainVar); s != "" {
		before = strings.Split(s, ",")
	}
	path := a.configFile()
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	return before, hex.EncodeToString(sum[:6])
}

// inCircle reports whether handing on our MCP servers would go round in a circle.
func (a *app) inCircle() bool {
	before, ours := a.chain()
	return len(before) >= maxChain || slices.Contains(before, ours)
}

// environ is our environment, for MCP servers: with us in the chain.
func (a *app) environ() []string {
	before, ours := a.chain()
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, chainVar+"=") })
	return append(env, chainVar+"="+strings.Join(append(before, ours), ","))
}
