package serve

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// watching describes a client that has a session open without a command: the message that opens
// it, and a part of the message after another process has added text.
var watching = map[string]struct{ face, open, sign string }{
	"eca":          {"eca", `{"jsonrpc":"2.0","id":"open","method":"chat/open","params":{"chatId":%q}}`, `"text":"%s"`},
	"acp, loaded":  {"acp", `{"jsonrpc":"2.0","id":"open","method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, `"text":"%s"`},
	"acp, resumed": {"acp", `{"jsonrpc":"2.0","id":"open","method":"session/resume","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, `"text":"%s"`},
	"mcp":          {"mcp", `{"jsonrpc":"2.0","id":"open","method":"resources/subscribe","params":{"uri":"dragoman://session/%s/transcript"}}`, `notifications/resources/updated`},
}

// A client that has a session of another process open sees that process's additions: while the
// process owns the session, when it claims the session again, and the end of its turn.
func TestSessionsOfOtherProcessesGrow(t *testing.T) {
	for name, w := range watching {
		t.Run(name, func(t *testing.T) {
			o, work := inPlace(t)
			synctest.Test(t, func(t *testing.T) {
				owner, leaveOwner := idleFaces["acp"].connect(t, o, work)
				viewer, leaveViewer := idleFaces[w.face].connect(t, o, work)
				m := owner.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, work), `"id":"new"`)
				_, id, _ := strings.Cut(m, `"sessionId":"`)
				id, _, _ = strings.Cut(id, `"`)
				prompts := 0
				prompt := func(text string) {
					prompts++
					if err := owner.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"go%d","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, prompts, id, text)); err != nil {
						t.Error(err)
					}
				}
				prompt("think of the first")
				owner.ask("", `"id":"go1"`)
				open := fmt.Sprintf(w.open, id)
				if strings.Count(w.open, "%q") == 2 {
					open = fmt.Sprintf(w.open, id, work)
				}
				viewer.ask(open, `"id":"open"`)
				for _, when := range []string{"owned", "still", "again"} {
					if when == "again" { // both processes rest
						<-time.After(3 * time.Minute)
					}
					began := time.Now()
					sign := w.sign
					if strings.Contains(sign, "%s") {
						sign = fmt.Sprintf(sign, "of "+when)
					}
					prompt("think of " + when)
					viewer.ask("", sign)
					if took := time.Since(began); w.face != "mcp" && took > 300*time.Millisecond { // measured by the fake clock
						t.Errorf("%s: it took %v to show what was added", when, took)
					}
					owner.ask("", fmt.Sprintf(`"id":"go%d"`, prompts))
					if w.face == "eca" {
						viewer.ask("", `"state":"finished"`)
					}
					<-time.After(5 * time.Second)
				}
				leaveViewer()
				leaveOwner()
			})
		})
	}
}

// An agent over MCP waits for a turn that another process runs.
func TestWaitForATurnOfAnotherProcess(t *testing.T) {
	o, work := inPlace(t)
	synctest.Test(t, func(t *testing.T) {
		owner, leaveOwner := idleFaces["acp"].connect(t, o, work)
		agent, leaveAgent := idleFaces["mcp"].connect(t, o, work)
		m := owner.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, work), `"id":"new"`)
		_, id, _ := strings.Cut(m, `"sessionId":"`)
		id, _, _ = strings.Cut(id, `"`)
		owner.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"go","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"stream 100 of 2000"}]}}`, id), "agent_message_chunk")
		said := agent.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"wait","method":"tools/call","params":{"name":"agent_wait","arguments":{"session_id":%q}}}`, id), `"id":"wait"`)
		if !strings.Contains(said, `"status":"completed"`) {
			t.Errorf("the turn of another process: %s", said)
		}
		leaveAgent()
		leaveOwner()
	})
}
