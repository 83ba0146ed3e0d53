package aggregate

import (
	"testing"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
	"dragoman/core/board"
)

// The board shows that a server runs while a client uses it, and that it does not any more.
func TestTheBoardShowsTheServersOfClients(t *testing.T) {
	t.Parallel()
	b := board.New()
	awaits := func(status string) {
		t.Helper()
		ctx := bridgetest.Patient(t)
		for since := uint64(0); ; {
			item, _ := b.Get(board.Topic{Kind: "server", Name: "up"}).(board.Server)
			if item.Status == status {
				return
			}
			var err error
			if _, since, err = b.Next(ctx, since); err != nil {
				t.Fatalf("it never was %s, but %s", status, item.Status)
			}
		}
	}
	server := hosted(t, "up", bridgetest.SmallServer("up", "tool"), nil)
	cs := bridgetest.Connected(t, piped(t, aggregate(t, upstream.Options{Servers: []upstream.Server{server}, Board: b}, Options{})), proto.Legacy, nil)
	bridgetest.ToolNames(t, cs)
	awaits("running")
	cs.Close()
	awaits("stopped")
}
