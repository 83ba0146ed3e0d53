package upstream

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/codec"
)

func environ() []string { return os.Environ() }

// scripted opens a session with a server that plays a script.
func scripted(t *testing.T, h *host, script string, change ...func(*Server)) core.Toolset {
	t.Helper()
	server := Server{Name: "x", Endpoint: plays("script", "SCRIPT="+script)}
	for _, f := range change {
		f(&server)
	}
	_, s := open(t, h, Options{Servers: []Server{server}})
	return s
}

func TestJunkOnStandardOutputIsPassedOver(t *testing.T) {
	s := scripted(t, &host{}, "initialize Welcome to the server!\ninitialize {\"level\":\"info\",\"msg\":\"a log in JSON\"}\n"+bridgetest.Greeting+
		"tools/list [not json\n"+bridgetest.OneTool("")+"tools/call {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\ntools/call {{{\n"+bridgetest.ToolDone)
	if res, err := call(t, toolOf(t, s, "t"), `{}`); err != nil || text(res) != "done" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestTenThousandProgressNotifications(t *testing.T) {
	s := scripted(t, &host{}, bridgetest.Greeting+bridgetest.OneTool("")+"tools/call flood\n"+bridgetest.ToolDone)
	shown := 0
	last := ""
	res, err := toolOf(t, s, "t").Run(bridgetest.Patient(t), core.Invocation{Args: json.RawMessage(`{}`), Output: func(s string) { shown++; last = s }})
	if err != nil || text(res) != "done" || last != "10000/10000\n" || shown > 1000 {
		t.Errorf("%+v, %v; shown %d times, at last %q", res, err, shown, last)
	}
}

func TestTwentyMegabytes(t *testing.T) {
	t.Parallel()
	h := &host{meta: core.Meta{Cwd: t.TempDir()}}
	s := scripted(t, h, bridgetest.Greeting+bridgetest.OneTool("")+"tools/call big")
	res, err := call(t, toolOf(t, s, "t"), `{}`)
	got := text(res)
	if err != nil || len(got) > maxText+1000 || !strings.HasSuffix(got, "0123456789 END") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if len(res.Raw) < 20<<20 {
		t.Errorf("an agent behind us, which cannot read what was spilled, would be relayed %d bytes", len(res.Raw))
	}
	refs := h.spills.Refs()
	if len(refs) != 1 || !strings.Contains(got, "all of it is in "+refs[0]+",") || len(h.spills.Text(refs[0])) < 20<<20 {
		t.Errorf("what was cut is in %q: %.300q", refs, got[:300])
	}
}

func TestBadLists(t *testing.T) {
	s := scripted(t, &host{}, bridgetest.Greeting+
		`tools/list {"jsonrpc":"2.0","id":$ID,"result":{"nextCursor":"again","tools":[{"name":"a.b/c d","inputSchema":null},{"name":"","inputSchema":{}},{"name":7},{"name":"dup","description":"\u200bfirst\u202e"},{"name":"dup"},{"name":"list","inputSchema":{"type":["object"]}},{"NAME":"folded"},null]}}
`)
	list, err := listed(bridgetest.Patient(t), s)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list {
		spec := tool.Spec()
		names = append(names, spec.Name)
		if string(spec.Schema) != `{"type":"object"}` {
			t.Errorf("%s: schema %s", spec.Name, spec.Schema)
		}
		if spec.Name == "dup" && spec.Description != "first" {
			t.Errorf("description %q", spec.Description)
		}
	}
	if got := strings.Join(names, ","); got != "a.b/c d,dup,list" {
		t.Errorf("names %q", got)
	}
}

func TestServerThatNeverAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	h := &host{board: board.New()}
	_, s := open(t, h, Options{Servers: []Server{{Name: "silent", Endpoint: plays("silent"), StartTimeout: 50 * time.Millisecond}}})
	if list, err := listed(bridgetest.Patient(t), s); err != nil || len(list) > 0 {
		t.Errorf("%d tools, %v", len(list), err)
	}
	if item := awaitStatus(t, h.board, "silent", "failed"); !strings.Contains(item.Why, "did not answer within 50ms") {
		t.Errorf("why: %q", item.Why)
	}
}

// A server that cannot be reached is reported in plain words, without the code of our own error.
func TestServerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	h := &host{board: board.New()}
	site := httptest.NewServer(nil)
	site.Close()
	_, s := open(t, h, Options{Servers: []Server{{Name: "away", Endpoint: at(bridgetest.Place{URL: site.URL})}}})
	if list, err := listed(bridgetest.Patient(t), s); err != nil || len(list) > 0 {
		t.Errorf("%d tools, %v", len(list), err)
	}
	if item := awaitStatus(t, h.board, "away", "failed"); !strings.HasPrefix(item.Why, "dial tcp") {
		t.Errorf("why: %q", item.Why)
	}
}

func TestCallThatIsNeverAnsweredIsGivenUp(t *testing.T) {
	s := scripted(t, &host{}, bridgetest.Greeting+bridgetest.OneTool(""), func(s *Server) { s.CallTimeout = 50 * time.Millisecond })
	if _, err := call(t, toolOf(t, s, "t"), `{}`); err == nil || !strings.Contains(err.Error(), "no sign of life for 50ms") {
		t.Errorf("%v", err)
	}
}

// A list with many tools on many pages is complete, and a repeated cursor ends the list
// (TestBadLists).
func TestFiveThousandTools(t *testing.T) {
	t.Parallel()
	s := scripted(t, &host{}, bridgetest.Greeting+"tools/list pages\n"+bridgetest.ToolDone)
	list, err := listed(bridgetest.Patient(t), s)
	if err != nil || len(list) != 5000 || list[4999].Spec().Name != "t4999" {
		t.Errorf("%d tools, %v", len(list), err)
	}
}

// A list that changes a thousand times at once is requested again once or twice.
func TestStormOfChangedLists(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	h := &host{}
	_, s := open(t, h, Options{
		Servers: []Server{{Name: "x", Endpoint: plays("script", "SCRIPT="+bridgetest.Greeting+"tools/list pages\ntools/call storm\n"+bridgetest.ToolDone)}},
		Log: func(_, _, text string) {
			if text == "asked for a page" {
				asked.Add(1)
			}
		},
	})
	tool := toolOf(t, s, "t7")
	before := asked.Load()
	if res, err := call(t, tool, `{}`); err != nil || text(res) != "done" {
		t.Errorf("%+v, %v", res, err)
	}
	<-time.After(5 * settleFor)
	if n := asked.Load() - before; n > 3*50 {
		t.Errorf("it was asked for %d pages", n)
	}
}

// Output on standard error does not disturb a server's calls.
func TestMegabyteOnStandardError(t *testing.T) {
	t.Parallel()
	s := scripted(t, &host{}, "initialize noise\n"+bridgetest.Greeting+bridgetest.OneTool("")+"tools/call noise\n"+bridgetest.ToolDone)
	if res, err := call(t, toolOf(t, s, "t"), `{}`); err != nil || text(res) != "done" {
		t.Errorf("%+v, %v", res, err)
	}
}

// Questions outside of a call are refused.
func TestQuestionOutsideOfACallIsRefused(t *testing.T) {
	h := &host{ask: func(a core.Ask) core.Reply {
		t.Errorf("asked: %s", a.Text)
		return core.Reply{Outcome: core.OutcomeAnswered, Option: optionYes}
	}}
	question := `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"your password?"}}`
	s := scripted(t, h, bridgetest.Greeting+bridgetest.OneTool("")+bridgetest.ToolDone+`notifications/cancelled `+question+"\n"+`sync {"jsonrpc":"2.0","id":$ID,"result":{}}`+"\n")
	tool := toolOf(t, s, "t")
	u := s.(*set).ups[0]
	p, err := u.Acquire(bridgetest.Patient(t), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Conn.Notify(proto.NoteCancelled, json.RawMessage(`{"requestId":1}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ask(bridgetest.Patient(t), "sync", nil); err != nil { // the question came before the answer
		t.Fatal(err)
	}
	if res, err := call(t, tool, `{}`); err != nil || text(res) != "done" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A form that two readers could interpret differently is refused, and nothing of it reaches the
// user.
func TestAmbiguousFormIsRefused(t *testing.T) {
	h := &host{ask: func(a core.Ask) core.Reply {
		t.Errorf("asked: %s", a.Text)
		return core.Reply{Outcome: core.OutcomeDeclined}
	}}
	u := scripted(t, h, bridgetest.Greeting+bridgetest.OneTool("")).(*set).ups[0]
	for _, properties := range []string{
		`{"a":{"title":"Your age"},"a":{"title":"Your password"}}`,
		`{"a":{"title":"Your age","Title":"Your password"}}`,
		`{"a":{"type":"string","type":"boolean"}}`,
	} {
		params := `{"message":"Who?","requestedSchema":{"type":"object","properties":` + properties + `}}`
		_, err := u.elicit(t.Context(), json.RawMessage(params))
		if e, ok := errors.AsType[*jrpc2.Error](err); !ok || e.Code != jrpc2.InvalidParams {
			t.Errorf("%s: %v", properties, err)
		}
	}
}

// An answer that the form does not offer is invalid: the user is asked again, and in the end the
// form is cancelled.
func TestAnswersOutsideOfTheForm(t *testing.T) {
	for _, reply := range []core.Reply{
		{Outcome: core.OutcomeAnswered, Option: "skip"},
		{Outcome: core.OutcomeAnswered, Option: "choice-2", Text: "bob"},
		{Outcome: core.OutcomeAnswered},
	} {
		asked := 0
		h := &host{ask: func(core.Ask) core.Reply { asked++; return reply }}
		u := scripted(t, h, bridgetest.Greeting+bridgetest.OneTool("")).(*set).ups[0]
		res, err := u.elicit(t.Context(), json.RawMessage(`{"message":"Who?","requestedSchema":{"type":"object",
			"properties":{"name":{"type":"string","enum":["ann","bob"]}},"required":["name"]}}`))
		if err != nil || string(res) != `{"action":"cancel"}` || asked != maxRetries {
			t.Errorf("%+v: %s, %v, asked %d times", reply, res, err, asked)
		}
	}
}

// A page is put to the user with its address, and the answer is only that it was opened or
// refused.
func TestPage(t *testing.T) {
	var got core.Ask
	var reply core.Reply
	h := &host{ask: func(a core.Ask) core.Reply { got = a; return reply }}
	u := scripted(t, h, bridgetest.Greeting+bridgetest.OneTool("")).(*set).ups[0]
	for _, c := range []struct {
		reply core.Reply
		want  string
	}{
		{core.Reply{Outcome: core.OutcomeAnswered}, "accept"},
		{core.Reply{Outcome: core.OutcomeAnswered, Option: optionYes}, "accept"},
		{core.Reply{Outcome: core.OutcomeAnswered, Option: optionNo}, "decline"},
		{core.Reply{Outcome: core.OutcomeDeclined}, "decline"},
		{core.Reply{Outcome: core.OutcomeExpired}, "cancel"},
	} {
		reply = c.reply
		res, err := u.elicit(t.Context(), json.RawMessage(`{"mode":"url","message":"Log in.","url":"https://example.org/in?a=b","elicitationId":"1"}`))
		if err != nil || string(res) != `{"action":"`+c.want+`"}` {
			t.Errorf("%+v: %s, %v", c.reply, res, err)
		}
		if got.URL != "https://example.org/in?a=b" || !strings.Contains(got.Text, "Log in.\nIt asks you to open a page at example.org.") {
			t.Errorf("asked: %+v", got)
		}
	}
	if _, err := u.elicit(t.Context(), json.RawMessage(`{"mode":"url","message":"Log in.","url":"file:///etc/passwd"}`)); err == nil {
		t.Error("a file is put to the user as a page")
	}
}

// The early dialect: a number for a version, errors without an id, text for output.
func TestEarlyDialect(t *testing.T) {
	s := scripted(t, &host{}, `initialize"2025-11-25" {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"bad version"}}
initialize1 {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":1,"capabilities":{"tools":{}},"serverInfo":{"name":"E","version":"1"}}}
`+bridgetest.OneTool("")+`tools/call {"jsonrpc":"2.0","id":$ID,"result":{"output":"as text"}}
`)
	if res, err := call(t, toolOf(t, s, "t"), `{}`); err != nil || text(res) != "as text" {
		t.Errorf("%+v, %v", res, err)
	}
	s = scripted(t, &host{}, `initialize"2025-11-25" {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"bad version"}}
initialize1 {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":1,"capabilities":{"tools":{}},"serverInfo":{"name":"E","version":"1"}}}
`+bridgetest.OneTool("")+`tools/call {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such luck"}}
`)
	if res, err := call(t, toolOf(t, s, "t"), `{}`); err != nil || !res.Failed || !strings.Contains(text(res), "no such luck") {
		t.Errorf("an error without an id: %+v, %v", res, err)
	}
}

func TestEveryKindOfContent(t *testing.T) {
	res, err := parseResult(json.RawMessage(`{"content":[
		{"type":"text","text":"a"},{"type":"image","data":"AQI=","mimeType":"image/png"},{"type":"audio","data":"AQI=","mimeType":"audio/wav"},
		{"type":"resource_link","uri":"x://y","name":"n","title":"t","size":3},{"type":"resource","resource":{"uri":"x://z","text":"body"}},
		{"type":"hologram","beam":1},{"type":"image","data":"!!"}],"structuredContent":{"big":12345678901234567890},"isError":true,"_meta":{"k":1}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"text","text":"a"},{"type":"image","mime":"image/png","data":"AQI="},{"type":"audio","mime":"audio/wav","data":"AQI="},` +
		`{"type":"link","uri":"x://y","name":"n","title":"t","size":3},{"type":"resource","uri":"x://z","text":"body"},` +
		`{"type":"text","text":"{\"type\":\"hologram\",\"beam\":1}"},{"type":"text","text":"{\"type\":\"image\",\"data\":\"!!\"}"},{"type":"text","text":"{\"big\":12345678901234567890}"}]`
	if got := string(codec.AppendBlocks(nil, res.Blocks)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if string(res.Structured) != `{"big":12345678901234567890}` || !res.Failed || string(res.Meta) != `{"k":1}` {
		t.Errorf("%+v", res)
	}
}
