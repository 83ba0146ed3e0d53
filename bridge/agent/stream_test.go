package agent_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
)

// heap returns the bytes that are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// An agent that sends 20 MB as fast as it can is held back by its slowest part, the only client.
func TestFloodOfTextForASlowClient(t *testing.T) {
	const parts, size = 20_000, 1000
	c := one(t, agenttest.Options{})
	c.says("say ready", "ready\n")
	before := heap()
	id := c.prompt("stream 20000 of 1000")
	var text strings.Builder
	text.Grow(parts * size)
	before += parts * size
	most, ended := int64(0), false
	for batch := 0; !ended; batch++ {
		records, err := c.reader.Next(c.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range records {
			switch e := rec.Event.(type) {
			case core.TextDelta:
				text.WriteString(e.Text)
			case core.TurnEnded:
				ended = e.Turn == id
				if e.Stop != core.StopEnd {
					t.Errorf("%+v", e)
				}
			}
		}
		if batch%8 == 0 {
			most = max(most, heap()-before) // it takes the client's time
		}
	}
	var want strings.Builder
	for i := range parts {
		want.WriteString(agenttest.Chunk(i, size))
	}
	if text.String() != want.String() {
		t.Errorf("%d characters of text, want %d", text.Len(), want.Len())
	}
	if most > 12<<20 {
		t.Errorf("%d bytes of memory are used", most)
	}
}

// What comes after the response to a prompt reaches all clients, in order.
func TestUpdatesAfterTheAnswer(t *testing.T) {
	c := one(t, agenttest.Options{})
	d := c.again()
	c.prompt("say one\nlate two\nlate three\nlate four")
	const want = "one\ntwo\nthree\nfour\n"
	for _, client := range []*chat{c, d} {
		client.until(func(core.Event) bool { return len(client.text()) >= len(want) })
		if got := client.text(); got != want {
			t.Errorf("%q", got)
		}
	}
	c.says("say five", "five\n")
}

// A late title or list of commands needs no turn.
func TestLateUpdatesThatBelongToNoTurn(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.prompt("say one\n" + `after {"sessionUpdate":"session_info_update","title":"A late title"}` + "\n" +
		`after {"sessionUpdate":"available_commands_update","availableCommands":[{"name":"late","description":"d"}]}`)
	c.until(func(ev core.Event) bool {
		e, ok := ev.(core.Offered)
		return ok && len(e.Commands) == 1 && e.Commands[0].Name == "late"
	})
	if got := c.at.State().Title; got != "A late title" {
		t.Error(got)
	}
}

// Updates of kinds that core has no event for are kept as they came.
func TestUnknownUpdatesAreKept(t *testing.T) {
	c := one(t, agenttest.Options{})
	const raw = `{"sessionUpdate":"hologram","light":[1,2.50],"_meta":{"x":null}}`
	c.says("say a\nupdate "+raw+"\nsay b", "a\nb\n")
	var got []string
	for _, ev := range c.events {
		if e, ok := ev.(core.Foreign); ok {
			got = append(got, e.Protocol+" "+string(e.Raw))
		}
	}
	if len(got) != 1 || got[0] != "acp "+raw {
		t.Errorf("%q", got)
	}
}

// The _meta of a plan, a title or a usage is handed on behind the event, and so is a cost that cannot be
// added to ours. A title is not handed on twice.
func TestMetaOfKnownUpdatesIsKept(t *testing.T) {
	for update, want := range map[string]string{
		`{"sessionUpdate":"plan","entries":[{"content":"first","status":"pending","priority":"high"}],"_meta":{"x":1}}`: `{"sessionUpdate":"plan","entries":[{"content":"first","status":"pending","priority":"high"}],"_meta":{"x":1}}`,
		`{"sessionUpdate":"session_info_update","title":"T","_meta":{"x":1}}`:                                           `{"sessionUpdate":"session_info_update","_meta":{"x":1}}`,
		`{"sessionUpdate":"usage_update","used":1,"size":9,"_meta":{"x":1}}`:                                            `{"sessionUpdate":"usage_update","used":1,"size":9,"_meta":{"x":1}}`,
		`{"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":2,"currency":"EUR"}}`:                       `{"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":2,"currency":"EUR"}}`,
		`{"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":2,"currency":"usd"}}`:                       "",
		`{"sessionUpdate":"plan","entries":[],"_meta":null}`:                                                            "",
	} {
		c := one(t, agenttest.Options{})
		c.says("update "+update, "")
		got, before := "", false
		for i, ev := range c.events {
			if e, ok := ev.(core.Foreign); ok {
				got, before = got+string(e.Raw), i > 0
			}
		}
		if got != want || got != "" && !before {
			t.Errorf("%s: handed on as %q, want %q", update, got, want)
		}
	}
}

// The pieces of one message stay one, whatever else is passed on about it.
func TestOneMessageWithContentAndMeta(t *testing.T) {
	for _, kind := range []string{"agent_message_chunk", "agent_thought_chunk"} {
		c := one(t, agenttest.Options{})
		c.say(`update {"sessionUpdate":"` + kind + `","messageId":"A","content":{"type":"text","text":"one "},"_meta":{"x":1}}` + "\n" +
			`update {"sessionUpdate":"` + kind + `","messageId":"A","content":{"type":"image","mimeType":"image/png","data":"AAAA"}}` + "\n" +
			`update {"sessionUpdate":"` + kind + `","messageId":"A","content":{"type":"text","text":"two"}}`)
		var ids []string
		for _, ev := range c.events {
			switch e := ev.(type) {
			case core.TextDelta:
				ids = append(ids, string(e.Message))
			case core.ThoughtDelta:
				ids = append(ids, string(e.Thought))
			case core.Foreign:
				var is struct {
					MessageID string `json:"messageId"`
				}
				if err := json.Unmarshal(e.Raw, &is); err != nil {
					t.Error(err)
				}
				ids = append(ids, is.MessageID)
			}
		}
		if len(ids) < 4 || len(slices.Compact(ids)) != 1 {
			t.Errorf("%s: %q", kind, ids)
		}
	}
}

// Notifications of a protocol of the agent's own are passed on, in order with what it says, and begin no turn.
func TestNotificationsOfTheAgentsOwn(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.says(`say one
notify _vendor/state {"n":1.50}
say two
notify vendor/state {"n":2}
notify _vendor/state {"n":3,"sessionId":"another"}
notify _vendor/state {"n":4,"x":"`+strings.Repeat("x", 1<<20)+`"}
say three`, "one\ntwo\nthree\n")
	var got []string
	for _, ev := range c.events {
		switch e := ev.(type) {
		case core.TextDelta:
			got = append(got, strings.TrimSpace(e.Text))
		case core.Foreign:
			var is struct{ N float64 }
			if err := json.Unmarshal(e.Raw, &is); err != nil {
				t.Error(err)
			}
			got = append(got, fmt.Sprintf("%s %s %v", e.Protocol, e.Method, is.N))
		}
	}
	if want := "one, acp _vendor/state 1.5, two, three"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if notice := c.notices(); !strings.Contains(notice, "A notification of agent scripted (_vendor/state) was dropped") {
		t.Errorf("notices: %q", notice)
	}
}

// Content of a message that is no text is kept as it is, and so that clients of other protocols can show
// it, also in a history that is imported. Its addresses are ours.
func TestContentOfMessages(t *testing.T) {
	c := one(t, agenttest.Options{}, func(o *agent.Options) { o.Paths = map[string]string{"/home/me/src": "/src"} })
	for content, want := range map[string]core.Block{
		`{"type":"image","mimeType":"image/png","data":"AAAA","uri":"file:///src/a%20b.png"}`:  core.Image{MIME: "image/png", Data: []byte{0, 0, 0}, URI: "file:///home/me/src/a%20b.png"},
		`{"type":"audio","mimeType":"audio/wav","data":"AAAA"}`:                                core.Audio{MIME: "audio/wav", Data: []byte{0, 0, 0}},
		`{"type":"resource_link","uri":"file:///src/a","name":"a","annotations":{"x":1}}`:      core.Link{URI: "file:///home/me/src/a", Name: "a"},
		`{"type":"resource","resource":{"uri":"file:///src/a","text":"t","_meta":{"x":1.50}}}`: nil,
		`{"type":"hologram","light":1.50}`:                                                     nil,
	} {
		c.says(`update {"sessionUpdate":"agent_message_chunk","content":`+content+`}`, "")
		found := false
		for _, ev := range c.events {
			e, ok := ev.(core.Foreign)
			if !ok {
				continue
			}
			found = true
			if raw := strings.ReplaceAll(content, "file:///src/", "file:///home/me/src/"); !strings.Contains(string(e.Raw), raw) || e.Text == "" {
				t.Errorf("kept as %s, %q; want %s in it", e.Raw, e.Text, raw)
			}
			if want == nil && e.Content != nil || want != nil && !reflect.DeepEqual(e.Content, []core.Block{want}) {
				t.Errorf("%s: %+v, want %+v", content, e.Content, want)
			}
		}
		if !found {
			t.Errorf("%s: nothing", content)
		}
	}
}
