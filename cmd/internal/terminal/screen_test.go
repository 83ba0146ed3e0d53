package terminal

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"dragoman/core"
)

// A wait because of a failing service is not called a limit, and is shown in whole seconds.
func TestRetriesAreReportedPlainly(t *testing.T) {
	var b strings.Builder
	s := &screen{w: bufio.NewWriter(&b)}
	s.record(core.Record{Event: core.Phase{Kind: core.PhaseRetrying, After: 310605137}})
	s.record(core.Record{Event: core.Phase{Kind: core.PhaseRetrying, After: 2*time.Second + 1}})
	if s.flush(); b.String() != "waiting for the model's service; next try in 1s\nwaiting for the model's service; next try in 2s\n" {
		t.Errorf("%s", &b)
	}
}

// A wait for servers is said in words.
func TestStartsOfServersAreReported(t *testing.T) {
	var b strings.Builder
	s := &screen{w: bufio.NewWriter(&b)}
	s.record(core.Record{Event: core.Phase{Kind: core.PhaseStarting, Tool: "files, wiki"}})
	if s.flush(); b.String() != "starting MCP servers: files, wiki\n" {
		t.Errorf("%s", &b)
	}
}

// An emoji is shown as one, even if its characters come one by one.
func TestStreamedEmojiIsWhole(t *testing.T) {
	var b strings.Builder
	s := &screen{w: bufio.NewWriter(&b), columns: func() int { return 80 }}
	for _, r := range "one 👩‍👩‍👧 two ❤️" {
		s.record(core.Record{Event: core.TextDelta{Message: "m", Text: string(r)}})
	}
	s.start()
	if s.flush(); b.String() != "one 👩‍👩‍👧 two ❤️\n" {
		t.Errorf("%q", b.String())
	}
}
