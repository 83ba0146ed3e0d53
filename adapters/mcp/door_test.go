package mcp

import (
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// Clients of 2026-07-28 never say that they leave: those that are silent are given up, and what they held, unless a turn
// runs in it or somebody must decide something.
func TestSilentClientsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := coretest.Gateway(coretest.NewMemory(), nil, coretest.Always(core.Verdict{Effect: core.Allow}))
		d := New(Options{Gateway: g}).newDoor(core.Local)
		s, err := g.Create(t.Context(), core.Meta{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		old := d.named("old")
		h := &held{id: s.Meta().ID, a: s.Attach(core.Client{Name: "old"}), used: time.Now()}
		old.held[h.id] = h
		busy := d.named("busy")
		busy.calls = 1
		<-time.After(heldIdle - time.Minute)
		if d.named("old") != old {
			t.Error("a client that is there was given up")
		}
		<-time.After(heldIdle + time.Minute)
		d.named("new")
		if len(d.names) != 2 || d.names["busy"] != busy || len(old.held) != 0 || !old.left {
			t.Errorf("%d clients; the old one holds %d sessions and has left: %v", len(d.names), len(old.held), old.left)
		}
		if d.named("old") == old {
			t.Error("a client that was given up is there again")
		}
		d.shut()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
