package ecaserver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/agent/elsewhere"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/agent/signin"
	"dragoman/bridge/ecaserver"
	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
)

// A question of the server is put to the user, who chooses, writes or declines.
func TestQuestions(t *testing.T) {
	const question = `ask {"question":"Which?","options":[{"label":"red","description":"like a rose"},{"label":"blue"}],"allowFreeform":true}`
	for _, test := range []struct {
		name  string
		reply core.Reply
		want  string
	}{
		{"an option", core.Reply{Outcome: core.OutcomeAnswered, Option: "2"}, `answer: {"answer":"blue","cancelled":false}`},
		{"a text", core.Reply{Outcome: core.OutcomeAnswered, Text: "green"}, `answer: {"answer":"green","cancelled":false}`},
		{"no answer", core.Reply{Outcome: core.OutcomeDeclined}, `answer: {"answer":null,"cancelled":true}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := one(t, ecatest.Options{})
			c.answer = always(test.reply)
			c.says(question, test.want+"\n")
			if len(c.asked) != 1 || c.asked[0].Kind != core.AskQuestion || c.asked[0].Text != "Which?" || !c.asked[0].Freeform || len(c.asked[0].Options) != 2 {
				t.Errorf("%+v", c.asked)
			}
		})
	}
}

// A stopped turn ends the server's as well, and what it waits for; the next prompt comes behind that.
func TestCancel(t *testing.T) {
	for _, prompt := range []string{"say on it\nwait", `call {"name":"shell_command","arguments":{"command":"ls"},"manual":true}`, `ask {"question":"?"}`} {
		t.Run(strings.Fields(prompt)[0], func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			c := one(t, ecatest.Options{Record: record})
			c.answer = always(core.Reply{})
			id := c.prompt(prompt)
			c.until(func(ev core.Event) bool {
				switch ev.(type) {
				case core.TextDelta, core.Asked:
					return true
				}
				return false
			})
			if err := c.at.Cancel(c.ctx, id, core.ErrCanceled); err != nil {
				t.Fatal(err)
			}
			if end := c.ended(id); end.Stop != core.StopCanceled {
				t.Errorf("%+v", end)
			}
			c.says("say next", "next\n")
			if n := len(recorded(t, record, "chat/promptStop")); n != 1 {
				t.Errorf("%d stops", n)
			}
			if len(c.at.State().Asks) > 0 || strings.Contains(c.notices(), "Prompt stopped") {
				t.Errorf("%+v, %s", c.at.State().Asks, c.notices())
			}
		})
	}
}

// A server that does not stop is ended, and the next prompt starts another one.
func TestDeafServer(t *testing.T) {
	c := one(t, ecatest.Options{Dir: t.TempDir()})
	c.back().Hurry(300 * time.Millisecond)
	id := c.prompt("say on it", "deaf")
	c.until(func(ev core.Event) bool { _, ok := ev.(core.TextDelta); return ok })
	if err := c.at.Cancel(c.ctx, id, core.ErrCanceled); err != nil {
		t.Fatal(err)
	}
	c.ended(id)
	c.says("say next", "next\n")
}

// Each prompt carries the current choices. A new choice is also sent at once, because the server may then offer
// other variants.
func TestChoices(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	c := one(t, ecatest.Options{Record: record, Variants: []string{"low", "high"}}, func(o *ecaserver.Options) {
		o.Choices = map[string]string{"agent": "plan", "nonsense": "x", "model": "none"}
	})
	c.says("say hello", "hello\n")
	offered := c.at.State().Offered
	var got []string
	for _, o := range offered.Choices {
		got = append(got, fmt.Sprintf("%s %s %s %d", o.ID, o.Category, o.Value, len(o.Values)))
	}
	if want := []string{"agent mode plan 2", "model model acme/small 2", "variant thought_level default 3"}; !slices.Equal(got, want) {
		t.Errorf("offered %q", got)
	}
	if n := c.notices(); !strings.Contains(n, `it has no option "nonsense"`) || !strings.Contains(n, `it has no value "none" for its option "model"`) {
		t.Errorf("notices %q", n)
	}
	for id, value := range map[string]string{"model": "acme/large", "variant": "high"} {
		if err := c.gateway.Choose(c.ctx, c.at, id, value); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := c.gateway.Choose(c.ctx, c.at, "model", "wrong"); err == nil {
		t.Error("a model that is not offered was chosen")
	}
	c.says("say again", "again\n")
	prompts := recorded(t, record, "chat/prompt")
	if len(prompts) != 2 || !strings.Contains(prompts[0], `"agent":"plan"`) || strings.Contains(prompts[0], `"model"`) ||
		!strings.Contains(prompts[1], `"model":"acme/large"`) || !strings.Contains(prompts[1], `"variant":"high"`) || !strings.Contains(prompts[1], `"agent":"plan"`) {
		t.Errorf("%q", prompts)
	}
	if told := recorded(t, record, "chat/selectedModelChanged"); len(told) == 0 || !strings.Contains(told[len(told)-1], "acme/large") {
		t.Errorf("%q", told)
	}
	if st := c.at.State().Offered; st.Choice("model").Value != "acme/large" || st.Choice("variant").Value != "high" {
		t.Errorf("%+v", st.Choices)
	}
}

// A server that dies ends its turn, and the next prompt continues the chat in another process, without a brief.
// One that has lost the chat gets a new one, and is told what was said.
func TestDeathAndContinuation(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		t.Run(fmt.Sprintf("it keeps chats %t", keeps), func(t *testing.T) {
			record, dir := filepath.Join(t.TempDir(), "record"), ""
			if keeps {
				dir = t.TempDir()
			}
			c := one(t, ecatest.Options{Record: record, Dir: dir})
			c.says("say hello", "hello\n")
			said, end := c.say("say on it\ndies")
			if end.Stop != core.StopError || !strings.Contains(end.Err, "ended in the middle of the turn") || said != "on it\n" {
				t.Errorf("%q, %+v", said, end)
			}
			c.says("say back", "back\n")
			prompts, opens := recorded(t, record, "chat/prompt"), recorded(t, record, "chat/open")
			if briefed := strings.Contains(prompts[2], "What was said so far"); briefed == keeps || len(opens) != 1 {
				t.Errorf("%q, %d opened", prompts, len(opens))
			}
			if title := c.at.State().Title; title != "say hello" { // and not the brief
				t.Errorf("title %q", title)
			}
			if told := strings.Contains(c.notices(), "could not continue its chat"); told == keeps {
				t.Errorf("notices %q", c.notices())
			}
		})
	}
}

// The error of a prompt reaches the user in the server's words.
func TestFailures(t *testing.T) {
	for _, test := range []struct{ prompt, want, login string }{
		{"fails No credits left", "No credits left", ""},
		{"refuses It is down", "It is down", ""},
		{"login", "providers", "scripted"},
	} {
		t.Run(test.prompt, func(t *testing.T) {
			c := one(t, ecatest.Options{})
			_, end := c.say(test.prompt)
			if end.Stop != core.StopError || !strings.Contains(end.Err, test.want) || end.Login != test.login {
				t.Errorf("%+v", end)
			}
			c.says("say next", "next\n")
		})
	}
}

// Messages to the turn reach the server, and are prompted if it has not taken them.
func TestSteering(t *testing.T) {
	c := one(t, ecatest.Options{})
	id := c.prompt("say on it", "steer")
	c.until(func(ev core.Event) bool { _, ok := ev.(core.TextDelta); return ok })
	if !c.at.Steer([]core.Block{core.Text{Text: "say hurry"}}) {
		t.Fatal("the turn takes no messages")
	}
	if end := c.ended(id); end.Stop != core.StopEnd || c.text() != "on it\nsteered: say hurry\n" {
		t.Errorf("%+v, %q", end, c.text())
	}
	for want, blocks := range map[string][]core.Block{
		"steered: /w/a.txt\n":                {core.Link{URI: "file:///w/a.txt", Name: "a.txt"}},
		"steered: see a.txt now\n/w/a.txt\n": {core.Text{Text: "see "}, core.Link{URI: "file:///w/a.txt"}, core.Text{Text: " now"}},
		"steered: mcp://x/y\nthe text\n":     {core.Resource{URI: "mcp://x/y", Text: "the text"}},
	} {
		id = c.prompt("say on it", "steer")
		c.until(func(ev core.Event) bool { _, ok := ev.(core.TextDelta); return ok })
		c.at.Steer(blocks)
		if end := c.ended(id); end.Stop != core.StopEnd || c.text() != "on it\n"+want {
			t.Errorf("%+v, %q, want %q", end, c.text(), want)
		}
	}
	id = c.prompt("say on it", "steer\nsay done")
	c.until(func(ev core.Event) bool { _, ok := ev.(core.TextDelta); return ok })
	c.at.Steer([]core.Block{core.Image{MIME: "image/png", Data: []byte{1}}})
	c.until(func(core.Event) bool { return strings.Contains(c.notices(), "without words") })
	c.at.Steer([]core.Block{core.Text{Text: "go on"}})
	c.ended(id)
	id = c.prompt("say on it", `ask {"question":"?"}`)
	c.answer = func(a core.Ask) core.Reply {
		c.at.Steer([]core.Block{core.Text{Text: "say hurry"}})
		return core.Reply{}
	}
	c.until(func(ev core.Event) bool { _, ok := ev.(core.Steered); return ok })
	if err := c.at.Answer(c.ctx, c.asked[0].ID, core.Reply{Outcome: core.OutcomeDeclined}); err != nil {
		t.Fatal(err)
	}
	if end := c.ended(id); end.Stop != core.StopEnd || !strings.HasSuffix(c.text(), "hurry\n") {
		t.Errorf("%+v, %q", end, c.text())
	}
}

// Going back in the session goes back in the chat, by the server's own id of the message.
func TestRewind(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	c := one(t, ecatest.Options{Record: record})
	c.says("say one", "one\n")
	before := c.at.Head()
	c.says("say two", "two\n")
	c.says("say three", "three\n")
	if err := c.at.Truncate(c.ctx, before); err != nil {
		t.Fatal(err)
	}
	c.says("say four", "four\n")
	back, prompts := recorded(t, record, "chat/rollback"), recorded(t, record, "chat/prompt")
	if len(back) != 1 || !strings.Contains(back[0], `"contentId":"content-2-`) || !strings.Contains(back[0], `"include":["messages"]`) || len(prompts) != 4 {
		t.Errorf("%q; %d prompts", back, len(prompts))
	}
}

// Going back while the server does not run is made up for when it opens the chat again.
func TestRewindWithoutTheServer(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	c := one(t, ecatest.Options{Record: record, Dir: t.TempDir()})
	c.says("say one", "one\n")
	before := c.at.Head()
	c.says("say two", "two\n")
	c.says("say three", "three\n")
	id := c.session.Meta().ID
	if err := c.gateway.Close(c.ctx); err != nil {
		t.Fatal(err)
	}
	next := newRoomIn(t, c.home, c.profile.Agents[0])
	s, err := next.gateway.Open(next.ctx, core.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	d := next.join(s)
	if err := d.at.Truncate(d.ctx, before); err != nil {
		t.Fatal(err)
	}
	d.ended(d.prompt("say four"))
	back, prompts := recorded(t, record, "chat/rollback"), recorded(t, record, "chat/prompt")
	if len(back) != 1 || !strings.Contains(back[0], `"contentId":"content-2-`) || len(prompts) != 4 || strings.Contains(prompts[3], "What was said so far") {
		t.Errorf("%q; %q", back, prompts)
	}
}

// A chat that the server had before is listed, and becomes a session with its history.
func TestImport(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "agents.json")
	history := elsewhere.NewHistory(file)
	with := func(o *ecaserver.Options) { o.History = history }
	r := newRoom(t, scripted(t, ecatest.Options{Dir: dir}, with))
	c := r.begin()
	c.says("say hello\nthink so\n"+`call {"name":"read_file","arguments":{"path":"/x"},"output":"text"}`, "hello\n")
	c.says("say again", "again\n")
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	chat := strings.TrimSuffix(filepath.Base(names[0]), ".json")
	next := newRoom(t, scripted(t, ecatest.Options{Dir: dir}, with))
	s, err := next.gateway.Create(next.ctx, core.Meta{Principal: core.Local, Cwd: next.dir, From: core.Source{Agent: "scripted", Session: chat}})
	if err != nil {
		t.Fatal(err)
	}
	d := next.join(s)
	d.prompt("say more")
	d.until(func(ev core.Event) bool { e, ok := ev.(core.TextDelta); return ok && e.Text == "more\n" })
	var got []string
	for _, ev := range d.events {
		if e, ok := ev.(core.TurnStarted); ok && len(e.Prompt) == 1 {
			line, _, _ := strings.Cut(e.Prompt[0].(core.Text).Text, "\n")
			got = append(got, line)
		}
	}
	if want := []string{"say hello", "say again", "say more"}; !slices.Equal(got, want) || !slices.Equal(d.states(), []string{"read_file: proposed running succeeded"}) || d.at.State().Title != "say hello" {
		t.Errorf("%q, %q, %q", got, d.states(), d.at.State().Title)
	}
	if text := d.text(); text != "hello\nagain\nmore\n" {
		t.Errorf("%q", text)
	}
}

// A server's requests about the editor are refused where there is none, and other requests too.
func TestRequestsWithoutAnEditor(t *testing.T) {
	c := one(t, ecatest.Options{})
	c.says(`request editor/getDiagnostics {"uri":"file:///x"}`, "error -32603\n")
	c.says(`request editor/getDefinition {"uri":"file:///x","position":{"line":1,"character":1}}`, `{"status":"error","message":"the editor has left"}`+"\n")
	c.says(`request editor/glow {}`, "error -32601\n")
	c.says(`request chat/askQuestion {"chatId":"other","question":"?"}`, "error -32602\n")
}

// Signing in is a login to one of the server's providers.
func TestSignIn(t *testing.T) {
	login, record := filepath.Join(t.TempDir(), "login"), filepath.Join(t.TempDir(), "record")
	c := one(t, ecatest.Options{Login: login, Record: record})
	b := c.back()
	if _, end := c.say("say hello"); end.Login != "scripted" {
		t.Errorf("%+v", end)
	}
	list, err := b.AskSignIns(c.ctx)
	if err != nil || len(list) != 2 || list[0].ID != "acme/web" || list[0].Name != "Acme: In the browser" {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, wanted, known := b.SignIns(); !wanted || !known {
		t.Errorf("wanted %t, known %t", wanted, known)
	}
	if err := b.Authenticate(c.ctx, "acme/key", nil); err == nil || !strings.Contains(err.Error(), "at a terminal") {
		t.Errorf("%v", err)
	}
	page := ""
	if err := b.Authenticate(c.ctx, "", func(_ context.Context, s signin.Saying) bool { page = s.URL; return true }); err != nil || page != "https://acme.example/login" {
		t.Fatalf("%q, %v", page, err)
	}
	c.says("say hello", "hello\n")
	if err := b.Logout(c.ctx); err != nil {
		t.Error(err)
	}
	m, err := b.Login(c.ctx, "acme/key", signin.LoginTerminal{Input: func(string, bool) (string, error) { return "secret", nil }})
	if inputs := recorded(t, record, "providers/loginInput"); err != nil || m.ID != "acme/key" || len(inputs) != 1 || !strings.Contains(inputs[0], `"api-key":"secret"`) {
		t.Errorf("%+v, %v, %q", m, err, inputs)
	}
}

// A trial says what a server can do.
func TestTry(t *testing.T) {
	for _, login := range []string{"", filepath.Join(t.TempDir(), "login")} {
		opt := optionsOf(t, ecatest.Options{Login: login, Variants: []string{"low"}})
		got, err := ecaserver.Try(t.Context(), opt, t.TempDir())
		if wants := login != ""; got.Name != "scripted" || got.Hello == 0 || len(got.Choices) != 3 || len(got.SignIns) != 2 || !got.Reloads || (err != nil) != wants {
			t.Errorf("%+v, %v", got, err)
		}
	}
	opt := optionsOf(t, ecatest.Options{Faults: map[string]string{"initialize": "dies"}})
	if _, err := ecaserver.Try(t.Context(), opt, t.TempDir()); err == nil {
		t.Error("a server that dies was found to be fine")
	}
}

// The program ends with its session.
func TestProgramsEnd(t *testing.T) {
	pool := launch.NewPool()
	c := one(t, ecatest.Options{}, func(o *ecaserver.Options) { o.Pool = pool })
	c.says("say hello", "hello\n")
	if n := len(pool.Members()); n != 1 {
		t.Errorf("%d programs run", n)
	}
	if err := c.gateway.Close(c.ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(pool.Members()); n != 0 {
		t.Errorf("%d programs run after the end", n)
	}
	if _, err := os.Stat(c.dir); err != nil {
		t.Error(err)
	}
}
