package ecaserver_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
)

// shown describes the events of a turn's contents.
func (c *chat) shown() (list []string) {
	for _, ev := range c.events {
		switch e := ev.(type) {
		case core.TextDelta:
			if text := strings.TrimSpace(e.Text); len(list) > 0 && strings.HasPrefix(list[len(list)-1], "text ") {
				list[len(list)-1] += " " + text
			} else {
				list = append(list, "text "+strings.ReplaceAll(text, "\n", " "))
			}
		case core.ThoughtStarted:
			list = append(list, "thought")
		case core.ThoughtDelta:
			list = append(list, "thinks "+e.Text)
		case core.ThoughtEnded:
			list = append(list, "thought over")
		case core.Cited:
			list = append(list, "cites "+e.Link.Title+" "+e.Link.URI)
		case core.Notice:
			list = append(list, "notice "+string(e.Severity)+" "+e.Text)
		case core.Foreign:
			list = append(list, "foreign "+e.Protocol+" "+e.Method+" "+string(e.Raw)+" "+e.Text)
		case core.PlanChanged:
			b, _ := json.Marshal(e.Entries)
			list = append(list, "plan "+string(b))
		case core.UsageChanged:
			b, _ := json.Marshal([]any{e.Last, e.Total, e.Context, e.Window, e.CompactAt, e.Shares})
			list = append(list, "usage "+string(b))
		}
	}
	return list
}

// Every content of the document becomes the event that core has for it, or is kept as it is.
func TestContents(t *testing.T) {
	all := newRoom(t, scripted(t, ecatest.Options{}))
	var c *chat
	for _, test := range []struct {
		name   string
		prompt string
		want   []string
	}{
		{"text", "say one\nsay two", []string{"text one two"}},
		{"reason", "think hard", []string{"thought", "thinks hard", "thought over"}},
		{"reason without a beginning", `content assistant {"type":"reasonText","id":"x","text":"hm"}` + "\nsay so", []string{"thought", "thinks hm", "thought over", "text so"}},
		{"reason that ends twice", "think a\n" + `content assistant {"type":"reasonFinished","id":"x"}`, []string{"thought", "thinks a", "thought over"}},
		{"url", `content assistant {"type":"url","title":"T","url":"https://x.example"}`, []string{"cites T https://x.example"}},
		{"system text", `content system {"type":"text","text":"\nBeware\n"}`, []string{"notice info Beware"}},
		{"null text", `content assistant {"type":"text","text":null}`, nil},
		{"usage of today", `content system {"type":"usage","sessionTokens":120,"lastMessageCost":"0.01","sessionCost":"0.02","limit":{"context":1000,"output":50},"autoCompactPercentage":75,"contextBreakdown":{"categories":[{"name":"Messages","tokens":100,"color":"#fff","emoji":"x"}],"usedTokens":100}}`, []string{`usage [{"in":0,"out":0,"cost":0.01},{"in":120,"out":0,"cost":0.02},100,1000,75,[{"part":"messages","tokens":100}]]`}},
		{"usage of 001", `content system {"type":"usage","messageInputTokens":10,"messageOutputTokens":5,"sessionTokens":15,"messageCost":0.5,"sessionCost":"$1.5"}`, []string{`usage [{"in":10,"out":5,"cost":0.5},{"in":10,"out":5,"cost":1.5},15,0,0,null]`}},
		{"empty usage", `content system {"type":"usage"}`, []string{`usage [{"in":0,"out":0},{"in":0,"out":0},0,0,0,null]`}},
		{"image", `content assistant {"type":"image","mediaType":"image/png","base64":"AAAA"}`, []string{`foreign eca  {"role":"assistant","content":{"type":"image","mediaType":"image/png","base64":"AAAA"}} [image image/png]`}},
		{"flag", `content system {"type":"flag","text":"here","contentId":"f1"}`, []string{`foreign eca  {"role":"system","content":{"type":"flag","text":"here","contentId":"f1"}} Marked: here`}},
		{"hooks", `content system {"type":"hookActionStarted","id":"h","name":"lint","actionType":"shell"}` + "\n" + `content system {"type":"hookActionFinished","id":"h","name":"lint","actionType":"shell","status":1,"error":"bad"}`, []string{
			`foreign eca  {"role":"system","content":{"type":"hookActionStarted","id":"h","name":"lint","actionType":"shell"}} `,
			`foreign eca  {"role":"system","content":{"type":"hookActionFinished","id":"h","name":"lint","actionType":"shell","status":1,"error":"bad"}} Hook lint: bad`,
		}},
		{"an unknown type", `content assistant {"type":"hologram","text":"see"}`, []string{`foreign eca  {"role":"assistant","content":{"type":"hologram","text":"see"}} see`}},
		{"a known type in another form", `content assistant {"type":"url","title":5}`, nil},
		{"a hook without a status", `content system {"type":"hookActionFinished","id":"h"}`, nil},
		{"no type", `content assistant {}`, []string{`foreign eca  {"role":"assistant","content":{}} `}},
		{"a message", `notify $/showMessage {"type":"warning","message":"100%"}`, []string{"notice warning Agent scripted: 100%"}},
		{"a notification of a later document", `notify chat/glowed {"chatId":"CHAT","x":1}`, []string{`foreign eca chat/glowed {"x":1} `}},
		{"a server that has failed", `notify tool/serverUpdated {"type":"mcp","name":"github","status":"failed"}`, []string{"notice warning Agent scripted: its MCP server github has failed"}},
		{"jobs", `notify jobs/updated {"jobs":[{"id":"j1","status":"running","label":"npm run dev","summary":null,"chatId":"CHAT"}]}` + "\n" + `notify jobs/updated {"jobs":[{"id":"j1","status":"completed","label":"npm run dev","summary":null,"exitCode":0,"chatId":"CHAT"}]}`, []string{
			"notice info Agent scripted: the job j1 runs in the background: npm run dev", "notice info Agent scripted: the job j1 has ended: npm run dev: completed (exit code 0)",
		}},
		{"plan", `call {"name":"task","arguments":{"op":"plan"},"result":{"type":"task","tasks":[{"id":1,"subject":"look","status":"done","priority":"high"},{"id":2,"subject":"act","status":"in-progress","priority":"low"},{"id":3,"subject":"rest","status":"pending","isBlocked":true}],"inProgressTaskIds":[2],"summary":{}}}`, []string{
			`plan [{"text":"look","status":"completed","priority":"high"},{"text":"act","status":"in_progress","priority":"low"},{"text":"rest","status":"pending"}]`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if c == nil || strings.Contains(test.name, "usage") { // whose totals would add up
				c = all.begin()
			}
			_, end := c.say(test.prompt)
			if got := c.shown(); end.Stop != core.StopEnd || !slices.Equal(got, test.want) {
				t.Errorf("%s %s\ngot  %q\nwant %q", end.Stop, end.Err, got, test.want)
			}
		})
	}
}

// The thought says how long it took, and the time is what the server has said.
func TestThoughtTimes(t *testing.T) {
	c := one(t, ecatest.Options{})
	c.say("think hard")
	for _, ev := range c.events {
		if e, ok := ev.(core.ThoughtEnded); ok && e.Took == 1500*time.Millisecond {
			return
		}
	}
	t.Error(strings.Join(c.lines(), "\n"))
}

// What a call shows is kept: the change with its lines before and after, the JSON, the arguments.
func TestDetailsOfCalls(t *testing.T) {
	c := one(t, ecatest.Options{})
	c.say(
		`call {"name":"edit_file","arguments":{"path":"/w/a"},"details":{"type":"fileChange","path":"/w/a","diff":"--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n","linesAdded":1,"linesRemoved":1},"output":"done"}`,
		`call {"name":"look","server":"github","origin":"mcp","arguments":{"q":[1,null]},"output":"{\"n\":1}","result":{"type":"jsonOutputs","jsons":["{\"n\":1}"]}}`,
		`call {"name":"odd","arguments":["a"],"output":"x"}`,
	)
	edit, look, odd := c.last("edit_file"), c.last("look"), c.last("odd")
	if len(edit.Content) != 2 || edit.Kind != core.KindEdit || edit.Server != "scripted" || len(edit.Locations) != 1 {
		t.Fatalf("%+v", edit)
	}
	if d, ok := edit.Content[0].(core.Diff); !ok || d.Old != "same\nold\n" || d.New != "same\nnew\n" || d.Path != "/w/a" || d.Added != 1 || d.Removed != 1 {
		t.Errorf("%+v", edit.Content[0])
	}
	if look.Server != "github" || string(look.Output) != `{"n":1}` || string(look.Args) != `{"q":[1,null]}` || !strings.Contains(string(look.Meta), `"jsonOutputs"`) {
		t.Errorf("%+v", look)
	}
	if string(odd.Args) != `{"arguments":["a"]}` {
		t.Errorf("%s", odd.Args)
	}
}

// A delegated task is a sub-session, whose calls are asked about here.
func TestSubagents(t *testing.T) {
	c := one(t, ecatest.Options{})
	c.answer = always(allow)
	_, end := c.say(`sub say inside; think so; call {"name":"shell_command","arguments":{"command":"ls"},"manual":true,"output":"a"}`, "say back")
	call := c.last("spawn_agent")
	if end.Stop != core.StopEnd || c.text() != "back\n" || call.Child == "" || call.State != core.Succeeded || len(c.asked) != 1 {
		t.Errorf("%s %q, %s, asked %d", end.Stop, c.text(), call.State, len(c.asked))
	}
	child, err := c.gateway.Open(c.ctx, core.Local, call.Child)
	if err != nil {
		t.Fatal(err)
	}
	below := c.join(child)
	below.answer = always(core.Reply{}) // it was answered above
	below.until(func(ev core.Event) bool {
		e, ok := ev.(core.CallChanged)
		return ok && e.Call.State.Ended()
	})
	if got := below.shown(); !slices.Equal(got, []string{"text inside", "thought", "thinks so", "thought over"}) || !slices.Equal(below.states(), []string{"shell_command: proposed awaiting running succeeded"}) {
		t.Errorf("%q, %q\n%s", got, below.states(), strings.Join(below.lines(), "\n"))
	}
}

// Why a call did not run is said in words, whatever name the reason has in the protocol.
func TestReasonsOfRejections(t *testing.T) {
	c := one(t, ecatest.Options{})
	for reason, want := range map[string]string{
		"userChoiceDeny": "rejected rejected", "user": "rejected rejected", "userConfigDeny": "rejected rejected by the agent's own rules",
		"userPromptStop": "canceled stopped", "another one": "rejected another one",
	} {
		c.say(
			`content assistant {"type":"toolCallRun","id":"c","name":"look","arguments":{}}`,
			`content assistant {"type":"toolCallRejected","id":"c","name":"look","arguments":{},"reason":"`+reason+`"}`,
		)
		if call := c.last("look"); string(call.State)+" "+call.Why != want {
			t.Errorf("%s: %s %s; want %s", reason, call.State, call.Why, want)
		}
	}
}
