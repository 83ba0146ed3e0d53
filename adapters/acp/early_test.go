package acp_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The members in the document of August 2025 are in the answers to its clients, with its types;
// its library skips additional ones.
func TestEarlyMembers(t *testing.T) {
	data, err := os.ReadFile("testdata/early.txtar")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]json.RawMessage{}
	for line := range strings.Lines(string(data)) {
		var m struct{ ID, Result json.RawMessage }
		if rest, ok := strings.CutPrefix(line, "<- "); ok && json.Unmarshal([]byte(rest), &m) == nil && m.ID != nil {
			answers[string(m.ID)] = m.Result
		}
	}
	var hello struct {
		ProtocolVersion   *uint16
		AgentCapabilities *struct{ LoadSession *bool }
		AuthMethods       []struct{ ID, Name string }
	}
	if err := json.Unmarshal(answers["0"], &hello); err != nil || hello.ProtocolVersion == nil || *hello.ProtocolVersion != 1 ||
		hello.AgentCapabilities == nil || hello.AgentCapabilities.LoadSession == nil || !*hello.AgentCapabilities.LoadSession || hello.AuthMethods == nil {
		t.Errorf("initialize: %s, %v", answers["0"], err)
	}
	var made struct{ SessionID string }
	if err := json.Unmarshal(answers["2"], &made); err != nil || made.SessionID == "" {
		t.Errorf("session/new: %s, %v", answers["2"], err)
	}
	for id, want := range map[string]string{
		"1": "null", "3": `{"stopReason":"max_tokens"}`, "4": `{"stopReason":"end_turn"}`, "5": `{"stopReason":"cancelled"}`, "6": "null",
	} {
		if got := string(answers[id]); got != want {
			t.Errorf("answer %s is %s, want %s", id, got, want)
		}
	}
}
