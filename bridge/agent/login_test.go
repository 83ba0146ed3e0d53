package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dragoman/adapters/proto/acp"
	"dragoman/bridge/agent"
	"dragoman/bridge/agent/agenttest"
	"dragoman/bridge/agent/known"
	"dragoman/bridge/agent/signin"
	"dragoman/core"
)

// methods are the ways to sign in to an agent of each kind. The first names a program for editors.
var methods = []agenttest.AuthMethod{
	{ID: "web", Name: "Web", Meta: json.RawMessage(`{"terminal-auth":{"command":"/canary/program","args":["x"],"label":"canary"}}`)},
	{Type: "terminal", ID: "here", Name: "Terminal", Args: []string{"--login"}, Env: map[string]string{"CANARY": "1"}},
	{Type: "env_var", ID: "key", Name: "Key", Vars: []agenttest.AuthVar{{Name: "SCRIPTED_KEY"}}},
}

// heard collects what an agent says during a login.
type heard struct {
	mu   sync.Mutex
	list []string
	show bool // it shows pages
}

func (h *heard) hear(_ context.Context, s signin.Saying) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, strings.TrimSpace(s.Text+" "+s.URL))
	return h.show
}

func (h *heard) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.list, "\n")
}

func backendOf(c *chat) *agent.Backend { return c.profile.Agents[0].Backend.(*agent.Backend) }

// wantsLogin fails unless a prompt ends for want of a login.
func (c *chat) wantsLogin(prompt string) {
	c.t.Helper()
	if _, end := c.say(prompt); end.Stop != core.StopError || end.Login != "scripted" || !strings.Contains(end.Err, "dragoman agents login scripted") || strings.Contains(end.Err, "canary") {
		c.t.Errorf("%q: %+v", prompt, end)
	}
}

// After a login the session goes on, whether the agent keeps the login for its next program or not.
func TestSessionsGoOnAfterTheLogin(t *testing.T) {
	for name, login := range map[string]string{"kept": filepath.Join(t.TempDir(), "login"), "of the program": ""} {
		t.Run(name, func(t *testing.T) {
			rec := newRecord(t)
			c := one(t, agenttest.Options{Auth: methods, Login: login, Record: rec.path, Load: true, Dir: t.TempDir()})
			b := backendOf(c)
			c.wantsLogin("say one")
			h := &heard{}
			if err := b.Authenticate(c.ctx, "web", h.hear); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(h.text(), "open https://login.example/device?code=ABCD") {
				t.Errorf("heard: %q", h.text())
			}
			c.says("say two", "two\n")
			c.says("expire", "")
			c.wantsLogin("say three")
			started := rec.count("start")
			if err := b.Authenticate(c.ctx, "web", nil); err != nil {
				t.Fatal(err)
			}
			c.says("say four", "four\n")
			if n := rec.count("start"); n != started {
				t.Errorf("%d programs were started for a login in one that runs", n-started)
			}
		})
	}
}

// A login that is made elsewhere counts from the next prompt on: a program that has refused one is
// started again.
func TestLoginElsewhere(t *testing.T) {
	login, rec := filepath.Join(t.TempDir(), "login"), newRecord(t)
	signIn := func() {
		if err := os.WriteFile(login, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	signIn()
	c := one(t, agenttest.Options{Auth: methods, Login: login, Record: rec.path, Load: true, Dir: t.TempDir()})
	c.says("say one", "one\n")
	c.says("expire", "")
	c.wantsLogin("say two")
	c.wantsLogin("say two")
	signIn()
	c.says("say three", "three\n")
	if n, loads := rec.count("start"), rec.count("session/load"); n != 3 || loads != 2 {
		t.Errorf("%d starts, %d loads", n, loads)
	}
}

// A page that the agent knows to have been used is not asked about any longer, and counts as opened.
func TestPageThatWasUsed(t *testing.T) {
	rec := newRecord(t)
	c := one(t, agenttest.Options{Record: rec.path})
	c.answer = always(core.Reply{})
	c.says("page https://example.org/login used\nsay on", "on\n")
	if asks := c.at.Pending(); len(c.asked) != 1 || len(asks) != 0 {
		t.Errorf("asked %+v, pending %+v", c.asked, asks)
	}
	if got, err := os.ReadFile(rec.path); err != nil || !strings.Contains(string(got), `"result":{"action":"accept"}`) {
		t.Errorf("the agent got %s, %v", got, err)
	}
}

// Pages that the agent wants opened during a login, without a session, are shown. The answer is
// what became of that.
func TestPagesOfALogin(t *testing.T) {
	for _, c := range []struct {
		page  string
		shows bool
		want  string
	}{
		{"https://login.example/x", true, `page: {"action":"accept"}`},
		{"https://login.example/x", false, `page: {"action":"decline"}`},
		{"file:///etc/passwd", true, `page: {"action":"decline"}`},
		{"https:opaque", true, `page: {"action":"decline"}`},
	} {
		room := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{Auth: methods, Faults: map[string]string{"authenticate": "page " + c.page}})})
		h := &heard{show: c.shows}
		if err := room.profile.Agents[0].Backend.(*agent.Backend).Authenticate(room.ctx, "web", h.hear); err != nil {
			t.Error(err)
		}
		got := h.text()
		if !strings.Contains(got, c.want) || strings.Contains(got, "Sign in to Scripted "+c.page) != strings.HasPrefix(c.page, "https://") {
			t.Errorf("%+v:\n%s", c, got)
		}
	}
}

// What another process knows about the logins is in the notes, without secrets and without the
// program that an agent names for editors. Nothing is started for them.
func TestNotes(t *testing.T) {
	path, login, rec := filepath.Join(t.TempDir(), "logins.json"), filepath.Join(t.TempDir(), "login"), newRecord(t)
	o := agenttest.Options{Auth: methods, Login: login, Record: rec.path}
	notes := func(o *agent.Options) { o.Notes = signin.NewNotes(path) }
	is := func(b *agent.Backend, ids string, wanted bool) {
		t.Helper()
		list, wants, _ := b.SignIns()
		var got []string
		for _, s := range list {
			got = append(got, s.ID)
		}
		if strings.Join(got, " ") != ids || wants != wanted {
			t.Errorf("%v, %t; want %s, %t", got, wants, ids, wanted)
		}
	}
	first, second := one(t, o, notes), one(t, o, notes)
	is(backendOf(first), "", false)
	first.wantsLogin("say one")
	is(backendOf(first), "web here key", true)
	is(backendOf(second), "web here key", true)
	if st, err := backendOf(second).SignInStatus(second.ctx); err != nil || st.State != acp.Unauthenticated {
		t.Errorf("%+v, %v", st, err)
	}
	if n := rec.count("start"); n != 1 {
		t.Errorf("%d starts", n)
	}
	if err := backendOf(second).Authenticate(second.ctx, "web", nil); err != nil {
		t.Fatal(err)
	}
	is(backendOf(first), "web here key", false)
	first.says("say one", "one\n")
	if err := backendOf(first).Logout(first.ctx); err != nil {
		t.Fatal(err)
	}
	is(backendOf(second), "web here key", true)
	b, err := os.ReadFile(path)
	if err != nil || strings.Contains(strings.ToLower(string(b)), "canary") || strings.Contains(string(b), "--login") {
		t.Errorf("%s, %v", b, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	is(backendOf(one(t, o, notes)), "", false)
}

// What is no login by the agent itself is refused with advice; an agent that says that it is signed
// in is not asked again.
func TestAuthenticate(t *testing.T) {
	login, rec := filepath.Join(t.TempDir(), "login"), newRecord(t)
	c := one(t, agenttest.Options{Auth: methods, Login: login, Record: rec.path})
	b := backendOf(c)
	for id, want := range map[string]string{
		"here": "agent scripted wants a login: Terminal works only in a terminal (dragoman agents login scripted)",
		"key":  "agent scripted wants a login: Key: set SCRIPTED_KEY under agents.scripted.acp.env",
		"none": `it has no method "none" to sign in; it has web, here, key`,
	} {
		if err := b.Authenticate(c.ctx, id, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v", id, err)
		}
	}
	if st, err := b.SignInStatus(c.ctx); err != nil || st.State != acp.AuthUnknown {
		t.Errorf("%+v, %v", st, err)
	}
	for range 2 {
		if err := b.Authenticate(c.ctx, "", nil); err != nil {
			t.Error(err)
		}
	}
	if st, err := b.SignInStatus(c.ctx); err != nil || st.State != acp.Authenticated {
		t.Errorf("without a program: %+v, %v", st, err)
	}
	if n := rec.count("authenticate"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	c.says("say one", "one\n")
	if st, err := b.SignInStatus(c.ctx); err != nil || st.State != acp.Authenticated {
		t.Errorf("%+v, %v", st, err)
	}
}

// A variable is set where we are started only if the agent gets it from there.
func TestVariablesOfALogin(t *testing.T) {
	for _, c := range []struct {
		known []string
		want  string
	}{
		{[]string{"SCRIPTED_*"}, "set SCRIPTED_KEY and SCRIPTED_ID where dragoman is started, or under agents.bot.acp.env"},
		{[]string{"SCRIPTED_KEY"}, "set SCRIPTED_KEY and SCRIPTED_ID under agents.bot.acp.env"},
	} {
		b := agent.New(agent.Options{Name: "bot", Known: known.Agent{Env: c.known}})
		if got := b.Instead(agent.SignIn{Vars: []string{"SCRIPTED_KEY", "SCRIPTED_ID"}}); got != c.want {
			t.Errorf("%v: %s", c.known, got)
		}
		if got := b.Instead(agent.SignIn{Terminal: true}); got != "" {
			t.Error(got)
		}
	}
}

// A login that fails is an error in the agent's words, and the agent's end one with its last words.
func TestFailedLogins(t *testing.T) {
	for fault, want := range map[string]string{
		"error -32603 no account":            "authenticate: no account (error -32603)",
		"error -32000 the page was closed":   "agent scripted wants a login: the page was closed (dragoman agents login scripted)",
		"stderr no browser on earth; exit 7": "exit code 7; it said: no browser on earth",
	} {
		room := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{Auth: methods, Faults: map[string]string{"authenticate": fault}})})
		if err := room.profile.Agents[0].Backend.(*agent.Backend).Authenticate(room.ctx, "web", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", fault, err)
		}
	}
	room := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{Auth: methods, Faults: map[string]string{"authenticate": "stderr waiting; wait"}})})
	ctx, cancel := context.WithCancelCause(room.ctx)
	given := errors.New("given up")
	err := room.profile.Agents[0].Backend.(*agent.Backend).Authenticate(ctx, "web", func(_ context.Context, s signin.Saying) bool {
		if s.Text == "waiting" {
			cancel(given)
		}
		return false
	})
	if err == nil {
		t.Error("a login that was given up has succeeded")
	}
}

// A login that is made elsewhere counts from the next prompt on, also where the program that has
// refused one cannot be replaced without a loss (the agent does not load) or has other sessions.
func TestLoginElsewhereForAnAgentThatCannotGoOn(t *testing.T) {
	for name, o := range map[string]agenttest.Options{"without load": {}, "shared": {Load: true, Dir: t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			notes, faults := filepath.Join(t.TempDir(), "logins.json"), filepath.Join(t.TempDir(), "faults")
			write := func(text string) {
				if err := os.WriteFile(faults, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o.FaultsFile = faults // read at the start, as many agents read their login
			write(`{"session/prompt":"error -32000 expired"}`)
			change := func(o *agent.Options) { o.Notes, o.Shared = signin.NewNotes(notes), name == "shared" }
			room := newRoom(t, []core.Agent{scripted(t, "scripted", o, change)})
			chats := []*chat{room.begin(""), room.begin("")}
			for _, c := range chats {
				c.wantsLogin("say one")
			}
			write(`{}`)
			chats[0].wantsLogin("say two") // nobody has logged in yet
			elsewhere := one(t, agenttest.Options{Auth: methods}, change)
			if err := backendOf(elsewhere).Authenticate(elsewhere.ctx, "web", nil); err != nil {
				t.Fatal(err)
			}
			for _, c := range chats {
				c.says("say three", "three\n")
			}
		})
	}
}
