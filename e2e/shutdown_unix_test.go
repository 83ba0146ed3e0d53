//go:build unix

package e2e

import (
	"strings"
	"testing"
)

// An ECA client kills the server as soon as it has the answer to shutdown. All is
// stored by then, as stopped by the user, and no command of the agent's is left.
func TestKilledBehindShutdown(t *testing.T) {
	t.Parallel()
	for _, act := range activities {
		if strings.Contains(act.name, "stubborn") {
			continue // it has two seconds, and the client does not wait for that
		}
		t.Run(act.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			a := p.alive(t)
			e := p.edit(t, ecaDialect(), launch{})
			id := e.begin()
			act.play(e, id, a)
			m := e.ask("shutdown", nil)
			e.kill()
			if m.Error != nil || string(m.Result) != "null" {
				t.Errorf("the answer to shutdown: %s, %v", m.Result, m.Error)
			}
			e.left(patience)
			a.gone()
			next := p.edit(t, ecaDialect(), launch{})
			facts := strings.Join(next.load(id).facts, "\n")
			if stopped := strings.Contains(facts, "Prompt stopped"); strings.Contains(facts, "interrupted") || stopped != (act.name != "idle") {
				t.Errorf("afterwards the client is shown:\n%.2000s", facts)
			}
			next.leave()
		})
	}
}

// After shutdown and exit the exit code is 0; without shutdown it is 1.
func TestExitCodeECA(t *testing.T) {
	t.Parallel()
	for _, shutdown := range []bool{true, false} {
		e := newPlace(t).edit(t, ecaDialect(), launch{})
		want := 1
		if shutdown {
			e.ask("shutdown", nil)
			want = 0
		}
		e.send(notification("exit", nil))
		e.drain()
		if code := e.left(patience); code != want {
			t.Errorf("shutdown %t: exit code %d:\n%s", shutdown, code, e.stderr())
		}
	}
}
