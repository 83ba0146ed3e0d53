package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// chosen is what an ECA client was told that can be chosen, last.
type chosen struct {
	Models, Agents []string
	SelectModel    string
}

// told reads until what can be chosen is as wanted.
func (e *editor) told(what string, holds func(chosen) bool) {
	e.t.Helper()
	var now chosen
	e.until(what, func(m message) {
		e.dialect.take(e, m)
		var p struct{ Chat *chosen }
		if m.Method == "config/updated" && json.Unmarshal(m.Params, &p) == nil && p.Chat != nil {
			now = *p.Chat
		}
	}, func() bool { return holds(now) })
}

// userConfig writes the configuration where it is found without a flag.
func (p *place) userConfig(t testing.TB, text string) {
	t.Helper()
	p.put(t, filepath.Join(p.home, ".config", "dragoman", "config.yaml"), text)
}

// put writes a file and the folders that it stands in.
func (p *place) put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// feed runs the binary to its end with an input.
func (p *place) feed(t testing.TB, stdin string, args ...string) (text string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = p.env, p.work, strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code tells
	return out.String(), cmd.ProcessState.ExitCode()
}

// linuxOnly skips where the configuration has another place.
func linuxOnly(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the configuration's own place is another one here")
	}
}

// An editor hears of a changed configuration by itself; a mistake in it costs
// nothing that there was before.
func TestConfigurationChangesWhileAnEditorIsConnected(t *testing.T) {
	t.Parallel()
	linuxOnly(t)
	p := newPlace(t)
	p.userConfig(t, "agents: {first: {description: one}}\n")
	e := p.edit(t, ecaDialect(), launch{})
	e.told("the agents", func(c chosen) bool { return slices.Equal(c.Agents, []string{"code", "plan", "first"}) })
	chat := e.begin()
	if end := e.run(chat, "read notes.txt"); end != endOK {
		t.Fatalf("the first turn: %s", end)
	}
	p.userConfig(t, "agents: {first: {description: one}, second: {description: two}}\n")
	e.told("another agent", func(c chosen) bool { return slices.Contains(c.Agents, "second") })
	p.userConfig(t, "agnets: {}\n")
	if end := e.run(chat, "read notes.txt"); end != endOK {
		t.Errorf("with a mistake in the file: %s", end)
	}
	wantText(t, "what the chat was told", strings.Join(e.view(chat).facts, "\n"), "agnets: unknown key; did you mean")
	p.userConfig(t, "agents: {third: {description: three}}\n")
	e.told("what was mended", func(c chosen) bool { return slices.Equal(c.Agents, []string{"code", "plan", "third"}) })
	p.put(t, filepath.Join(p.work, ".dragoman", "agents", "scout.md"), "---\ndescription: Looks\n---\nLook around.\n")
	e.told("an agent of the workspace", func(c chosen) bool { return slices.Contains(c.Agents, "scout") })
	e.leave()
}

// A key that is given in a terminal is used at once by an editor that is connected,
// and stands nowhere but in its file.
func TestLogin(t *testing.T) {
	t.Parallel()
	const key = "sk-hunter2-0123456789abcdef"
	p := newPlace(t)
	e := p.edit(t, ecaDialect(), launch{}, "--log-level", "debug")
	e.told("the offline demo", func(c chosen) bool { return c.SelectModel == "offline/demo" })
	text, code := p.feed(t, key+"\n", "login", "groq")
	if code != 0 {
		t.Fatalf("login: %d %s", code, text)
	}
	e.told("the models of the provider", func(c chosen) bool { return c.SelectModel == "groq/openai/gpt-oss-120b" })
	var shown []string
	for _, args := range [][]string{{"login"}, {"config", "show"}, {"doctor"}, {"sessions", "list"}} {
		text, _ := p.feed(t, "", args...)
		shown = append(shown, text)
	}
	wantText(t, "dragoman login", shown[0], "groq         the key was given\n")
	wantText(t, "dragoman doctor", shown[2], "a key was given for groq")
	for _, text := range append(shown, text, e.stderr(), strings.Join(e.last, "\n")) {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the key shows:\n%.2000s", text)
		}
	}
	path := filepath.Join(p.data, "auth.json")
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if text, code = p.feed(t, "", "logout", "groq"); code != 0 {
		t.Errorf("logout: %s", text)
	}
	e.told("that the key is gone", func(c chosen) bool { return c.SelectModel == "offline/demo" })
	for what, args := range map[string][]string{"did you mean \"groq\"?": {"login", "grok"}, "needs no key": {"login", "ollama"}, "the key is empty": {"login", "openai"}, "something else": {"login", "openai"}} {
		stdin := ""
		if what == "something else" {
			stdin = "two words\n"
		}
		if text, code := p.feed(t, stdin, args...); code != 1 || !strings.Contains(text, what) {
			t.Errorf("%v: %d %s", args, code, text)
		}
	}
	e.leave()
}

// What an editor sets lies below the file; what is wrong in it is said and costs
// nothing else, and the command line is the one that ECA's clients use.
func TestEditorsOptions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.config(t, "agents: {filed: {description: of the file}, both: {description: the file's}}\n")
	d := ecaDialect()
	plain := d.hello
	d.hello = func(e *editor) []any {
		list := plain(e)
		list[0].(object)["params"].(object)["initializationOptions"] = object{
			"chatAgent": "plan", "unheardOf": true, "limits": object{"max_turn_requests": 0},
			"agents": object{"edited": object{"description": "of the editor"}, "both": object{"description": "the editor's"}},
		}
		return list
	}
	d.name = "server"
	e := p.edit(t, d, launch{}, "--log-level", "warn", "--config", file)
	e.told("the agents of both", func(c chosen) bool {
		return slices.Contains(c.Agents, "edited") && slices.Contains(c.Agents, "filed") && slices.Contains(c.Agents, "both")
	})
	if end := e.run(e.begin(), "read notes.txt"); end != endOK {
		t.Errorf("the turn: %s", end)
	}
	e.leave()
	wantText(t, "the log", e.stderr(), "unheardOf")
	if strings.Contains(e.stderr(), "chatAgent") {
		t.Errorf("an option of every client is warned of:\n%s", e.stderr())
	}
}

// The same in the editor's own way.
func TestLoginInAnEditor(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	e := p.edit(t, ecaDialect(), launch{}, "--log-level", "debug")
	wantText(t, "providers/list", string(e.ask("providers/list", object{}).Result), `"id":"groq"`, `"unauthenticated"`)
	step := e.ask("providers/login", object{"provider": "groq"})
	wantText(t, "providers/login", string(step.Result), `"action":"input"`, `"key":"key"`)
	id, req := e.request("providers/loginInput", object{"provider": "groq", "data": object{"key": "sk-hunter2"}})
	e.send(req)
	e.told("the models of the provider", func(c chosen) bool { return c.SelectModel == "groq/openai/gpt-oss-120b" })
	wantText(t, "providers/loginInput", string(e.await(id).Result), `"done"`)
	list := string(e.ask("providers/list", object{}).Result)
	wantText(t, "providers/list", list, `"authenticated"`)
	if strings.Contains(list+e.stderr(), "hunter2") {
		t.Error("the key shows")
	}
	_, req = e.request("providers/logout", object{"provider": "groq"})
	e.send(req)
	e.told("that the key is gone", func(c chosen) bool { return c.SelectModel == "offline/demo" })
	e.leave()
}
