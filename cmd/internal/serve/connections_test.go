package serve

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/board"
)

// request returns a message of a client.
func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, id, method, params)
}

// withOptions makes a client of ECA send options when it connects.
func withOptions(hello, options string) string {
	return strings.Replace(hello, `"processId":null`, `"processId":null,"initializationOptions":`+options, 1)
}

// lacks fails if a text contains one of the words.
func lacks(t *testing.T, who, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%s is shown %q:\n%s", who, w, text)
		}
	}
}

// has fails unless a text contains all of the words.
func has(t *testing.T, who, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s is not shown %q:\n%s", who, w, text)
		}
	}
}

const (
	optionsOfAda = `{"agents":{"adas":{"description":"Looks"}},"policy":{"deny":[{"tool":"shell_command"}]},"mcp_servers":{"adas-server":{"url":"http://127.0.0.1:1/mcp","disabled":true}}}`
	optionsOfBob = `{"agents":{"bobs":{"disabled_tools":["read_file"]}}}`
)

// Clients of all dialects are connected to one process. An editor's layer on the configuration is
// invisible to others, and a session that all of them have open runs each turn under the rules of
// the connection that prompts it.
func TestConnectionsOfOneProcess(t *testing.T) {
	o, work := inPlace(t)
	synctest.Test(t, func(t *testing.T) {
		h, end := inProcess(t, o)
		defer end()
		face := idleFaces["eca"]
		ada, leave := face.join(t, h, core.Local, withOptions(face.hello, optionsOfAda), work)
		defer leave()
		bob, leave := face.join(t, h, core.Local, withOptions(face.hello, optionsOfBob), work)
		defer leave()
		zed, leave := idleFaces["acp"].join(t, h, core.Local, idleFaces["acp"].hello, work)
		defer leave()
		agent, leave := idleFaces["mcp"].join(t, h, core.Local, idleFaces["mcp"].hello, work)
		defer leave()
		has(t, "ada", ada.hello, "adas")
		lacks(t, "ada", ada.hello, "bobs")
		has(t, "bob", bob.hello, "bobs")
		lacks(t, "bob", bob.hello, "adas")
		for _, c := range []*idleClient{ada, bob} {
			if err := c.Send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`); err != nil {
				t.Fatal(err)
			}
		}
		shown := ada.all("", "adas-server")
		lacks(t, "ada", shown, "bobs")
		if err := agent.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
			t.Fatal(err)
		}

		const run = "run touch made"
		prompt := func(c *idleClient, id, until string) string {
			return c.all(request(id, "chat/prompt", `{"chatId":"shared","message":"`+run+`"}`), until)
		}
		said := prompt(ada, "go1", `"state":"finished"`)
		has(t, "ada", said, "toolCallRejected", "denied by")
		bob.ask(request("open", "chat/open", `{"chatId":"shared"}`), `"id":"open"`)
		said = prompt(bob, "go2", `"manualApproval":true`)
		lacks(t, "bob", said[strings.LastIndex(said, `"go2"`)+1:], "adas-server", `"adas"`)
		bob.all(`{"jsonrpc":"2.0","method":"chat/promptStop","params":{"chatId":"shared"}}`, `"state":"finished"`)

		said = zed.ask(request("load", "session/load", fmt.Sprintf(`{"sessionId":"shared","cwd":%q,"mcpServers":[]}`, work)), `"id":"load"`)
		lacks(t, "zed", said, "adas", "bobs")
		said = zed.all(request("go3", "session/prompt", `{"sessionId":"shared","prompt":[{"type":"text","text":"`+run+`"}]}`), "session/request_permission")
		has(t, "zed", said, "shell_command", "touch made")
		zed.all(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"shared"}}`, `"id":"go3"`)

		said = zed.ask(request("new", "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"name":"zeds-server","command":"/nowhere/x","args":[],"env":[]}]}`, work)), `"id":"new"`)
		_, id, _ := strings.Cut(said, `"sessionId":"`)
		id, _, _ = strings.Cut(id, `"`)
		zed.all(request("go6", "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"hello"}]}`, id)), "session/request_permission")
		all := ""
		posted, _ := h.process.Board().Now()
		for _, p := range posted {
			all += p.Topic.Name + " "
		}
		has(t, "the board", all, "zeds-server", "adas-server")

		said = agent.ask(request("servers", "resources/read", `{"uri":"dragoman://servers"}`), `"id":"servers"`)
		lacks(t, "the agent", said, "adas-server", "zeds-server")
		said = agent.ask(request("go4", "tools/call", `{"name":"agent_prompt","arguments":{"prompt":"`+run+`","session_id":"shared","wait_seconds":60}}`), `"id":"go4"`)
		has(t, "the agent", said, "awaiting_approval")
		agent.ask(request("stop", "tools/call", `{"name":"agent_cancel","arguments":{"session_id":"shared"}}`), `"id":"stop"`)

		said = prompt(ada, "go5", `"id":"go5"`) + ada.all("", "toolCallRejected")
		lacks(t, "ada", said[strings.LastIndex(said, `"go5"`):], `"manualApproval":true`)
	})
}

// Two principals have clients of all dialects in one process. Neither sees anything of the
// other's sessions, in lists and by their ids, nor of the jobs and questions in them.
func TestPrincipalsOfOneProcess(t *testing.T) {
	o, work := inPlace(t)
	synctest.Test(t, func(t *testing.T) {
		h, end := inProcess(t, o)
		defer end()
		clients := map[core.Principal]map[string]*idleClient{"ada": {}, "bob": {}}
		for p, all := range clients {
			for name, f := range idleFaces {
				c, leave := f.join(t, h, p, f.hello, work)
				defer leave()
				all[name] = c
			}
		}
		ada, bob := clients["ada"], clients["bob"]
		ada["eca"].all(request("go", "chat/prompt", `{"chatId":"secret","message":"run touch canary"}`), `"manualApproval":true`)
		job := board.Topic{Kind: "job", Name: "j1", Principal: "ada"}
		h.process.Board().Put(job, board.Job{Info: board.JobInfo{ID: "j1", Session: "secret", Command: "sleep canary"}})

		ask := func(c *idleClient, id, method, params string) string {
			return c.ask(request(id, method, params), fmt.Sprintf(`"id":%q`, id))
		}
		call := func(c *idleClient, id, tool, args string) string {
			return ask(c, id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
		}
		lists := func(of map[string]*idleClient) map[string]string {
			return map[string]string{
				"eca": ask(of["eca"], "list", "chat/list", `{}`), "jobs": ask(of["eca"], "jobs", "jobs/list", `{}`),
				"acp": ask(of["acp"], "list", "session/list", `{}`), "mcp": call(of["mcp"], "list", "session_list", `{}`),
			}
		}
		for name, text := range lists(ada) {
			has(t, "ada over "+name, text, "secret")
		}
		for name, text := range lists(bob) {
			lacks(t, "bob over "+name, text, "secret", "canary")
		}
		text := ask(bob["acp"], "load", "session/load", fmt.Sprintf(`{"sessionId":"secret","cwd":%q,"mcpServers":[]}`, work))
		has(t, "bob", text, `"error"`)
		text = call(bob["mcp"], "get", "session_get", `{"session_id":"secret"}`)
		has(t, "bob", text, `"isError":true`)
		lacks(t, "bob", text, "canary")
		text = call(bob["mcp"], "approve", "agent_approve", `{"session_id":"secret","approval_id":"q1-1","decision":"allow_once"}`)
		has(t, "bob", text, `"isError":true`)
		text = ask(bob["eca"], "open", "chat/open", `{"chatId":"secret"}`)
		lacks(t, "bob", text, "canary", `"found":true`)
		ask(bob["acp"], "delete", "session/delete", `{"sessionId":"secret"}`)
		bob["eca"].all(request("own", "chat/prompt", `{"chatId":"secret","message":"hello there"}`), `"state":"finished"`) // a chat with that id of his own
		for name, text := range lists(ada) {
			has(t, "ada over "+name, text, "secret")
			lacks(t, "ada over "+name, text, "hello there")
		}
		st, err := h.Open(t.Context(), "ada", "secret")
		if err != nil || len(st.State().Asks) != 1 {
			t.Errorf("ada's session after what bob has tried: %v", err)
		}
	})
}
