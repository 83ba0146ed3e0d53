package eca

import (
	"testing"

	"dragoman/core/board"
)

// A server that wants a login says so in the word of today's documents. The early ones
// have none for it.
func TestServerThatWantsALogin(t *testing.T) {
	item := board.Server{Name: "up", Status: "requires-auth", Why: "it requires a login"}
	for d, want := range map[Dialect]string{Now: "requires-auth", Doc000: "failed", Doc001: "failed"} {
		p := serverUpdated(item, d)
		if p.Status != want || d == Now && (p.HasAuth == nil || *p.HasAuth) {
			t.Errorf("%v: %+v", d, p)
		}
	}
	if p := serverUpdated(board.Server{Name: "up", Status: "running", LoggedIn: true}, Now); p.HasAuth == nil || !*p.HasAuth {
		t.Errorf("%+v", p)
	}
}
