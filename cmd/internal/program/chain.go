package program

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core/child/piped"
)

// chainVar lists the configurations that have started each other's MCP servers, down to this
// process: a configuration can name dragoman itself as one.
const chainVar = piped.ChainVar

// maxChain limits their number.
const maxChain = 4

// chain returns the configurations that have started us, and ours.
func (e *Environment) chain() (before []string, ours string) {
	if s := e.Getenv(chainVar); s != "" {
		before = strings.Split(s, ",")
	}
	path := e.ConfigFile()
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	return before, hex.EncodeToString(sum[:6])
}

// InCircle reports whether offering our MCP servers would close a circle.
func (e *Environment) InCircle() bool {
	before, ours := e.chain()
	return len(before) >= maxChain || slices.Contains(before, ours)
}

// Environ returns our environment for MCP servers: with us in the chain.
func (e *Environment) Environ() []string {
	before, ours := e.chain()
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, chainVar+"=") })
	return append(env, chainVar+"="+strings.Join(append(before, ours), ","))
}
