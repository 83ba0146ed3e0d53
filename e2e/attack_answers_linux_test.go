package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// held has the model write a file, keeps the question, and returns it with the id of the prompt.
func (s *siege) hold(path string) (q message, prompt string) {
	s.t.Helper()
	s.permission = "hold"
	n := len(s.held)
	req := s.call("write_file", object{"path": path, "content": "x"})
	s.say(req)
	s.read("a question", func() bool { return len(s.held) == n+1 })
	return s.held[n], fmt.Sprint(req["id"])
}

// answer sends a raw result, or what stands in its place, for a question.
func (s *siege) answer(q message, member, value string) {
	s.t.Helper()
	s.write(line(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"` + member + `":` + value + `}`))
}

// An answer that is none of those that were offered allows nothing.
// core.TestReplyTo and agent's permission tests are thorough.
func TestAttack15(t *testing.T) {
	t.Parallel()
	s := besiege(t, "")
	selected := func(id string) string { return `{"outcome":{"outcome":"selected","optionId":` + id + `}}` }
	for i, a := range []struct{ member, value string }{
		{"result", selected(`"allow"`)},
		{"result", selected(`"ALLOW_ONCE"`)},
		{"result", selected(`"allow_once "`)},
		{"result", selected(`""`)},
		{"result", selected(`null`)},
		{"result", selected(`1`)},
		{"result", selected(`["allow_once"]`)},
		{"result", selected(`"allow_once","optionId":"reject_once"`)},
		{"result", selected(`"reject_once","optionId":"allow_once"`)},
		{"result", selected(`"reject_once","OptionId":"allow_once"`)},
		{"result", selected(`"allow_forever"`)},
		{"result", `{"outcome":{"outcome":"approved","optionId":"allow_once"}}`},
		{"result", `{"outcome":{"optionId":"allow_once"}}`},
		{"result", `{"outcome":"selected","optionId":"allow_once"}`},
		{"result", `{"outcome":{"outcome":"cancelled","optionId":"allow_once"}}`},
		{"result", `{"outcome":{"Outcome":"selected","optionId":"allow_once"}}`},
		{"result", `{}`},
		{"result", `null`},
		{"result", `true`},
		{"result", `"allow_once"`},
		{"result", `[]`},
		{"error", `{"code":0,"message":"allow_once"}`},
		{"error", `null`},
		{"error", `{}`},
	} {
		name := fmt.Sprint("made-", i)
		q, prompt := s.hold(name)
		s.answer(q, a.member, a.value)
		// Where that decided nothing, the question stays open until the turn is stopped.
		s.say(notification("session/cancel", object{"sessionId": s.id}))
		s.end(prompt)
		absent(t, filepath.Join(s.work, name), a.value)
	}
	s.over()
}

// A late, doubled or missing answer allows nothing.
// core.TestWithdrawalAndLateAnswers, TestAnsweredElsewhere and TestNobodyToAsk are thorough.
func TestAttack16(t *testing.T) {
	t.Parallel()
	s := besiege(t, "policy: {ask_timeout: 1s}\n")
	const yes, no = `{"outcome":{"outcome":"selected","optionId":"allow_once"}}`, `{"outcome":{"outcome":"selected","optionId":"reject_once"}}`
	q, prompt := s.hold("late")
	s.say(notification("session/cancel", object{"sessionId": s.id}))
	s.end(prompt)
	s.answer(q, "result", yes)

	q, prompt = s.hold("twice")
	s.answer(q, "result", no)
	s.answer(q, "result", yes)
	s.end(prompt)

	q, prompt = s.hold("never") // the time for it runs out
	s.end(prompt)
	s.answer(q, "result", yes)

	first := s.held[0]
	q, prompt = s.hold("other") // an answer to another question
	s.answer(first, "result", yes)
	s.answer(q, "result", no)
	s.end(prompt)

	s.write(line(`{"jsonrpc":"2.0","id":4711,"result":` + yes + `}`)) // before there is a question with that number
	s.hold("gone")
	s.over() // the client leaves
	for _, name := range []string{"late", "twice", "never", "other", "gone"} {
		absent(t, filepath.Join(s.work, name), "nobody has allowed it in time")
	}

	// ECA names calls and not questions.
	e := s.place.edit(t, ecaDialect(), quickly(t), "--config", filepath.Join(filepath.Dir(s.place.home), "config.yaml"))
	id := e.begin()
	e.prompt(id, `write_file {"path":"eca","content":"x"}`)
	ask := e.question(id)
	e.send(e.dialect.decide(ask, false), e.dialect.decide(ask, true))
	e.ended(id, 1)
	e.send(e.dialect.decide(ask, true))
	e.prompt(id, `write_file {"path":"eca","content":"x"}`)
	again := e.question(id)
	e.send(e.dialect.decide(ask, true), e.dialect.decide(again, false)) // the old call's name, then the new one's
	e.ended(id, 2)
	e.stop()
	absent(t, filepath.Join(s.work, "eca"), "the first answer was no")
}

// An answer from another session, for a session that is not there, or for a question of the past has no
// effect. core.TestACallOfASubSession and TestChildsApproval are thorough.
func TestAttack17(t *testing.T) {
	t.Parallel()
	s := besiege(t, "")
	config := filepath.Join(filepath.Dir(s.place.home), "config.yaml")
	e := s.place.edit(t, ecaDialect(), quickly(t), "--config", config)
	id, other := e.begin(), e.begin()
	e.run(other, "hello")
	e.prompt(id, `write_file {"path":"made","content":"x"}`)
	q := e.question(id)
	for _, chat := range []string{other, "nowhere", "", id + " ", "../" + id} {
		e.send(e.dialect.decide(question{session: chat, call: q.call}, true))
	}
	for _, call := range []string{"", q.call + " ", strings.ToUpper(q.call), "*", q.call + "0", q.call[:len(q.call)-1]} {
		e.send(e.dialect.decide(question{session: id, call: call}, true))
	}
	e.ask("chat/list", object{})
	absent(t, filepath.Join(s.work, "made"), "an answer from elsewhere")

	// MCP: another caller, another session, and an id that can be guessed.
	c := s.place.call(t, quickly(t), "--config", config)
	r := c.prompt("", `write_file {"path":"made","content":"x"}`)
	if len(r.Structured.Approvals) != 1 {
		t.Fatalf("there is no question: %s", r.text())
	}
	mine, ask := r.Structured.Session, r.Structured.Approvals[0].ID
	stranger := s.place.call(t, quickly(t), "--config", config)
	for _, args := range []object{
		{"session_id": mine, "approval_id": ask, "decision": "allow_once"},
		{"session_id": id, "approval_id": ask, "decision": "allow_once"},
	} {
		if r := stranger.use("agent_approve", args); !r.IsError {
			t.Errorf("a stranger's answer %v: %s", args, r.text())
		}
	}
	second := c.prompt("", "hello").Structured.Session
	for _, args := range []object{
		{"session_id": second, "approval_id": ask, "decision": "allow_once"},
		{"session_id": mine, "approval_id": ask + "0", "decision": "allow_once"},
		{"session_id": mine, "approval_id": "", "decision": "allow_once"},
		{"session_id": mine, "approval_id": ask, "decision": "allow"},
		{"session_id": mine, "approval_id": ask, "option_id": "nothing"},
		{"session_id": "nowhere", "approval_id": ask, "decision": "allow_once"},
	} {
		if r := c.use("agent_approve", args); !r.IsError {
			t.Errorf("an answer %v: %s", args, r.text())
		}
	}
	if r := c.use("agent_approve", object{"session_id": mine, "approval_id": ask, "decision": "reject_once"}); r.IsError {
		t.Errorf("a good answer: %s", r.text())
	}
	stranger.stop()
	c.stop()
	e.kill()
	e.lastWords()

	// What is replayed cannot be answered any more.
	e = s.place.edit(t, ecaDialect(), quickly(t), "--config", config)
	e.load(id)
	e.send(e.dialect.decide(q, true))
	e.ask("chat/list", object{})
	e.stop()
	s.ok("session/load", s.of(id))
	if s.asks() > 0 {
		t.Errorf("a replay asks: %q", s.asked)
	}
	s.over()
	absent(t, filepath.Join(s.work, "made"), "nobody has allowed it")
}

// Trust that a person has in one session, over one client, counts there alone.
// setup.TestTrustIsNotLent and TestRights are thorough.
func TestAttack18(t *testing.T) {
	t.Parallel()
	s := besiege(t, "policy: {sandbox: none}\n")
	config := filepath.Join(filepath.Dir(s.place.home), "config.yaml")
	trusted, plain := s.id, s.session()
	m := s.ask("session/set_config_option", object{"sessionId": trusted, "configId": "trust", "type": "boolean", "value": true})
	if m.Error != nil {
		m = s.ask("session/set_config_option", object{"sessionId": trusted, "configId": "trust", "value": "on"})
	}
	if m.Error != nil {
		t.Fatalf("trust: %v", m.Error)
	}
	if s.do("write_file", object{"path": "trusted", "content": "x"}); s.asks() != 0 {
		t.Fatalf("trust does not hold: %d questions", s.asks())
	}
	holds(t, filepath.Join(s.work, "trusted"), "x", "trust")
	n := s.asks()
	if s.do("write_file", object{"path": "AGENTS.md", "content": "x"}); s.asks() != n+1 {
		t.Error("trust covers a control file")
	}
	s.id = plain
	s.wantAsked("touch plain")
	s.id = s.session()
	s.wantAsked("touch new")
	s.over()

	for _, id := range []string{trusted, plain} {
		c := s.place.call(t, quickly(t), "--config", config)
		if r := c.prompt(id, `write_file {"path":"lent","content":"x"}`); len(r.Structured.Approvals) != 1 {
			t.Errorf("an MCP client was not asked: %s", r.text())
		}
		if r := c.use("agent_prompt", object{"session_id": id, "prompt": "hello", "approvals": "auto"}); !r.IsError {
			t.Errorf("approvals: auto: %s", r.text())
		}
		if r := c.use("agent_prompt", object{"prompt": "hello", "options": object{"trust": true, "mode": "auto"}}); !r.IsError {
			t.Errorf("options: %s", r.text())
		}
		c.stop()
	}
	absent(t, filepath.Join(s.work, "lent"), "nobody has allowed it")
}

// A caller over MCP has the rights of its folders and of its client's user, not those of the owner; its
// model allows nothing that only a person may, and agents that call each other come to an end.
// mcp's TestRoots and aggregate's TestAggregateEndsCircles are thorough.
func TestAttack19(t *testing.T) {
	t.Parallel()
	s := besiege(t, "policy: {sandbox: none, ask: [{tool: shell_command, command: 'curl *'}], deny: [{tool: shell_command, command: 'rm *'}]}\n")
	config := filepath.Join(filepath.Dir(s.place.home), "config.yaml")
	other := filepath.Join(filepath.Dir(s.work), "other")
	s.place.put(t, filepath.Join(other, "private.txt"), s.secret)
	hidden := field[string](t, s.ok("session/new", object{"cwd": other, "mcpServers": []any{}}), "sessionId")
	s.prompt(hidden, "remember "+s.secret)
	s.leave()

	c := s.place.call(t, quickly(t), "--config", config)
	if r := c.use("session_list", object{}); strings.Contains(r.text(), hidden) {
		t.Errorf("sessions of another folder are listed: %s", r.text())
	}
	for _, use := range []struct {
		tool string
		args object
	}{
		{"session_get", object{"session_id": hidden}},
		{"agent_prompt", object{"session_id": hidden, "prompt": "hello"}},
		{"agent_wait", object{"session_id": hidden}},
		{"session_close", object{"session_id": hidden}},
		{"agent_prompt", object{"cwd": other, "prompt": "hello"}},
		{"agent_prompt", object{"cwd": filepath.Dir(s.work), "prompt": "hello"}},
		{"agent_cancel", object{"session_id": hidden}},
	} {
		if r := c.use(use.tool, use.args); !r.IsError || strings.Contains(r.text(), s.secret) {
			t.Errorf("%s %v: %s", use.tool, use.args, r.text())
		}
	}
	id, req := c.request("resources/read", object{"uri": "dragoman://session/" + hidden})
	c.send(req)
	if m := c.await(id); m.Error == nil {
		t.Errorf("a resource of another folder: %s", m.Result)
	}
	for _, call := range []string{
		`write_file {"path":".git/hooks/pre-commit","content":"x"}`, `write_file {"path":"AGENTS.md","content":"x"}`, `shell_command {"command":"curl x; touch pwned"}`, `shell_command {"command":"touch .envrc; touch pwned"}`,
	} {
		r := c.prompt("", call)
		for _, a := range r.Structured.Approvals {
			for _, decision := range []string{"allow_once", "allow_always"} {
				args := object{"session_id": r.Structured.Session, "approval_id": a.ID, "decision": decision}
				if r := c.use("agent_approve", args); !r.IsError {
					t.Errorf("%s: the model answers what only a person may: %s", call, r.text())
				}
			}
		}
		c.use("agent_cancel", object{"session_id": r.Structured.Session})
	}
	for _, name := range []string{".git/hooks/pre-commit", "AGENTS.md", "pwned", ".envrc"} {
		absent(t, filepath.Join(s.work, name), "a model allowed it")
	}
	c.stop()

	// dragoman as a server of dragoman, and of itself.
	s.place.put(t, config, s.model.config()+fmt.Sprintf("mcp_servers:\n  again: {command: %q, args: [--config, %q, mcp, --root, %q]}\n", binary, config, s.work))
	if out, errs, code := s.place.run(t, "--config", config, "mcp-servers", "list"); code == 0 && !strings.Contains(out+errs, "again") {
		t.Errorf("a circle: %d %s%s", code, out, errs)
	}
	if n := len(running(t, config)); n != 0 {
		t.Errorf("%d processes of the circle are left", n)
	}
}

// running lists the processes that have a text in their command line.
func running(t testing.TB, text string) (list []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if line, err := os.ReadFile(filepath.Clean(name)); err == nil && slices.Contains(strings.Split(string(line), "\x00"), text) {
			list = append(list, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return list
}
