package ecaserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
)

// A server that breaks the protocol costs what it has broken, and no more: the turn goes on, and so does the next.
func TestHostileContents(t *testing.T) {
	c := one(t, ecatest.Options{Dir: t.TempDir()})
	c.back().Hurry(2 * time.Second)
	for _, test := range []struct{ name, prompt, want string }{
		{"a chat that we do not know", `notify chat/contentReceived {"chatId":"other","role":"assistant","content":{"type":"text","text":"no"}}`, ""},
		{"no chat", `notify chat/contentReceived {"role":"assistant","content":{"type":"text","text":"no"}}`, ""},
		{"a sub-agent that nobody has announced", `notify chat/contentReceived {"chatId":"subagent-9","parentChatId":"CHAT","role":"assistant","content":{"type":"text","text":"no"}}`, ""},
		{"params that are no object", `notify chat/contentReceived [1]`, ""},
		{"content that is no object", `content assistant 5`, ""},
		{"no role", `notify chat/contentReceived {"chatId":"CHAT","content":{"type":"text","text":"x\n"}}`, "x\n"},
		{"invalid JSON", `raw Content-Length: 3\r\n\r\n{x}`, ""},
		{"a broken header", `raw Content-Length: no\r\n\r\n`, ""},
		{"lines that are no message", `raw Hello\nWorld\n`, ""},
		{"a message that is too long", `raw Content-Length: 99999999999\r\n\r\n`, ""},
		{"an answer to nothing", `raw Content-Length: 38\r\n\r\n{"jsonrpc":"2.0","id":99,"result":{}}  `, ""},
		{"the end of another chat", `notify chat/statusChanged {"chatId":"other","status":"idle"}`, ""},
		{"the end, twice", `content system {"type":"progress","state":"finished"}` + "\n" + `content system {"type":"progress","state":"finished"}`, ""},
		{"calls without an id", `content assistant {"type":"toolCallRun","name":"x","server":"y","origin":"mcp","manualApproval":true}`, ""},
		{"a result of nothing", `content assistant {"type":"toolCalled","id":"c","name":"x","server":"y","origin":"mcp","arguments":{},"error":false,"outputs":[{"type":"text","text":"z"}]}`, ""},
		{"a result after a result", `call {"id":"c","name":"x","output":"y"}` + "\n" + `content assistant {"type":"toolCalled","id":"c","name":"x","error":true,"outputs":null}`, ""},
		{"a refusal after a result", `call {"id":"c","name":"x","output":"y"}` + "\n" + `content assistant {"type":"toolCallRejected","id":"c","name":"x","reason":"user"}`, ""},
		{"details of another form", `call {"name":"x","details":{"type":"fileChange","path":5,"diff":[]},"output":"y"}`, ""},
		{"a plan of another form", `call {"name":"task","details":{"type":"task","tasks":"none"},"output":"y"}`, ""},
		{"times without bounds", `content assistant {"type":"reasonStarted","id":"x"}` + "\n" + `content assistant {"type":"reasonFinished","id":"x","totalTimeMs":9223372036854775807}`, ""},
		{"numbers of another form", `content system {"type":"usage","sessionTokens":"many","limit":7}`, ""},
		{"an offer of another form", `notify config/updated {"chat":{"models":"all"}}`, ""},
		{"jobs of another form", `notify jobs/updated {"jobs":[{"id":7}]}`, ""},
		{"jobs that are null", `notify jobs/updated {"jobs":null}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, end := c.say(test.prompt); got != test.want || end.Stop != core.StopEnd {
				t.Errorf("%q, %+v\n%s", got, end, strings.Join(c.lines(), "\n"))
			}
			if got, end := c.say("say next"); !strings.HasSuffix(got, "next\n") || end.Stop != core.StopEnd {
				t.Errorf("next: %q, %+v", got, end)
			}
		})
	}
}

// A flood of small contents arrives whole, and one huge content is dropped and told.
func TestFloods(t *testing.T) {
	c := one(t, ecatest.Options{})
	if got, _ := c.say("repeat 3000 say x"); got != strings.Repeat("x\n", 3000) {
		t.Errorf("%d bytes", len(got))
	}
	c.says(`content assistant {"type":"hologram","data":"`+strings.Repeat("x", 1<<20)+`"}`, "")
	if n := c.notices(); !strings.Contains(n, "was dropped") {
		t.Errorf("%q", n)
	}
	c.says("repeat 100 "+`content assistant {"type":"toolCallPrepare","id":"same","name":"x","server":"eca","origin":"native","argumentsText":"{"}`, "")
}

// Many calls at once are asked about, and those that would be too many are refused.
func TestManyApprovals(t *testing.T) {
	c := one(t, ecatest.Options{})
	var lines []string
	for i := range 80 {
		lines = append(lines, fmt.Sprintf(`content assistant {"type":"toolCallRun","id":"c%d","name":"shell_command","server":"eca","origin":"native","arguments":{"command":"ls"},"manualApproval":true}`, i))
	}
	c.answer = always(core.Reply{})
	id := c.prompt(append(lines, "say all", "wait")...)
	c.until(func(ev core.Event) bool { _, ok := ev.(core.TextDelta); return ok })
	if n := len(c.at.State().Asks); n > 64 {
		t.Errorf("%d questions", n)
	}
	if err := c.at.Cancel(c.ctx, id, core.ErrCanceled); err != nil {
		t.Fatal(err)
	}
	c.ended(id)
	c.says("say next", "next\n")
}

// A server that says nothing at its start is given up, and so is one that never says what it offers.
func TestSilentServers(t *testing.T) {
	c := one(t, ecatest.Options{Faults: map[string]string{"initialize": "silent"}})
	c.back().HurryHello(300 * time.Millisecond)
	if _, end := c.say("say hello"); end.Stop != core.StopError || !strings.Contains(end.Err, "did not answer initialize within") || !strings.Contains(end.Err, "agents doctor scripted") {
		t.Errorf("%+v", end)
	}
	c = one(t, ecatest.Options{Faults: map[string]string{"chat/queryCommands": "fails", "providers/list": "fails", "chat/list": "fails"}})
	c.says("say hello", "hello\n")
	c = one(t, ecatest.Options{Faults: map[string]string{"chat/prompt": "silent"}})
	id := c.prompt("say hello")
	if err := c.at.Cancel(c.ctx, id, core.ErrCanceled); err != nil {
		t.Fatal(err)
	}
	if end := c.ended(id); end.Stop != core.StopCanceled {
		t.Errorf("%+v", end)
	}
}
