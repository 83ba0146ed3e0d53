package login

import (
	"strings"
	"testing"
)

// The text of an authorization server is shown as one line without invisible characters.
func TestRefusalsAreOneVisibleLine(t *testing.T) {
	said := &refusal{"access_denied", "log\u200bin\u202e is\x1b[2J\n\n  over " + strings.Repeat("ä", 300)}
	want := "the authorization server says access_denied: log\uFFFDin\uFFFD is\uFFFD[2J over " + strings.Repeat("ä", 179) + "…"
	if got := said.Error(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
