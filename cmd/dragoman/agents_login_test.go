package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/bridge/agent/agenttest"
	"dragoman/cmd/internal/program"
)

// loginMethods are the ways to log in to a scripted agent. The first names a program for editors.
func loginMethods() []agenttest.AuthMethod {
	return []agenttest.AuthMethod{
		{ID: "web", Name: "Log in with Scripted", Description: "Opens a page", Meta: json.RawMessage(`{"terminal-auth":{"label":"canary","command":"/bin/canary","args":["--canary"]}}`)},
		{Type: "terminal", ID: "here", Name: "Give a code", Args: []string{"--login"}, Env: map[string]string{"CANARY": "canary"}},
		{Type: "env_var", ID: "key", Name: "Use a key", Vars: []agenttest.AuthVar{{Name: "SCRIPTED_KEY"}}},
	}
}

// kept reports whether a login was kept.
func kept(login string) bool {
	_, err := os.Stat(login)
	return err == nil
}

// A login by the agent itself shows what the agent says, and the page that it wants opened.
func TestAgentsLogin(t *testing.T) {
	p := newPlace(t)
	login := filepath.Join(p.home, "login")
	o := agenttest.Options{Auth: loginMethods(), Login: login, Faults: map[string]string{"authenticate": "page https://login.example/start"}}
	broken := agenttest.Options{Auth: loginMethods()[:1], Faults: map[string]string{"authenticate": "stderr no browser on earth; exit 3"}}
	p.config(t, "agents:\n"+entry("bot", o, "")+entry("open", agenttest.Options{}, "")+entry("broken", broken, "")+"  lost: {acp: {command: /no/such/agent}}\n")
	for _, c := range []struct {
		args []string
		code int
		want []string // in its error output
	}{
		{[]string{"bot", "web", "--no-browser"}, program.ExitOK, []string{
			"Log in in the browser, at:\n\n  https://login.example/start\n", `bot: page: {"action":"accept"}`, "bot: open https://login.example/device?code=ABCD to sign in\n",
		}},
		{[]string{"bot", "key"}, program.ExitOK, nil}, // it says that it is logged in
		{[]string{"bot", "wep"}, program.ExitFailed, []string{`dragoman: agent bot: it has no method "wep" to sign in; it has web, here, key`}},
		{[]string{"bot"}, program.ExitUsage, []string{"agent bot has several ways to log in; name one of these in brackets:\n  1  Log in with Scripted: Opens a page (web)\n  2  Give a code (here)\n  3  Use a key (key)\n"}},
		{[]string{"open"}, program.ExitFailed, []string{"agent open: it offers no way to sign in; it may need none, or a key in its environment"}},
		{[]string{"broken"}, program.ExitFailed, []string{"exit code 3; it said: no browser on earth"}},
		{[]string{"lost"}, program.ExitFailed, []string{"start agent lost: start /no/such/agent"}},
		{[]string{"code"}, program.ExitUsage, []string{"code is a built-in agent"}},
		{[]string{"bots"}, program.ExitUsage, []string{`did you mean "bot"?`}},
		{nil, program.ExitUsage, []string{"NAME is missing"}},
	} {
		got := p.run(t, "", append([]string{"agents", "login"}, c.args...)...)
		if got.code != c.code || strings.Contains(got.errs+got.out, "canary") {
			t.Errorf("%v: %+v", c.args, got)
		}
		for _, want := range c.want {
			if !strings.Contains(got.errs, want) {
				t.Errorf("%v: no %q in\n%s", c.args, want, got.errs)
			}
		}
		if ok := strings.HasPrefix(got.out, "You are logged in to agent bot."); ok != (c.code == program.ExitOK) {
			t.Errorf("%v: %q", c.args, got.out)
		}
	}
	if err := os.Remove(login); err != nil {
		t.Error(err)
	}
	if got := p.run(t, "", "agents", "login", "bot", "key"); got.code != program.ExitFailed || got.errs[strings.Index(got.errs, "dragoman:"):] != "dragoman: agent bot: Use a key: set SCRIPTED_KEY under agents.bot.acp.env\n" {
		t.Errorf("%+v", got)
	}
	if got := p.run(t, "1234\n", "acp", "--login", "bot/here"); got.code != program.ExitOK || !kept(login) || !strings.HasPrefix(got.out, "The login program of agent bot has ended.") {
		t.Errorf("%+v", got)
	}
	if got := p.run(t, "\n", "agents", "login", "bot", "here"); got.code != program.ExitFailed || !strings.Contains(got.errs, "sign in to agent bot: exit status 1") {
		t.Errorf("without a code: %+v", got)
	}
}

// A logout is the agent's; one that has none says so.
func TestAgentsLogout(t *testing.T) {
	p := newPlace(t)
	login := filepath.Join(p.home, "login")
	o := agenttest.Options{Auth: loginMethods(), Login: login, Faults: map[string]string{"authenticate": "page https://login.example/start"}}
	p.config(t, "agents:\n"+entry("bot", o, "")+entry("open", agenttest.Options{}, "")+"  lost: {acp: {command: /no/such/agent}}\n")
	if got := p.run(t, "", "agents", "login", "bot", "web", "--no-browser"); got.code != program.ExitOK || !kept(login) {
		t.Fatalf("%+v", got)
	}
	if got := p.run(t, "", "agents", "logout", "bot"); got.code != program.ExitOK || kept(login) || got.out != "Agent bot has forgotten its login.\n" {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{
		"open": "agent open cannot log out by itself", "lost": "start agent lost: start /no/such/agent",
		"code": "code is a built-in agent", "bots": `did you mean "bot"?`,
	} {
		if got := p.run(t, "", "agents", "logout", name); got.code == program.ExitOK || !strings.Contains(got.errs, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// ask is a request whose error is wanted.
func refused(t *testing.T, conn *wire.Conn, method string, params any) (code int, data string) {
	t.Helper()
	var e *jrpc2.Error
	if err := conn.Ask(t.Context(), method, params, nil); !errors.As(err, &e) {
		t.Errorf("%s: %v, want an error", method, err)
		return 0, ""
	}
	return int(e.Code), e.Message + " " + string(e.Data)
}

// An editor logs in to the agent of its sessions, and works on in the same process: after a login that
// was missing, and after one that has expired in the middle of a session, be it the agent's own way or
// one that runs in a terminal. The program that the agent names for editors is never passed on.
func TestEditorsLogInToAgents(t *testing.T) {
	p := newPlace(t)
	login, starts := filepath.Join(p.home, "login"), filepath.Join(p.home, "record")
	o := agenttest.Options{Auth: loginMethods(), Login: login, Load: true, Dir: t.TempDir(), Record: starts}
	p.config(t, "default_agent: bot\nagents:\n"+entry("bot", o, "")+entry("open", agenttest.Options{}, "")+entry("other", agenttest.Options{}, ""))
	p.run(t, "", "agents", "login", "open") // it has no way to
	ctx := t.Context()
	edit := func(auth bool, f func(*wire.Conn, string)) {
		t.Helper()
		c := p.started(t, "acp")
		var all strings.Builder
		conn := wire.NewConn(c.out, c.in, wire.Options{Framing: wire.Newline})
		updates := make(chan string, 1000)
		c.serving.Go(func() {
			_ = conn.Serve(ctx, func(call *wire.Call) { updates <- string(call.Params) }) // the requests show a failure
			close(updates)
		})
		var hello json.RawMessage
		if err := conn.Ask(ctx, "initialize", obj{"protocolVersion": 1, "clientCapabilities": obj{"auth": obj{"terminal": auth}, "_meta": obj{"terminal-auth": true}}}, &hello); err != nil {
			t.Fatal(err)
		}
		all.Write(hello)
		f(conn, string(hello))
		if err := c.end(); err != nil {
			t.Errorf("%v: %s", err, c.stderr.String())
		}
		for u := range updates {
			all.WriteString(u)
		}
		if strings.Contains(all.String(), "canary") || strings.Contains(c.stderr.String(), "canary") {
			t.Errorf("the agent's program for editors was passed on:\n%s\n%s", all.String(), c.stderr.String())
		}
	}
	session := func(conn *wire.Conn) (prompt func(string) error) {
		t.Helper()
		var s struct {
			SessionID string `json:"sessionId"`
		}
		if err := conn.Ask(ctx, "session/new", obj{"cwd": p.work, "mcpServers": []any{}}, &s); err != nil {
			t.Fatal(err)
		}
		return func(text string) error {
			return conn.Ask(ctx, "session/prompt", obj{"sessionId": s.SessionID, "prompt": []obj{{"type": "text", "text": text}}}, nil)
		}
	}
	wants := func(err error) {
		t.Helper()
		var e *jrpc2.Error
		if !errors.As(err, &e) || e.Code != -32000 || strings.Contains(err.Error()+string(e.Data), "canary") || !strings.Contains(string(e.Data), `"id":"bot/web"`) {
			t.Errorf("%v, want -32000 with the ways to log in", err)
		}
	}
	const terminal = `{"type":"terminal","id":"bot/here","name":"bot: Give a code","args":["--login","bot/here"]}`
	edit(false, func(conn *wire.Conn, hello string) {
		if !strings.Contains(hello, `"authMethods":[]`) {
			t.Errorf("before the agent has ever run: %s", hello)
		}
		code, data := refused(t, conn, "session/new", obj{"cwd": p.work, "mcpServers": []any{}})
		if code != -32000 || !strings.Contains(data, "Authentication required: sign in to Scripted first") || !strings.Contains(data, `{"id":"bot/web","name":"bot: Log in with Scripted","description":"Opens a page"}`) ||
			strings.Contains(data, "canary") || strings.Contains(data, "bot/key") {
			t.Errorf("%d %s", code, data)
		}
		for _, method := range []string{"gone/web", "bot/gone", "login"} {
			if code, data := refused(t, conn, "authenticate", obj{"methodId": method}); code != -32000 || !strings.Contains(data, `there is no method "`+method+`" to log in to agent bot; it has bot/web`) {
				t.Errorf("%s: %d %s", method, code, data)
			}
		}
		if err := conn.Ask(ctx, "authenticate", obj{"methodId": "bot/web"}, nil); err != nil {
			t.Fatal(err)
		}
		if code, data := refused(t, conn, "authenticate", obj{"methodId": "bot/gone"}); code != -32602 || !strings.Contains(data, "it has bot/web") {
			t.Errorf("a method that is not there, with a login: %d %s", code, data)
		}
		prompt := session(conn)
		for _, text := range []string{"say one", "expire"} {
			if err := prompt(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		wants(prompt("say two"))
		if err := conn.Ask(ctx, "authenticate", obj{"methodId": "bot/web"}, nil); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"say three", "expire"} {
			if err := prompt(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		wants(prompt("say four"))
		p.well(t, "1234\n", "acp", "--login", "bot/here")
		if err := conn.Ask(ctx, "authenticate", obj{"methodId": "bot/here"}, nil); err != nil {
			t.Errorf("after a login in a terminal: %v", err)
		}
		if err := prompt("say five"); err != nil {
			t.Error(err)
		}
		var status struct {
			State string `json:"state"`
		}
		if err := conn.Ask(ctx, "auth/status", obj{}, &status); err != nil || status.State != "authenticated" {
			t.Errorf("%+v, %v", status, err)
		}
		if err := conn.Ask(ctx, "logout", obj{}, nil); err != nil || kept(login) {
			t.Errorf("logout: %v", err)
		}
		wants(prompt("say six"))
	})
	edit(true, func(_ *wire.Conn, hello string) {
		if strings.Contains(hello, `"id":"open"`) || !strings.Contains(hello, `{"type":"terminal","id":"other","name":"other: log in"`) {
			t.Errorf("an agent that needs no login, and one that has never run: %s", hello)
		}
	})
	count := func() string {
		b, _ := os.ReadFile(starts) // its lines are counted
		return strings.Repeat("x", strings.Count(string(b), "start "))
	}
	before := count()
	edit(true, func(_ *wire.Conn, hello string) {
		if !strings.Contains(hello, `"authMethods":[{"id":"bot/web","name":"bot: Log in with Scripted","description":"Opens a page"},`+terminal+`,{`) {
			t.Errorf("in the next process, with terminals: %s", hello)
		}
	})
	p.well(t, "", "agents", "login", "bot", "web")
	before += "x"
	edit(false, func(_ *wire.Conn, hello string) {
		if !strings.Contains(hello, `"authMethods":[]`) {
			t.Errorf("with a login: %s", hello)
		}
	})
	if n := count(); n != before {
		t.Errorf("%d agents were started for initialize", len(n)-len(before))
	}
}

// In a chat of an ECA editor /login logs in to the agent, with what it says meanwhile, and the chat works on.
func TestChatsLogInToAgents(t *testing.T) {
	p := newPlace(t)
	o := agenttest.Options{Auth: loginMethods()}
	p.config(t, "default_agent: bot\nagents:\n"+entry("bot", o, ""))
	c := p.started(t, "server")
	s := make(inbox, 1000)
	conn := c.connect(t.Context(), wire.ContentLength, s.handle)
	if err := conn.Ask(t.Context(), "initialize", obj{"capabilities": obj{"codeAssistant": obj{"chat": true}}, "workspaceFolders": []any{obj{"uri": "file://" + filepath.ToSlash(p.work), "name": "w"}}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Notify("initialized", obj{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ prompt, shown string }{
		{"say one", "agent bot wants a login: Authentication required: sign in to Scripted first (dragoman agents login bot)"},
		{"/login bot", "/login bot web"},
		{"/login bot", "Use a key: set SCRIPTED_KEY under agents.bot.acp.env"},
		{"/login bot key", "Use a key: set SCRIPTED_KEY under agents.bot.acp.env, and then send the prompt again."},
		{"/login bot here", "dragoman agents login bot here"},
		{"/login bot web", "open https://login.example/device?code=ABCD to sign in"},
		{"say two", `two`},
	} {
		if err := conn.Ask(t.Context(), "chat/prompt", obj{"chatId": "c", "message": step.prompt}, nil); err != nil {
			t.Fatal(err)
		}
		call := s.until(t, "chat/contentReceived", step.shown)
		if strings.Contains(string(call.Params), "canary") {
			t.Errorf("%s: %s", step.prompt, call.Params)
		}
		s.until(t, "chat/contentReceived", `"finished"`)
	}
	if err := conn.Ask(t.Context(), "shutdown", nil, nil); err != nil {
		t.Error(err)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// Another agent is told the command that logs in.
func TestProgramsAreToldHowToLogIn(t *testing.T) {
	p := newPlace(t)
	p.config(t, "agents:\n"+entry("bot", agenttest.Options{Auth: loginMethods()}, ""))
	c := p.started(t, "mcp")
	conn := c.connect(t.Context(), wire.Newline, make(inbox, 100).handle)
	if err := conn.Ask(t.Context(), "initialize", obj{"protocolVersion": "2025-11-25", "capabilities": obj{}, "clientInfo": obj{"name": "x", "version": "1"}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Notify("notifications/initialized", nil); err != nil {
		t.Fatal(err)
	}
	var r json.RawMessage
	if err := conn.Ask(t.Context(), "tools/call", obj{"name": "agent_prompt", "arguments": obj{"prompt": "hello", "cwd": p.work, "agent": "bot"}}, &r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(r), `"isError":true`) || !strings.Contains(string(r), "dragoman agents login bot") || strings.Contains(string(r), "canary") {
		t.Errorf("%s", r)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}
