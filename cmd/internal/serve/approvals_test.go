package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/bridge/agent/agenttest"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
	"dragoman/core/coretest"
)

// TestMain also plays the scripted agent: the tests' own program is its command.
func TestMain(m *testing.M) {
	if o, ok := agenttest.FromEnv(); ok {
		syscall.Exit(agenttest.Run(context.Background(), o, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) // the race detector would wait for a second
	}
	os.Exit(m.Run())
}

// theirs is an agent's own list of answers, as its request has it: ECA shows it as a question.
const theirs = `[{"optionId":"a","name":"Always here","kind":"allow_always"},{"optionId":"b","name":"Always there","kind":"allow_always"},` +
	`{"optionId":"y","name":"Once","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`

// threeAsked are an ECA editor, an ACP editor and an MCP caller with forms, in one session: the caller's. All
// of them are asked about one call.
type threeAsked struct {
	t       *testing.T
	clients map[string]*idleClient
	ids     map[string]string // of the request that asks a client
	session string
	result  string // of the newest of the caller's calls that has ended
	heard   string // everything that came before it
	lost    bool   // the caller
	shown   string // to the ACP editor meanwhile
}

// askThree has an agent ask about a call, which prompt makes, and waits until all three are asked.
func askThree(t *testing.T, h *gateway, work, prompt string) (a *threeAsked, leave func()) {
	t.Helper()
	a = &threeAsked{t: t, clients: map[string]*idleClient{}, ids: map[string]string{}}
	var bye []func()
	join := func(name, from, to string) {
		f := idleFaces[name]
		c, leave := f.join(t, h, core.Local, strings.Replace(f.hello, from, to, 1), work)
		a.clients[name], bye = c, append(bye, leave)
	}
	join("eca", `"chat":true`, `"chat":true,"chatCapabilities":{"askQuestion":true}`)
	join("acp", `"protocolVersion":1`, `"protocolVersion":1,"clientInfo":{"name":"zed","version":"1"}`)
	join("mcp", `"capabilities":{}`, `"capabilities":{"elicitation":{"form":{}}}`)
	eca, acp, mcp := a.clients["eca"], a.clients["acp"], a.clients["mcp"]
	a.send("eca", `{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	a.send("mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	caller := newSpeaker(mcp, "mcp")
	caller.say("hello")
	a.session = caller.session
	eca.ask(request("open", "chat/open", fmt.Sprintf(`{"chatId":%q}`, a.session)), `"id":"open"`)
	acp.ask(request("load", "session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, a.session, work)), `"id":"load"`)
	a.send("mcp", a.call("prompt", "agent_prompt", fmt.Sprintf(`{"prompt":%q,"session_id":%q}`, prompt, a.session)))
	for name, method := range map[string]string{"eca": "chat/askQuestion", "acp": "session/request_permission", "mcp": "elicitation/create"} {
		var m struct{ ID json.RawMessage }
		asks := a.clients[name].ask("", method)
		if err := json.Unmarshal([]byte(asks), &m); err != nil {
			t.Fatal(err)
		}
		a.ids[name] = string(m.ID)
		has(t, name, asks, "Always here", "Always there", "Once")
	}
	return a, func() {
		for _, f := range bye {
			f()
		}
	}
}

// close ends all connections.
func (a *threeAsked) close() {
	for _, c := range a.clients {
		c.Close()
	}
}

func (a *threeAsked) send(name, message string) {
	a.t.Helper()
	if err := a.clients[name].Send(message); err != nil {
		a.t.Fatal(err)
	}
}

func (a *threeAsked) call(id, tool, args string) string {
	return request(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// replies are the ways to answer, by client. Those of a dialog that is dismissed are no decisions, as are
// errors and answers that were not offered.
var replies = map[string]map[string]string{
	"eca": {
		"yes": `"result":{"answer":"Once","cancelled":false}`, "no": `"result":{"answer":"No","cancelled":false}`, "always": `"result":{"answer":"Always there","cancelled":false}`,
		"dismissed": `"result":{"answer":null,"cancelled":true}`, "error": `"error":{"code":-32601,"message":"no such method"}`, "strange": `"result":{"answer":"Perhaps","cancelled":false}`,
	},
	"acp": {
		"yes": `"result":{"outcome":{"outcome":"selected","optionId":"y"}}`, "no": `"result":{"outcome":{"outcome":"selected","optionId":"n"}}`, "always": `"result":{"outcome":{"outcome":"selected","optionId":"b"}}`,
		"dismissed": `"result":{"outcome":{"outcome":"cancelled"}}`, "error": `"error":{"code":-32601,"message":"no such method"}`, "strange": `"result":{"outcome":{"outcome":"selected","optionId":"z"}}`,
	},
	"mcp": {
		"yes": `"result":{"action":"accept","content":{"decision":"y"}}`, "no": `"result":{"action":"decline"}`, "always": `"result":{"action":"accept","content":{"decision":"b"}}`,
		"dismissed": `"result":{"action":"cancel"}`, "error": `"error":{"code":-32601,"message":"no such method"}`, "strange": `"result":{"action":"accept","content":{"decision":"z"}}`,
	},
}

// reply has a client answer: "acp yes". "acp lost" ends its connection.
func (a *threeAsked) reply(what string) {
	a.t.Helper()
	name, way, _ := strings.Cut(what, " ")
	if way == "lost" {
		a.clients[name].Close()
		a.lost = a.lost || name == "mcp"
		return
	}
	a.send(name, `{"jsonrpc":"2.0","id":`+a.ids[name]+`,`+replies[name][way]+`}`)
}

// ended returns the result of the caller's turn. If its own dialog was closed, the call ends before the
// turn, and another one waits for it. If the caller was lost, it is what the ACP editor is shown.
func (a *threeAsked) ended() string {
	a.t.Helper()
	if a.lost {
		a.shown = a.clients["acp"].all("", `"text":"selected`)
		return a.shown
	}
	if a.result == "" {
		a.next("", "prompt")
	}
	for n := 0; strings.Contains(a.result, `"next":"agent_wait"`); n++ {
		id := fmt.Sprintf("wait%d", n)
		a.next(a.call(id, "agent_wait", fmt.Sprintf(`{"session_id":%q}`, a.session)), id)
	}
	return a.result
}

// next reads the caller's messages up to the result of a call, which it may send first.
func (a *threeAsked) next(message, id string) {
	a.t.Helper()
	a.heard += a.clients["mcp"].all(message, `"id":"`+id+`"`)
	a.result = a.heard[strings.LastIndex(a.heard[:len(a.heard)-1], "\n")+1:]
}

// withAgent returns a program whose agent is the scripted one.
func withAgent(t *testing.T) (o setup.Options, work string) {
	t.Helper()
	o, work = inPlace(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	configure(t, o, fmt.Sprintf("default_agent: scripted\nagents: {scripted: {acp: {command: [%q], env: {%s: %q}}}}\n", self, agenttest.Variable, agenttest.Options{}.Value()))
	return o, work
}

func configure(t *testing.T, o setup.Options, text string) {
	t.Helper()
	file := o.Env.ConfigFile()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const asksToMake = `permission {"title":"make","kind":"execute","rawInput":{"command":"make"},"options":` + theirs + `}`

// One call of an external agent is put to the clients of all protocols at once. The first decision counts,
// and the question is withdrawn from the others. What is no decision takes its client out alone; if none
// is left, the call is rejected, and nobody is said to have done that.
func TestOneApprovalInAllProtocols(t *testing.T) {
	for _, test := range []struct {
		replies []string
		said    string // by the agent: the outcome that it got
		why     string // in the caller's result
	}{
		{[]string{"eca yes"}, "selected y", ""},
		{[]string{"acp yes"}, "selected y", ""},
		{[]string{"mcp yes"}, "selected y", ""},
		{[]string{"eca no"}, "selected n", "rejected by the user"},
		{[]string{"acp no"}, "selected n", "rejected by the user"},
		{[]string{"mcp no"}, "selected n", "rejected by x 1"},
		{[]string{"eca always"}, "selected b", ""},
		{[]string{"acp always"}, "selected b", ""},
		{[]string{"mcp always"}, "selected b", ""},
		{[]string{"eca dismissed", "acp yes"}, "selected y", ""},
		{[]string{"eca dismissed", "mcp yes"}, "selected y", ""},
		{[]string{"eca error", "mcp yes"}, "selected y", ""},
		{[]string{"eca strange", "acp no"}, "selected n", "rejected by the user"},
		{[]string{"eca lost", "acp yes"}, "selected y", ""},
		{[]string{"acp dismissed", "eca yes"}, "selected y", ""},
		{[]string{"acp dismissed", "mcp yes"}, "selected y", ""},
		{[]string{"acp error", "mcp no"}, "selected n", "rejected by x 1"},
		{[]string{"acp strange", "eca yes"}, "selected y", ""},
		{[]string{"acp lost", "mcp yes"}, "selected y", ""},
		{[]string{"mcp dismissed", "eca yes"}, "selected y", ""},
		{[]string{"mcp error", "acp yes"}, "selected y", ""},
		{[]string{"mcp strange", "eca no"}, "selected n", "rejected by the user"},
		{[]string{"mcp lost", "eca yes"}, "selected y", ""},
		{[]string{"mcp lost", "eca error", "acp no"}, "selected n", "rejected by the user"},
		{[]string{"eca dismissed", "acp error", "mcp yes"}, "selected y", ""},
		{[]string{"mcp error", "eca error", "acp yes"}, "selected y", ""},
		{[]string{"acp dismissed", "mcp strange", "eca yes"}, "selected y", ""},
		{[]string{"eca dismissed", "acp error", "mcp error"}, "selected n", "rejected: "},
		{[]string{"mcp error", "acp dismissed", "eca dismissed"}, "selected n", "rejected: "},
		{[]string{"mcp error", "eca dismissed", "acp dismissed"}, "selected n", "rejected: "},
		{[]string{"acp lost", "mcp error", "eca lost"}, "selected n", "rejected: "},
	} {
		t.Run(strings.Join(test.replies, ", "), func(t *testing.T) {
			o, work := withAgent(t)
			h, end := inProcess(t, o)
			defer end()
			a, leave := askThree(t, h, work, asksToMake)
			defer leave()
			defer time.AfterFunc(30*time.Second, a.close).Stop() // fails a test that hangs
			for i, what := range test.replies {
				if name, _, _ := strings.Cut(what, " "); i > 0 && !a.lost && strings.HasPrefix(test.replies[i-1], "mcp ") && name != "mcp" {
					a.next("", "prompt") // its own answer has been taken
				}
				a.reply(what)
			}
			got := a.ended()
			has(t, "the caller", got, test.said, test.why)
			if !strings.HasPrefix(test.why, "rejected by") {
				lacks(t, "the caller", got, "rejected by")
			}
			a.withdrawn(test.replies)
		})
	}
}

// withdrawn checks that the question is taken back from all who have not answered. ECA has no message
// for that; its late answer has no effect.
func (a *threeAsked) withdrawn(answered []string) {
	a.t.Helper()
	by := strings.Join(answered, " ")
	if over := fmt.Sprintf(`"method":"$/cancel_request","params":{"requestId":%s}`, a.ids["acp"]); !strings.Contains(by, "acp") && !strings.Contains(a.shown, over) {
		a.clients["acp"].ask("", over)
	}
	if over := `"method":"notifications/cancelled"`; !strings.Contains(by, "mcp") && !strings.Contains(a.heard, over) {
		a.clients["mcp"].ask("", over)
	}
	if !strings.Contains(by, "eca") {
		a.reply("eca always")
		a.clients["eca"].ask(request("there", "chat/list", `{}`), `"id":"there"`)
	}
}

// At its deadline the call is rejected, and the question withdrawn, also if some have given no decision.
func TestTheDeadlineOfAnApprovalInAllProtocols(t *testing.T) {
	for _, before := range [][]string{nil, {"acp error"}, {"eca dismissed", "acp dismissed"}, {"mcp dismissed"}, {"mcp error", "eca error"}} {
		t.Run(strings.Join(before, ", "), func(t *testing.T) {
			o, work := inPlace(t)
			o.Backend = asksForAnswers(t)
			configure(t, o, "policy: {ask_timeout: 5m}\n")
			synctest.Test(t, func(t *testing.T) {
				h, end := inProcess(t, o)
				defer end()
				a, leave := askThree(t, h, work, "make")
				defer leave()
				began := time.Now()
				for _, what := range before {
					a.reply(what)
					synctest.Wait()
				}
				got := a.ended()
				has(t, "the caller", got, "decided  reject_once", "rejected: there was no answer within 5m0s")
				if d := time.Since(began); d != 5*time.Minute {
					t.Errorf("after %v", d)
				}
				a.withdrawn(before)
			})
		})
	}
}

// asksForAnswers returns the back ends of an agent that asks about a call, with a list of its own, and
// says which decision it got.
func asksForAnswers(t *testing.T) func(name string) core.Backend {
	return func(name string) core.Backend {
		if name != "code" {
			return nil
		}
		b := &coretest.Backend{}
		b.Run = func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			said := "hello"
			if text, _ := turn.Prompt()[0].(core.Text); text.Text == "make" {
				r := core.Request{
					Call: core.Call{ID: turn.NewCall(), Server: "theirs", Tool: "Bash", Title: "make", Kind: core.KindExecute, State: core.Proposed},
					Spec: core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute}, Access: []core.Access{{Op: core.OpRun, Command: "make"}},
					Options: []core.Option{
						{ID: "a", Label: "Always here", Decision: core.AllowSession},
						{ID: "b", Label: "Always there", Decision: core.AllowSession},
						{ID: "y", Label: "Once", Decision: core.AllowOnce},
						{ID: "n", Label: "No", Decision: core.RejectOnce},
					},
				}
				reply, err := b.Bindings()[0].Host.Authorize(ctx, r)
				if err != nil {
					return core.StopError, err
				}
				said = fmt.Sprint(reply.Outcome, " ", reply.Option, " ", reply.Decision)
			}
			return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: said})
		}
		return b
	}
}
