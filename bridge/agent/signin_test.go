package agent

import (
	"path/filepath"
	"testing"

	"dragoman/bridge/agent/agenttest"
)

// The ways to sign in to an agent that has not run are asked of a program that is ended again, and
// so is a sign-in.
func TestSignInToAnAgentThatDoesNotRun(t *testing.T) {
	record, login := filepath.Join(t.TempDir(), "record"), filepath.Join(t.TempDir(), "login")
	o := scripted(t, agenttest.Options{Record: record, Login: login, Auth: []agenttest.AuthMethod{{ID: "key", Name: "API key"}, {ID: "tui", Type: "terminal"}}})
	o.Pool = NewPool()
	b := New(o)
	if _, _, known := b.SignIns(); known {
		t.Error("the ways are known of an agent that never ran")
	}
	list, err := b.AskSignIns(t.Context())
	if err != nil || len(list) != 2 || list[0].ID != "key" || list[0].Terminal || !list[1].Terminal {
		t.Errorf("%+v, %v", list, err)
	}
	ended(t, record)
	if err := b.Authenticate(t.Context(), "tui", nil); err == nil {
		t.Error("a method for a terminal was carried out here")
	}
	if err := b.Authenticate(t.Context(), "key", nil); err != nil {
		t.Error(err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
