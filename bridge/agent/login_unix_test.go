//go:build unix

package agent_test

import (
	"testing"

	"dragoman/adapters/proto/acp"
	"dragoman/bridge/agent/agenttest"
	"dragoman/core/child/childtest"
)

// What the agent says by itself about its login is known, and its sessions' clients can hear of it.
func TestLoginThatChangesByItself(t *testing.T) {
	c := one(t, agenttest.Options{Faults: map[string]string{"initialize": `result {"protocolVersion":1,"agentCapabilities":{}}`}}) // it cannot be asked
	b := backendOf(c)
	for _, test := range []struct{ method, state string }{{"auth/status_update", acp.Unauthenticated}, {"_auth/status_update", acp.Authenticated}} {
		c.says("notify "+test.method+` {"state":"`+test.state+`"}`, "")
		if !has(c.lines(), "core.Foreign {acp auth/status_update") {
			t.Errorf("%s: no word of it in %q", test.method, c.lines())
		}
		if is, err := b.SignInStatus(c.ctx); err != nil || is.State != test.state {
			t.Errorf("%s: %+v, %v", test.method, is, err)
		}
		wanted := test.state == acp.Unauthenticated
		childtest.Soon(t, "it is noted", func() bool { _, wants, _ := b.SignIns(); return wants == wanted })
	}
}
