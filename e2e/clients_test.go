package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const reading = "read notes.txt then run echo from-the-shell"

// An editor that speaks ACP: it prompts, watches, approves, and gets the result.
func TestACP(t *testing.T) {
	p := newPlace(t)
	s := p.drive(t, "acp.mjs", "--permission", "allow_once", "--permission", "reject_once", "--prompt", reading, "--prompt", "run rm notes.txt", "--", "acp")
	stop := s.one("stop", 0)
	if got := get[string](stop, "stopReason"); got != "end_turn" {
		t.Errorf("stop reason %q", got)
	}
	wantText(t, "the answer", get[string](stop, "text"), "first note", "from-the-shell")
	if n := len(s.all("permission")); n != 2 {
		t.Errorf("%d permissions were asked, want 2 (reading is allowed, running asks):\n%s", n, s.tail())
	}
	if _, err := os.Stat(filepath.Join(p.work, "notes.txt")); err != nil {
		t.Errorf("a command that was rejected ran: %v", err)
	}
	wantText(t, "updates", s.raw("in"), `"sessionUpdate":"tool_call"`, `"status":"completed"`, `"status":"failed"`, `"kind":"execute"`)
}

func TestACPForTheSession(t *testing.T) {
	p := newPlace(t)
	s := p.drive(t, "acp.mjs", "--permission", "allow_always", "--prompt", "run echo one", "--prompt", "run echo two", "--", "acp")
	if n := len(s.all("permission")); n != 1 {
		t.Errorf("%d permissions were asked, want 1:\n%s", n, s.tail())
	}
	wantText(t, "the second answer", get[string](s.one("stop", 1), "text"), "two")
}

func TestACPCancel(t *testing.T) {
	p := newPlace(t)
	s := p.drive(t, "acp.mjs", "--cancel-on", "agent_message_chunk", "--prompt", "stream 100000000", "--", "acp")
	if got := get[string](s.one("stop", 0), "stopReason"); got != "cancelled" {
		t.Errorf("stop reason %q", got)
	}
	s = p.drive(t, "acp.mjs", "--permission", "hold", "--cancel-on", "request_permission", "--prompt", "run echo no", "--prompt", "think again", "--", "acp")
	if got := get[string](s.one("stop", 0), "stopReason"); got != "cancelled" {
		t.Errorf("with an open permission: stop reason %q", got)
	}
}

// Sessions survive the process: they are listed and loaded, with all that was said.
func TestACPReload(t *testing.T) {
	p := newPlace(t)
	s := p.drive(t, "acp.mjs", "--permission", "allow_once", "--prompt", "think hard then "+reading, "--", "acp")
	id := get[string](s.one("session", 0), "sessionId")
	s = p.drive(t, "acp.mjs", "--list", "--load", id, "--", "acp")
	wantText(t, "the list", string(s.one("list", 0).raw), id, "think hard then "+reading[:20], p.work)
	wantText(t, "the replay", s.raw("in"), "user_message_chunk", "agent_thought_chunk", "first note", "from-the-shell", `"sessionUpdate":"tool_call"`)
}

// Two sessions stream at once without mixing.
func TestACPParallel(t *testing.T) {
	p := newPlace(t)
	s := p.drive(t, "acp.mjs", "--parallel", "--prompt", "stream 3000 of 7", "--prompt", "stream 2000 of 13", "--", "acp")
	for i, want := range []int{3000 * 7, 2000 * 13} {
		found := false
		for _, stop := range s.all("stop") {
			found = found || strings.HasPrefix(get[string](stop, "text"), firstOf(get[string](stop, "text"))) && len(get[string](stop, "text")) >= want && len(get[string](stop, "text")) < want+2000
		}
		if !found {
			t.Errorf("no session got the %d characters of stream %d:\n%s", want, i, s.tail())
		}
	}
}

func firstOf(s string) string { return s[:min(len(s), 1)] }

// An editor that speaks ECA, in today's protocol and in both early ones.
func TestECA(t *testing.T) {
	for _, dialect := range []string{"now", "000", "001"} {
		t.Run(dialect, func(t *testing.T) {
			p := newPlace(t)
			s := p.drive(t, "eca.mjs", "--dialect", dialect, "--approval", "approve", "--approval", "reject",
				"--prompt", reading, "--prompt", "run rm notes.txt", "--", "eca")
			wantText(t, "the answer", get[string](s.one("finished", 0), "text"), "first note", "from-the-shell")
			if n := len(s.all("approval")); n != 2 {
				t.Errorf("%d approvals were asked, want 2:\n%s", n, s.tail())
			}
			if _, err := os.Stat(filepath.Join(p.work, "notes.txt")); err != nil {
				t.Errorf("a command that was rejected ran: %v", err)
			}
			wantText(t, "contents", s.raw("in"), `"type":"toolCallPrepare"`, `"type":"toolCallRun"`, `"type":"toolCalled"`, `"type":"toolCallRejected"`)
		})
	}
}

func TestECAStopAndSession(t *testing.T) {
	p := newPlace(t)
	s := p.drive(t, "eca.mjs", "--stop-on", `"type":"text"`, "--prompt", "stream 100000000", "--", "server")
	s.one("finished", 0)
	s = p.drive(t, "eca.mjs", "--approval", "session", "--prompt", "run echo one", "--prompt", "run echo two", "--", "server")
	if n := len(s.all("approval")); n != 1 {
		t.Errorf("%d approvals were asked, want 1:\n%s", n, s.tail())
	}
}

func TestECAReload(t *testing.T) {
	p := newPlace(t)
	s := p.drive(t, "eca.mjs", "--approval", "approve", "--prompt", reading, "--", "eca")
	id := get[string](s.one("prompt", 0), "chatId")
	s = p.drive(t, "eca.mjs", "--list", "--open", id, "--prompt", "think once more", "--", "eca")
	wantText(t, "the list", string(s.one("list", 0).raw), id, "read notes.txt")
	wantText(t, "the replay", s.raw("in"), "first note", "from-the-shell", `"type":"toolCalled"`)
}

func TestECAParallel(t *testing.T) {
	p := newPlace(t)
	s := p.drive(t, "eca.mjs", "--parallel", "--prompt", "stream 3000 of 7", "--prompt", "stream 2000 of 13", "--", "eca")
	for _, done := range s.all("finished") {
		if n := len(get[string](done, "text")); n < 21000 {
			t.Errorf("a chat got %d characters", n)
		}
	}
	if n := len(s.all("finished")); n != 2 {
		t.Errorf("%d chats finished", n)
	}
}

// An agent that speaks MCP, at 2025-11-25 and at 2026-07-28, with elicitation and
// without.
func TestMCP(t *testing.T) {
	for _, driver := range []string{"mcp.mjs", "mcp2026.mjs"} {
		t.Run(driver, func(t *testing.T) {
			mode := []string{}
			if driver == "mcp2026.mjs" {
				mode = []string{"--mode", "pin"}
			}
			p := newPlace(t)
			s := p.drive(t, driver, append(mode, "--elicitation", "accept", "--prompt", reading, "--", "mcp", "--root", p.work)...)
			wantText(t, "the result", string(s.one("result", 0).raw), `"status":"completed"`, "first note", "from-the-shell")
			if n := len(s.all("elicitation")); n != 1 {
				t.Errorf("%d elicitations, want 1:\n%s", n, s.tail())
			}

			s = p.drive(t, driver, append(mode, "--elicitation", "decline", "--prompt", "run rm notes.txt", "--", "mcp", "--root", p.work)...)
			s.one("result", 0)
			if _, err := os.Stat(filepath.Join(p.work, "notes.txt")); err != nil {
				t.Errorf("a command that was declined ran: %v", err)
			}

			s = p.drive(t, driver, append(mode, "--prompt", "run echo approved",
				"--call", "agent_approve", `{"session_id":"$session_id","approval_id":"$approval_id","decision":"allow_once"}`,
				"--call", "agent_wait", `{"session_id":"$session_id","turn_id":"$turn_id","wait_seconds":20}`,
				"--call", "session_list", `{}`, "--call", "session_get", `{"session_id":"$session_id"}`, "--", "mcp", "--root", p.work)...)
			wantText(t, "the first result", string(s.one("result", 0).raw), `"status":"awaiting_approval"`, "shell_command")
			wantText(t, "the wait's result", string(s.one("result", 2).raw), `"status":"completed"`, "approved")
		})
	}
}

func TestMCPCancel(t *testing.T) {
	p := newPlace(t)
	s := p.drive(t, "mcp.mjs", "--cancel-after-ms", "500", "--prompt", "stream 100000000", "--", "mcp", "--root", p.work)
	s.one("cancelled", 0)
	out, _, code := p.run(t, "sessions", "list", "--json")
	if code != 0 {
		t.Errorf("sessions list: exit %d", code)
	}
	wantText(t, "the list", out, "stream 100000000")
}

// A real provider's protocol: the model is served over HTTP, and every dialect
// reaches it.
func TestModelOverHTTP(t *testing.T) {
	p := newPlace(t)
	url := p.aimock(t, `{"fixtures":[
		{"match":{"toolCallId":"call_1"},"response":{"content":"The first line is: first note."}},
		{"match":{"userMessage":"what is in the notes"},"response":{"toolCalls":[{"id":"call_1","name":"read_file","arguments":{"path":"notes.txt"}}]}},
		{"match":{"userMessage":"boom"},"response":{"error":{"message":"internal boom","type":"server_error"},"status":400}}]}`)
	cfg := p.config(t, fmt.Sprintf("model: mock/gpt-mock\nproviders:\n  mock:\n    kind: openai-chat\n    base_url: %s/v1\n    api_key: x\n", url))
	const want = "The first line is: first note."
	s := p.drive(t, "acp.mjs", "--prompt", "what is in the notes?", "--", "--config", cfg, "acp")
	wantText(t, "ACP", get[string](s.one("stop", 0), "text"), want)
	s = p.drive(t, "eca.mjs", "--prompt", "what is in the notes?", "--", "--config", cfg, "eca")
	wantText(t, "ECA", get[string](s.one("finished", 0), "text"), want)
	s = p.drive(t, "mcp.mjs", "--prompt", "what is in the notes?", "--", "--config", cfg, "mcp", "--root", p.work)
	wantText(t, "MCP", string(s.one("result", 0).raw), want)
}
