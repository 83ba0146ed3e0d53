package eca

import (
	"testing"

	"dragoman/core/board"
)

// A server that requires a login reports that, and so does one that has a login.
func TestServerThatRequiresALogin(t *testing.T) {
	p := new(Server).serverUpdated(board.Server{Name: "up", Status: "requires-auth", Why: "it requires a login"})
	if p.Status != "requires-auth" || p.HasAuth == nil || *p.HasAuth {
		t.Errorf("%+v", p)
	}
	if p := new(Server).serverUpdated(board.Server{Name: "up", Status: "running", LoggedIn: true}); p.HasAuth == nil || !*p.HasAuth {
		t.Errorf("%+v", p)
	}
}
