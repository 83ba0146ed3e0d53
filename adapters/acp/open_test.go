package acp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

// The number of a client's open requests is limited, and the next one is refused at once.
func TestOpenRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := coretest.NewMemory(), make(chan struct{})
		store.Before = func(_ context.Context, op string, _ core.SessionID) error {
			if op == "create" {
				<-gate
			}
			return nil
		}
		g := coretest.Gateway(store, act, nil)
		peer, stop := serve(t, g)
		if err := peer.Send(hello); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, `"id":0`)
		for i := range 1024 {
			if err := peer.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := peer.Send(`{"jsonrpc":"2.0","id":"more","method":"session/list","params":{}}`); err != nil {
			t.Fatal(err)
		}
		if m, err := peer.Next(); err != nil || !strings.Contains(m, `"id":"more"`) || !strings.Contains(m, "more than 1024 requests are open") {
			t.Errorf("%s, %v", m, err)
		}
		close(gate)
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
