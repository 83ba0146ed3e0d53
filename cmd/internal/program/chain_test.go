package program

import (
	"strings"
	"testing"
)

func TestMayStart(t *testing.T) {
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir()}
	e := &Environment{Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Flags: Flags{Config: "/a/one.yaml"}}
	chainOf := func(environ []string) string {
		last := environ[len(environ)-1]
		return strings.TrimPrefix(last, chainVar+"=")
	}
	if err := e.MayStart("x"); err != nil {
		t.Fatal(err)
	}
	env[chainVar] = chainOf(e.AgentEnviron("x"))
	if err := e.MayStart("x"); err == nil {
		t.Error("the agent may start itself")
	}
	if err := e.MayStart("y"); err != nil {
		t.Errorf("another agent: %v", err)
	}
	if e.InCircle() {
		t.Error("an agent's program cannot serve the configured MCP servers")
	}
	e.Flags.Config = "/a/two.yaml"
	if err := e.MayStart("x"); err != nil {
		t.Errorf("an agent of the same name of another configuration: %v", err)
	}
	env[chainVar] = "a,b,c,d"
	if err := e.MayStart("x"); err == nil || !strings.Contains(err.Error(), "4 gateways") {
		t.Errorf("after four: %v", err)
	}
}
