package mcp_test

import (
	"context"
	"testing"
	"testing/synctest"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
)

// A client that hangs up while its user is asked has decided nothing: the question waits for
// another answer. The same hang-up ends the question and its call, in any order.
func TestElicitationClientHangsUp(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway(coretest.NewMemory(), 0, nil)
			p, stop := serve(t, mcp.Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()})
			id := prompted(t, g, p, "elicitation", "write a.txt")
			s, err := g.Open(t.Context(), core.Local, core.SessionID(id))
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "somebody else", Asks: true})
			stop()
			synctest.Wait()
			if n := len(a.Pending()); n != 1 {
				t.Errorf("%d approvals wait, and the session is at %+v", n, a.State())
			}
			a.Close()
			if err := g.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
