package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/access"
	"dragoman/core/coretest"
)

// newTestDoor returns a door, and its gateway.
func newTestDoor(t *testing.T, run func(context.Context, *core.Turn) (core.StopReason, error)) (*HTTP, *door, *core.Gateway) {
	t.Helper()
	g := coretest.Gateway(coretest.NewMemory(), run, coretest.Always(core.Verdict{Effect: core.Allow}))
	h := New(Options{Gateway: g, Principal: core.Local, Cwd: t.TempDir()}).HTTP(func(*http.Request) access.Holder { return access.Owner(core.Local) })
	t.Cleanup(func() {
		h.Close()
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, h.door(access.Owner(core.Local)), g
}

// Clients of 2026-07-28 never announce that they leave. Silent ones are released with everything
// that they held, even if no other client comes.
func TestSilentClientsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d, g := newTestDoor(t, nil)
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		named := func(key string) *visit {
			v, err := d.named(key, r)
			if err != nil {
				t.Fatal(err)
			}
			v.place.Done()
			return v
		}
		old := named("old")
		h := &heldSession{id: s.Meta().ID, a: s.Attach(core.Client{Name: "old"}), used: time.Now()}
		old.client.held[h.id] = h
		busy := named("busy")
		busy.client.calls = 1
		<-time.After(guestIdle - time.Minute)
		if named("old") != old {
			t.Error("a client that is there was given up")
		}
		<-time.After(guestIdle + time.Minute)
		if guests, n, left := d.look(old.client); guests != 1 || named("busy") != busy || n != 0 || !left {
			t.Errorf("%d clients; the old one holds %d sessions and has left: %v", guests, n, left)
		}
		if named("old") == old {
			t.Error("a client that was given up is there again")
		}
	})
}
