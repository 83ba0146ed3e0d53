package acp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// A session that could not be deleted stays on the connection.
func TestASessionThatIsNotDeletedStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := coretest.NewMemory()
		store.Before = func(_ context.Context, op string, _ core.SessionID) error {
			if op == "delete" {
				return errors.New("it is in use by another process")
			}
			return nil
		}
		g := newGateway(store, nil, false)
		peer, stop := serve(t, g)
		newSession(t, peer)
		if err := peer.Send(`{"jsonrpc":"2.0","id":7,"method":"session/delete","params":{"sessionId":"s1"}}`); err != nil {
			t.Fatal(err)
		}
		if m := peer.Until(t, `"id":7`); !strings.Contains(m, "in use by another process") {
			t.Errorf("delete: %s", m)
		}
		if err := peer.Send(promptLine(8, "say hello")); err != nil {
			t.Fatal(err)
		}
		if m := peer.Until(t, `"id":8`); !strings.Contains(m, "end_turn") {
			t.Errorf("prompt: %s", m)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
