package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core/child/piped"
)

// chainVar lists what has started each other's programs, down to this process: configurations, with
// their MCP servers, and agents of configurations. A configuration can name dragoman itself as either.
const chainVar = piped.ChainVar

// maxChain limits their number.
const maxChain = 4

// chain returns the links that lead to us, and the next one: our configuration, or an agent of it.
func (e *Environment) chain(agent string) (before []string, ours string) {
	if s := e.Getenv(chainVar); s != "" {
		before = strings.Split(s, ",")
	}
	path := e.ConfigFile()
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		path = abs
	}
	if agent != "" {
		path += "\x00" + agent
	}
	sum := sha256.Sum256([]byte(path))
	return before, hex.EncodeToString(sum[:6])
}

// InCircle reports whether offering our MCP servers would close a circle.
func (e *Environment) InCircle() bool {
	before, ours := e.chain("")
	return len(before) >= maxChain || slices.Contains(before, ours)
}

// MayStart returns an error if starting an external agent would close a circle: its program is one
// of this program, at whatever distance, that would start it again.
func (e *Environment) MayStart(agent string) error {
	before, ours := e.chain(agent)
	switch {
	case slices.Contains(before, ours):
		return fmt.Errorf("agent %[1]s would start itself without end: this program was started by agent %[1]s of the same configuration; choose another agent here (--agent), or give its command another configuration (--config)", agent)
	case len(before) >= maxChain:
		return fmt.Errorf("agent %s is not started: %d gateways have started each other already", agent, len(before))
	}
	return nil
}

// Environ returns our environment for MCP servers: with us in the chain.
func (e *Environment) Environ() []string { return e.environ("") }

// AgentEnviron returns our environment for an external agent: with the agent in the chain.
func (e *Environment) AgentEnviron(agent string) []string { return e.environ(agent) }

func (e *Environment) environ(agent string) []string {
	before, ours := e.chain(agent)
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, chainVar+"=") })
	return append(env, chainVar+"="+strings.Join(append(before, ours), ","))
}
