package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A client without forms is never sent a question as a permission, which it may
// give by itself: the question ends the turn, before anything else happens, and the
// next message answers it.
func TestACPQuestionsAreNotPermissions(t *testing.T) {
	needClients(t)
	p := newPlace(t)
	c := p.acpClient(t, object{}, true)
	id := c.session()
	if stop := c.prompt(id, "ask May I make made.txt? then write made.txt: made"); stop != "end_turn" {
		t.Errorf("the turn ended with %s", stop)
	}
	if len(c.asked) > 0 {
		t.Errorf("the client was asked: %q", c.asked)
	}
	if said := c.said(id); !strings.HasSuffix(said, "May I make made.txt?") {
		t.Errorf("the turn's last words: %q", said)
	}
	made := filepath.Join(c.work, "made.txt")
	if _, err := os.Stat(made); err == nil {
		t.Error("the turn went on without the answer")
	}
	c.prompt(id, "write made.txt: made")
	if _, err := os.Stat(made); err != nil {
		t.Errorf("the next turn: %v", err)
	}
	c.valid()
}
