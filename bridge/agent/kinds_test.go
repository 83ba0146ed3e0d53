package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/agenttest"
	"dragoman/bridge/agent/known"
	"dragoman/core"
)

// Each kind of update has its event.
func TestKindsOfUpdates(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.says("think hm\nplan first; second\nusage 1000 200000\ntitle A title\ncommands review init\nnotice careful\ncompaction what was said", "")
	for _, want := range []string{
		"core.ThoughtDelta {", "core.PlanChanged {[{first in_progress", "core.UsageChanged", "core.TitleChanged {A title", "core.Offered {scripted [{agent review", "careful",
		"core.Compacted {", "what was said",
	} {
		if !has(c.lines(), want) {
			t.Errorf("no %q in\n%s", want, strings.Join(c.lines(), "\n"))
		}
	}
	if st := c.at.State(); st.Title != "A title" || len(st.Plan) != 2 {
		t.Errorf("%q, %+v", st.Title, st.Plan)
	}
	c.says(`update {"sessionUpdate":"session_info_update","updatedAt":"2026-01-01T00:00:00Z"}`, "")
	if st := c.at.State(); st.Title != "A title" {
		t.Errorf("an update without a title: %q", st.Title)
	}
	c.says(`update {"sessionUpdate":"session_info_update","title":null}`, "")
	if st := c.at.State(); st.Title != "" {
		t.Errorf("a title that was removed: %q", st.Title)
	}
}

// A summary may come whole, in pieces or not at all. An agent that has lost its session is told it, or
// what was said if there is none.
func TestCompactions(t *testing.T) {
	const begins = `update {"sessionUpdate":"compaction_update","compactionId":"k","status":"in_progress"}` + "\n"
	const ends = `update {"sessionUpdate":"compaction_update","compactionId":"k","status":"completed"}` + "\n"
	piece := func(text string) string {
		return `update {"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":{"type":"text","text":"` + text + `"}}` + "\n"
	}
	for _, test := range []struct{ name, does, summary, knows string }{
		{"whole", "compaction all about fish", "all about fish", "Summary: all about fish"},
		{"in pieces", begins + piece("all about ") + piece("fish") + ends, "all about fish", "Summary: all about fish"},
		{"another one failed", begins + piece("no") + strings.Replace(ends, "completed", "failed", 1) + begins + piece("fish") + ends, "fish", "Summary: fish"},
		{"too long", begins + piece(strings.Repeat("x", 65<<10)) + ends, strings.Repeat("x", 64<<10), "xxx"},
		{"none", begins + ends, "", "The password is swordfish."},
	} {
		c := one(t, agenttest.Options{})
		c.says("say The password is swordfish.", "The password is swordfish.\n")
		c.says(test.does, "")
		for _, ev := range c.events {
			if e, ok := ev.(core.Compacted); ok && e.Summary != test.summary {
				t.Errorf("%s: the summary is %.100q", test.name, e.Summary)
			}
		}
		c.say("crash")
		if said, _ := c.say("heard"); !strings.Contains(said, test.knows) {
			t.Errorf("%s: it is told %.500s", test.name, said)
		}
	}
}

// A client that reads late is not shown the phase of a compaction behind its end.
func TestCompactionsEndWithTheirPhase(t *testing.T) {
	c := one(t, agenttest.Options{})
	early := c.again()
	id := c.prompt(`compaction fish` + "\n" + `permission {"title":"stay"}`)
	early.answer = always(core.Reply{})
	early.until(func(ev core.Event) bool { _, asked := ev.(core.Asked); return asked })
	c.answer = always(core.Reply{})
	c.until(func(ev core.Event) bool { _, is := ev.(core.Phase); return is })
	if last, _ := c.events[len(c.events)-1].(core.Phase); last.Kind != core.PhaseWaiting || last.Turn != id {
		t.Errorf("behind the compaction: %+v", last)
	}
	if err := c.at.Cancel(c.ctx, id, nil); err != nil {
		t.Error(err)
	}
	c.ended(id)
}

// What an agent says about a call reaches clients, also where it is no object, or of a kind that is not known.
func TestPartsOfACall(t *testing.T) {
	for raw, want := range map[string]struct{ output, content string }{
		`"kind":"switch_mode","rawOutput":[{"a":1}],"content":[{"type":"content","content":{"type":"text","text":"x"}}]`: {`[{"a":1}]`, "[{x}]"},
		`"kind":"switch_mode","rawOutput":"long","content":[{"type":"content","content":{"type":"text","text":"x"}}]`:    {`"long"`, "[{x}]"},
		`"kind":"switch_mode","rawOutput":"x","content":[{"type":"content","content":{"type":"text","text":"x"}}]`:       {``, "[{x}]"},
		`"kind":"switch_mode","rawOutput":"alone"`: {``, "[{alone}]"},
		`"kind":"switch_mode","content":[{"type":"hologram","light":1},{"type":"content","content":{"type":"text","text":"x"}}]`: {``, "[{[content of kind hologram]} {x}]"},
	} {
		c := one(t, agenttest.Options{})
		c.say(`tool {"toolCallId":"1","title":"t","status":"completed",` + raw + `}`)
		var last core.Call
		for _, ev := range c.events {
			if e, ok := ev.(core.CallChanged); ok {
				last = e.Call
			}
		}
		if last.Kind != "switch_mode" || string(last.Output) != want.output || fmt.Sprint(last.Content) != want.content {
			t.Errorf("%s: %s, output %s, content %v", raw, last.Kind, last.Output, last.Content)
		}
	}
}

// Modes and models in their older forms are choices too.
func TestOlderForms(t *testing.T) {
	rec := newRecord(t)
	c := one(t, agenttest.Options{Modes: []string{"ask", "code"}, Models: []string{"small", "large"}, Record: rec.path}, func(o *agent.Options) {
		o.Choices = map[string]string{"mode": "code"}
	})
	c.says("option mode\noption model", "mode=code\nmodel=small\n")
	if err := c.gateway.Choose(c.ctx, c.at, "model", "large"); err != nil {
		t.Error(err)
	}
	c.says("option model", "model=large\n")
	c.says("mode ask", "")
	var now []string
	for _, choice := range c.at.State().Offered.Choices {
		now = append(now, choice.ID+"="+choice.Value)
	}
	if slices.Sort(now); fmt.Sprint(now) != "[mode=ask model=large]" {
		t.Error(now)
	}
	if rec.count("session/set_mode") != 1 || rec.count("session/set_model") != 1 {
		t.Error(rec.methods())
	}
}

// An option that the agent changes by itself stays as it is when the user chooses another one, and
// when the agent starts again. What it refuses is reported once for each start.
func TestOptionsThatTheAgentChangesItself(t *testing.T) {
	rec := newRecord(t)
	o := agenttest.Options{Dir: t.TempDir(), Load: true, Record: rec.path, Config: agenttest.SampleConfig()}
	c := one(t, o, func(o *agent.Options) { o.Choices = map[string]string{"fast": "true", "nope": "x"} })
	choose := func(id, value string) {
		t.Helper()
		if err := c.gateway.Choose(c.ctx, c.at, id, value); err != nil {
			t.Fatal(err)
		}
	}
	c.says("option mode", "mode=ask\n")
	if got := c.notices(); !strings.Contains(got, "nope") {
		t.Errorf("the first start reports nothing: %q", got)
	}
	choose("mode", "code")
	c.says("option mode\noption mode ask\noption fast false\noption mode", "mode=code\nmode=ask\n")
	choose("effort", "high")
	c.says("option mode\noption fast\noption effort", "mode=ask\nfast=false\neffort=high\n")
	if got := c.notices(); strings.Contains(got, "nope") {
		t.Errorf("told again: %s", got)
	}
	if got := c.at.State().Settings.Choices.Get("mode"); got != "ask" {
		t.Errorf("the settings have mode %q", got)
	}
	c.say("crash")
	c.says("option mode\noption fast\noption effort", "mode=ask\nfast=false\neffort=high\n")
	choose("mode", "code") // as it was chosen before
	c.says("option mode", "mode=code\n")

	// Between two turns the settings cannot follow at once. The next turn does it.
	c.say(`after {"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]}]}`)
	if c.at.State().Offered.Choices[0].Value != "ask" {
		c.until(func(ev core.Event) bool { e, ok := ev.(core.Offered); return ok && e.Choices[0].Value == "ask" })
	}
	c.say("say on")
	if got := c.at.State().Settings.Choices.Get("mode"); got != "ask" {
		t.Errorf("behind the next turn the settings have mode %q", got)
	}
}

// The agent's own slash commands are listed, and reach it as they were typed.
func TestSlashCommands(t *testing.T) {
	c := one(t, agenttest.Options{Commands: []agenttest.Command{{Name: "review", Description: "reviews", Input: &agenttest.Input{Hint: "what"}}}})
	c.says("say hello", "hello\n")
	if list := c.at.State().Offered.Commands; len(list) != 1 || list[0].Name != "review" || list[0].Kind != core.CommandAgent {
		t.Errorf("%+v", list)
	}
	c.says("/review all of it", "command review: all of it\n")
}

// An agent gets a safe part of our environment, what it is known to need, and what is configured;
// never what makes it believe that it runs within another one.
func TestEnvironment(t *testing.T) {
	o := agenttest.Options{}
	c := one(t, o, func(o *agent.Options) {
		o.Known = known.Of([]string{"claude-agent-acp"})
		o.Environ = func() []string {
			return []string{"PATH=/usr/bin:/bin", "HOME=/home/x", "ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=/c", "OPENAI_API_KEY=other", "SECRET=s", "BASH_ENV=/b", "BASH_MAX_OUTPUT_LENGTH=9", "GOOGLE_API_KEY=g", "GOOGLE_CLOUD_PROJECT=p", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SSE_PORT=1"}
		}
	})
	said, _ := c.say("environ")
	names := strings.Fields(said)
	for name, want := range map[string]bool{
		"PATH": true, "HOME": true, "ANTHROPIC_API_KEY": true, "CLAUDE_CONFIG_DIR": true, "BASH_MAX_OUTPUT_LENGTH": true, "GOOGLE_CLOUD_PROJECT": true, agenttest.Variable: true,
		"OPENAI_API_KEY": false, "SECRET": false, "BASH_ENV": false, "GOOGLE_API_KEY": false, "CLAUDECODE": false, "CLAUDE_CODE_ENTRYPOINT": false, "CLAUDE_CODE_SSE_PORT": false,
	} {
		if slices.Contains(names, name) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
	c.says("env ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY=k\n")
}

// A program that reaches an agent elsewhere gets what it needs for that, and nothing of another one's.
func TestEnvironmentOfALauncher(t *testing.T) {
	for _, test := range []struct{ command, has, lacks string }{
		{"ssh devbox claude-agent-acp", "SSH_AUTH_SOCK ANTHROPIC_API_KEY", "DOCKER_CONTEXT"},
		{"/usr/bin/docker exec -i box codex-acp", "DOCKER_CONTEXT SSH_AUTH_SOCK", "CONTAINER_HOST ANTHROPIC_API_KEY"},
		{"podman exec -i box some-agent", "CONTAINER_HOST", "DOCKER_CONTEXT"},
		{"claude-agent-acp ssh", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK DOCKER_CONTEXT"},
	} {
		c := one(t, agenttest.Options{}, func(o *agent.Options) {
			o.Known = known.Of(strings.Fields(test.command))
			o.Environ = func() []string {
				return []string{"PATH=/usr/bin:/bin", "HOME=/home/x", "SSH_AUTH_SOCK=/s", "DOCKER_CONTEXT=d", "CONTAINER_HOST=c", "ANTHROPIC_API_KEY=k"}
			}
		})
		said, _ := c.say("environ")
		names := strings.Fields(said)
		for _, name := range strings.Fields(test.has) {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no %s", test.command, name)
			}
		}
		for _, name := range strings.Fields(test.lacks) {
			if slices.Contains(names, name) {
				t.Errorf("%s: it has %s", test.command, name)
			}
		}
	}
}

// What is done for an agent is announced to it, whichever client is attached. One that files break is not
// offered them.
func TestCapabilitiesForAgents(t *testing.T) {
	for program, files := range map[string]bool{"claude-agent-acp": true, "some-agent": true, "gemini": false} {
		rec := newRecord(t)
		c := one(t, agenttest.Options{Record: rec.path}, func(o *agent.Options) { o.Known = known.Of([]string{program}) })
		c.says("say hello", "hello\n")
		text, err := os.ReadFile(rec.path)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Params struct {
				ProtocolVersion    int
				ClientCapabilities any
			}
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, `"initialize"`) {
				err = json.Unmarshal([]byte(line), &got)
			}
		}
		want := `{"_meta":{"terminal_output":true},"auth":{"terminal":true},"elicitation":{"form":{},"url":{}},` +
			`"fs":{"readTextFile":true,"writeTextFile":true},` +
			`"session":{"compaction":{},"configOptions":{"boolean":{}},"notices":{}},"subagents":{},"terminal":true}`
		if !files {
			want = strings.Replace(want, `"fs":{"readTextFile":true,"writeTextFile":true},`, "", 1)
		}
		if has, _ := json.Marshal(got.Params.ClientCapabilities); err != nil || string(has) != want || got.Params.ProtocolVersion != 1 {
			t.Errorf("%s: version %d, %s, %v", program, got.Params.ProtocolVersion, has, err)
		}
	}
}

// The program runs in the session's folder; where it has another name, the session has that one, and
// paths of requests are translated back.
func TestPathsOfAnAgentElsewhere(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.says("cwd", fmt.Sprintf("session %[1]s, process %[1]s\n", c.dir))

	r := newRoom(t, nil)
	there := filepath.Join(t.TempDir(), "elsewhere")
	a := scripted(t, "scripted", agenttest.Options{}, func(o *agent.Options) { o.Paths = map[string]string{r.dir: there} })
	r.profile.Agents = []core.Agent{a}
	c = r.begin("")
	c.says("cwd", "session "+there+", process "+r.dir+"\n")
	c.answer = always(allow)
	c.says("write x.txt hello", "written x.txt\n")
	c.says("read x.txt", "hello\n")
	if len(c.asked) != 1 {
		t.Errorf("%+v", c.asked)
	}
	if calls := c.calls(); len(calls) != 1 || strings.Contains(calls[0], there) {
		t.Errorf("%q", calls)
	}
}
