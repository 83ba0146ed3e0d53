package main

import (
	"regexp"
	"strings"
	"testing"
)

// An MCP client's model may allow the calls that the configuration admits: by default soft asks,
// and over HTTP nothing. It may never allow a call that only a person may allow.
func TestModelAnswers(t *testing.T) {
	ids := regexp.MustCompile(`"session_id":"([^"]+)".*"approval_id":"([^"]+)"`)
	for configured, allowed := range map[string]bool{"{}": false, "{model_answers: soft}": true} {
		p := newPlace(t)
		p.config(t, "model: offline/demo\nmcp: "+configured+"\n")
		post := posting(t, p)
		_, session, _ := post("", "", relayHello)
		post("", session, relayReady)
		for command, soft := range map[string]bool{"echo hello": true, "echo x > .git/hooks/pre-commit": false} {
			_, _, text := post("", session, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"agent_prompt","arguments":{"prompt":"run `+command+`"}}}`)
			m := ids.FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("no approval: %s", text)
			}
			_, _, text = post("", session, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"agent_approve","arguments":{"session_id":"`+m[1]+`","approval_id":"`+m[2]+`","decision":"allow_once"}}}`)
			if got := !strings.Contains(text, `"isError":true`); got != (allowed && soft) {
				t.Errorf("mcp: %s, %s: %s", configured, command, text)
			}
		}
	}
}
