package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Everything that a client of ACP is told is valid, whatever it can do: methods one
// after the other, as editors use them.
func TestACPConformance(t *testing.T) {
	needClients(t)
	all := object{
		"fs": object{"readTextFile": true, "writeTextFile": true}, "terminal": true,
		"elicitation": object{"form": object{}, "url": object{}}, "_meta": object{"terminal_output": true},
		"session": object{"configOptions": object{"boolean": object{}}, "notices": object{}, "compaction": object{}},
	}
	for _, c := range []struct {
		name string
		caps object
		info bool
	}{
		{"nothing", object{}, true},
		{"everything", all, true},
		{"output", object{"_meta": object{"terminal_output": true}, "fs": object{"readTextFile": true}}, true},
		{"early", object{"fs": object{"readTextFile": false, "writeTextFile": false}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write(t, "long.txt", strings.Repeat("a line with \t and \" and é\n", 10_000))
			conform(t, p.acpClient(t, c.caps, c.info), c.info)
		})
	}
}

// conform goes through the methods.
func conform(t *testing.T, c *acpClient, info bool) {
	c.ok("authenticate", object{"methodId": "none"})
	res := c.ok("session/new", c.folder())
	id := field[string](t, res, "sessionId")
	if bytes.Contains(res, []byte("null")) {
		t.Errorf("a null in %s", res)
	}
	turns(t, c, id)
	choices(t, c, id, res)

	// The replay has all that was live.
	if end := c.prompt(id, "plan look; change then think once more then read notes.txt"); end != "end_turn" {
		t.Errorf("stop reason %q", end)
	}
	c.forget()
	loaded := c.ok("session/load", c.of(id))
	if !info && string(loaded) != "null" {
		t.Errorf("session/load answers %s", loaded)
	} else if info && field[object](t, loaded, "modes")["currentModeId"] == nil {
		t.Errorf("session/load answers %s", loaded)
	}
	for _, kind := range []string{"user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "plan", "session_info_update"} {
		if !slices.Contains(c.kinds(), kind) && (info || kind != "session_info_update") {
			t.Errorf("the replay has no %s", kind)
		}
	}
	c.forget()
	c.ok("session/resume", c.of(id))
	if i := slices.IndexFunc(c.updates, func(u acpUpdate) bool { return u.SessionUpdate != "available_commands_update" }); i >= 0 {
		t.Errorf("resume replays %s", c.updates[i].raw)
	}

	fork := field[string](t, c.ok("session/fork", c.of(id)), "sessionId")
	if end := c.prompt(fork, "stream 3 of 10"); end != "end_turn" {
		t.Errorf("in the copy: stop reason %q", end)
	}
	list := string(c.ok("session/list", object{"cwd": c.work}))
	wantText(t, "the list", list, id, fork, c.work)
	if list := string(c.ok("session/list", object{"cwd": "/elsewhere"})); list != `{"sessions":[]}` {
		t.Errorf("the list of another folder: %s", list)
	}

	// Closing and deleting stop what runs, and its prompt is answered first.
	open := c.begin("session/prompt", promptOf(fork, endless))
	c.read("text", func() bool { return len(c.said(fork)) > 100 })
	c.ok("session/close", object{"sessionId": fork})
	if m, ok := c.answers[open]; !ok || field[string](t, m.Result, "stopReason") != "cancelled" {
		t.Errorf("the prompt of a closed session: %s", m.raw)
	}
	c.ok("session/close", object{"sessionId": fork})
	c.ok("session/delete", object{"sessionId": fork})
	c.ok("session/delete", object{"sessionId": id})
	if m := c.ask("session/prompt", promptOf(id, "think")); m.Error == nil || m.Error.Code != -32002 {
		t.Errorf("a prompt to a deleted session: %s", m.raw)
	}
	if m := c.ask("session/load", c.of(id)); m.Error == nil || m.Error.Code != -32002 {
		t.Errorf("a deleted session is loaded: %s", m.raw)
	}
	c.valid()
}

// turns plays every way in which a turn can go.
func turns(t *testing.T, c *acpClient, id string) {
	t.Helper()
	for text, want := range map[string]string{
		"stream 200 of 50": "", "think hard then read notes.txt then list .": "first note", "read long.txt": "",
		"plan look; change": "", "ask which colour": "", "run echo from the shell": "from the shell", "run exit 3": "",
		"write made.txt: hello": "", "this is no instruction": "", "run printf 'a%.0s' {1..200000}": "",
	} {
		c.forget()
		if end := c.prompt(id, text); end != "end_turn" {
			t.Errorf("%s: stop reason %q", text, end)
		}
		if !strings.Contains(c.said(id), want) {
			t.Errorf("%s: the agent said %.500q", text, c.said(id))
		}
	}
	c.permission = "reject_once"
	if end := c.prompt(id, "run touch never"); end != "end_turn" {
		t.Errorf("rejected: stop reason %q", end)
	}
	if _, err := os.Stat(filepath.Join(c.work, "never")); err == nil {
		t.Error("a command that was rejected ran")
	}

	c.permission = "hold"
	held := c.begin("session/prompt", promptOf(id, "run touch never"))
	c.read("a permission", func() bool { return len(c.held) > 0 })
	c.say(notification("session/cancel", object{"sessionId": id}))
	if end := field[string](t, c.end(held).Result, "stopReason"); end != "cancelled" {
		t.Errorf("held, then cancelled: stop reason %q", end)
	}
	c.reply(c.held[0], object{"outcome": object{"outcome": "cancelled"}})

	// Prompts wait for each other, and a cancel ends those that were sent before it.
	c.permission = "allow_once"
	c.ids += 3
	first := c.ids - 2
	prompt := func(n int, text string) object {
		return object{"jsonrpc": "2.0", "id": first + n, "method": "session/prompt", "params": promptOf(id, text)}
	}
	c.say(prompt(0, endless), prompt(1, "think"), notification("session/cancel", object{"sessionId": id}), prompt(2, "stream 2 of 9"))
	for n, want := range []string{"cancelled", "cancelled", "end_turn"} {
		if end := field[string](t, c.end(fmt.Sprint(first+n)).Result, "stopReason"); end != want {
			t.Errorf("prompt %d: stop reason %q, want %q", n, end, want)
		}
	}
	running := c.begin("session/prompt", promptOf(id, endless))
	c.forget()
	c.read("text", func() bool { return len(c.said(id)) > 100 })
	c.say(notification("$/cancel_request", object{"requestId": json.RawMessage(running)}))
	if m := c.end(running); m.Error == nil && field[string](t, m.Result, "stopReason") != "cancelled" {
		t.Errorf("a prompt that was taken back: %s", m.raw)
	}
}

// choices changes everything that can be chosen, in every form.
func choices(t *testing.T, c *acpClient, id string, opened json.RawMessage) {
	t.Helper()
	c.forget()
	c.ok("session/set_mode", object{"sessionId": id, "modeId": "plan"})
	c.has("current_mode_update", func(u acpUpdate) bool { return u.SessionUpdate == "current_mode_update" && u.CurrentModeID == "plan" })
	c.has("config_option_update", func(u acpUpdate) bool {
		return u.SessionUpdate == "config_option_update" && strings.Contains(u.raw, `"currentValue":"plan"`)
	})
	c.ok("session/set_config_option", object{"sessionId": id, "configId": "agent", "value": "code"})
	for _, o := range field[[]struct {
		ID, Type     string
		CurrentValue json.RawMessage
	}](t, opened, "configOptions") {
		all := c.ok("session/set_config_option", object{"sessionId": id, "configId": o.ID, "value": o.CurrentValue})
		if n := len(field[[]object](t, all, "configOptions")); n == 0 {
			t.Errorf("set_config_option %s answers %s", o.ID, all)
		}
	}
	if bytes.Contains(opened, []byte(`"models"`)) {
		models := field[struct{ CurrentModelID string }](t, opened, "models")
		c.ok("session/set_model", object{"sessionId": id, "modelId": models.CurrentModelID})
	}
	if m := c.ask("session/set_mode", object{"sessionId": id, "modeId": "nobody"}); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("a mode that is not there: %s", m.raw)
	}
}

// A prompt of 11 MiB is read and answered, and stands in the replay.
func TestACPLargePrompt(t *testing.T) {
	needClients(t)
	t.Parallel()
	p := newPlace(t)
	c := p.acpClientOf(t, quickly(t), object{}, true)
	id := c.session()
	text := "No instruction: " + strings.Repeat("twelve bytes", 11<<20/12) + " é\"\n😀"
	if end := c.prompt(id, text); end != "end_turn" {
		t.Errorf("stop reason %q", end)
	}
	c.forget()
	c.ok("session/load", c.of(id))
	var got strings.Builder
	for _, u := range c.updates {
		if u.SessionUpdate == "user_message_chunk" {
			got.WriteString(u.text())
		}
	}
	if got.String() != text {
		t.Errorf("the replay has %d bytes of %d", got.Len(), len(text))
	}
	if everyVariant() {
		c.valid() // which takes long
	} else {
		c.leave()
	}
}

// 1,000 sessions on one connection, with a turn each; the list has them all, once.
func TestACPThousandSessions(t *testing.T) {
	needClients(t)
	t.Parallel()
	const many = 1000
	p := newPlace(t)
	c := p.acpClientOf(t, quickly(t), object{}, true)
	ids := map[string]bool{}
	var open []string
	for range many {
		open = append(open, c.begin("session/new", c.folder()))
	}
	for _, n := range open {
		ids[field[string](t, c.end(n).Result, "sessionId")] = true
	}
	open = nil
	for id := range ids {
		open = append(open, c.begin("session/prompt", promptOf(id, "stream 2 of 20")))
	}
	for _, n := range open {
		if m := c.end(n); m.Error != nil || field[string](t, m.Result, "stopReason") != "end_turn" {
			t.Fatalf("%s", m.raw)
		}
	}
	listed := map[string]bool{}
	for cursor := any(nil); ; {
		params := object{}
		if cursor != nil {
			params["cursor"] = cursor
		}
		var res struct {
			Sessions   []struct{ SessionID, Title, UpdatedAt string }
			NextCursor string
		}
		if err := json.Unmarshal(c.ok("session/list", params), &res); err != nil {
			t.Fatal(err)
		}
		for _, s := range res.Sessions {
			if listed[s.SessionID] || !ids[s.SessionID] || s.Title == "" || s.UpdatedAt == "" {
				t.Errorf("listed: %+v", s)
			}
			listed[s.SessionID] = true
		}
		if res.NextCursor == "" {
			break
		}
		cursor = res.NextCursor
	}
	if len(ids) != many || len(listed) != many {
		t.Errorf("%d sessions were made, %d are listed", len(ids), len(listed))
	}
	for id := range ids {
		if n := len(c.said(id)); n < 20 {
			t.Errorf("session %s was told %d bytes", id, n)
		}
	}
	c.valid()
}
