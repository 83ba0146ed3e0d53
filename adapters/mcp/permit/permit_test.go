package permit

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/access"
)

// sent sends a body with some rights, and returns what came through; ok is false if it was refused.
func sent(t *testing.T, make func(func(*http.Request) access.Holder, http.Handler) http.Handler, rights access.Rights, body string) (through string, answer *httptest.ResponseRecorder, ok bool) {
	t.Helper()
	h := make(func(*http.Request) access.Holder {
		return access.Holder{Principal: core.Local, Token: "id", Name: "phone", Rights: rights}
	}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || int64(len(b)) != r.ContentLength {
			t.Errorf("%d bytes for %d, %v", len(b), r.ContentLength, err)
		}
		through, ok = string(b), true
	}))
	answer = httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body)))
	return through, answer, ok
}

func request(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
}

func call(tool string) string {
	return request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{}}`, tool))
}

// Each message passes with exactly the rights that suffice for it, in every combination. An error
// names a right that helps, and how to get it.
func TestRightsOfMessages(t *testing.T) {
	const everything = access.All
	for _, c := range []struct {
		name, body string
		anyOf      access.Rights // 0: none is needed
		all        access.Rights // needed besides
	}{
		{"initialize", request("initialize", `{"protocolVersion":"2025-11-25"}`), 0, 0},
		{"ping", request("ping", `{}`), 0, 0},
		{"tools", request("tools/list", `{}`), 0, 0},
		{"session_list", call("session_list"), access.Watch, 0},
		{"session_get", call("session_get"), access.Watch, 0},
		{"agent_prompt", call("agent_prompt"), access.Prompt, 0},
		{"agent_wait", call("agent_wait"), access.Watch | access.Prompt, 0},
		{"agent_cancel", call("agent_cancel"), access.Prompt | access.Act, 0},
		{"agent_approve", call("agent_approve"), access.Answer, 0},
		{"session_close", call("session_close"), access.Act, 0},
		{"a server's tool", call("files__read"), access.Act, 0},
		{"a tool in another case", call("Session_List"), access.Act, 0},
		{"prompt with answers", request("tools/call", `{"name":"agent_prompt","inputResponses":{"q1":{"action":"accept"}}}`), access.Prompt, access.Answer},
		{"answers in another case", request("tools/call", `{"name":"agent_prompt","InputResponses":{"q1":{"action":"accept"}}}`), access.Prompt, access.Answer},
		{"no answers", request("tools/call", `{"name":"agent_prompt","inputResponses":null}`), access.Prompt, 0},
		{"two names", request("tools/call", `{"name":"session_list","name":"session_close"}`), 0, everything},
		{"two names in two cases", request("tools/call", `{"name":"session_list","Name":"session_close"}`), 0, everything},
		{"a name in another case", request("tools/call", `{"Name":"session_list"}`), 0, everything},
		{"an escaped name", request("tools/call", `{"na\u006de":"session_close"}`), access.Act, 0},
		{"no name", request("tools/call", `{}`), 0, everything},
		{"a number", request("tools/call", `{"name":1}`), 0, everything},
		{"no params", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, 0, everything},
		{"params as a list", request("tools/call", `["session_list"]`), 0, everything},
		{"our resource", request("resources/read", `{"uri":"dragoman://session/a/transcript"}`), access.Watch, 0},
		{"a server's resource", request("resources/read", `{"uri":"file:///etc/passwd"}`), access.Act, 0},
		{"two resources", request("resources/read", `{"uri":"dragoman://a","uri":"file:///b"}`), 0, everything},
		{"subscribe", request("resources/subscribe", `{"uri":"dragoman://session/a/transcript"}`), access.Watch, 0},
		{"resources", request("resources/list", `{}`), access.Watch, 0},
		{"listen", request("subscriptions/listen", `{"notifications":{}}`), access.Watch, 0},
		{"a prompt's text", request("prompts/get", `{"name":"x"}`), access.Prompt | access.Act, 0},
		{"complete", request("completion/complete", `{}`), access.Prompt | access.Act, 0},
		{"a task", request("tasks/get", `{"taskId":"a.b"}`), access.Watch | access.Prompt | access.Act, 0},
		{"stop a task", request("tasks/cancel", `{"taskId":"a.b"}`), access.Prompt | access.Act, 0},
		{"answer a task", request("tasks/update", `{"taskId":"a.b"}`), access.Answer, 0},
		{"an unknown method", request("sessions/erase", `{}`), 0, everything},
		{"a method in another case", request("Ping", `{}`), 0, everything},
		{"a known notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 0, 0},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/erase"}`, 0, everything},
		{"a batch", "[" + call("session_list") + "]", 0, everything},
		{"a batch after blanks", " \n[" + call("session_list") + "]", 0, everything},
		{"roots", `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`, 0, 0},
		{"the answer to ping", `{"jsonrpc":"2.0","id":1,"result":{}}`, 0, 0},
		{"a refusal", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`, 0, 0},
		{"the answer to a form", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`, access.Answer, 0},
		{"roots with an answer", `{"jsonrpc":"2.0","id":1,"result":{"roots":[],"Action":"accept"}}`, access.Answer, 0},
		{"a model's answer", `{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{}}}`, access.Answer, 0},
		{"an answer that is no object", `{"jsonrpc":"2.0","id":1,"result":"accept"}`, access.Answer, 0},
	} {
		for rights := access.Rights(0); rights <= access.All; rights++ {
			want := (c.anyOf == 0 || rights.HasAny(c.anyOf)) && rights.Has(c.all)
			_, answer, ok := sent(t, Handler, rights, c.body)
			if ok != want {
				t.Errorf("%s with the rights %v: %t, %s", c.name, rights, ok, answer.Body)
			}
			if said := answer.Body.String(); !ok && !strings.Contains(said, "all rights") {
				_, given, _ := strings.Cut(said, "--rights ")
				more, err := access.Parse(strings.FieldsFunc(given, func(r rune) bool { return r == '"' || r == '\n' })[0])
				if err != nil || !more.Has(rights) {
					t.Fatalf("%s with the rights %v: %s", c.name, rights, said)
				}
				if _, again, ok := sent(t, Handler, more, c.body); !ok && more != rights && !strings.Contains(again.Body.String(), "--rights") {
					t.Errorf("%s: the rights %v do not help: %s", c.name, more, again.Body)
				}
			}
		}
	}
}

// A single server is for those who may act. What could answer a question needs that right as well.
func TestRightsOfASingleServer(t *testing.T) {
	for rights := access.Rights(0); rights <= access.All; rights++ {
		act, answers := rights.Has(access.Act), rights.Has(access.Act|access.Answer)
		for body, want := range map[string]bool{
			call("session_list"): act, call("read"): act, request("resources/list", `{}`): act, request("resources/read", `{"uri":"dragoman://a"}`): act,
			`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`: answers, request("tools/call", `{"name":"read","inputResponses":{}}`): answers,
			request("files/erase", `{}`): rights == access.All,
		} {
			if _, answer, ok := sent(t, Server, rights, body); ok != want {
				t.Errorf("%s with the rights %v: %t, %s", body, rights, ok, answer.Body)
			}
		}
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			passed := false
			h := Server(func(*http.Request) access.Holder { return access.Holder{Rights: rights} }, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }))
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/mcp/files", nil))
			if passed != act {
				t.Errorf("%s with the rights %v: %t", method, rights, passed)
			}
		}
	}
}

// A client that may not answer declares nothing by which it could be asked, however it is spelled.
func TestCapabilitiesOfTheUnasked(t *testing.T) {
	const some = access.Watch | access.Prompt | access.Act
	for body, want := range map[string]string{
		request("initialize", `{"protocolVersion":"x","capabilities":{"roots":{"listChanged":true},"elicitation":{},"sampling":{},"experimental":{}},"clientInfo":{"name":"a"}}`)://
		request("initialize", `{"protocolVersion":"x","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"a"}}`),
		request("initialize", `{"capabilities":{},"capabilities":{"elicitation":{}},"Capabilities":{"elicitation":{}}}`): request("initialize", `{"capabilities":{}}`),
		request("initialize", `{"capa\u0062ilities":{"elicitation":{},"Elicitation":{},"extensions":{"t":{}}}}`):         request("initialize", `{"capabilities":{"extensions":{"t":{}}}}`),
		request("initialize", `{"capabilities":"elicitation"}`):                                                          request("initialize", `{"capabilities":{}}`),
		request("tools/list", `{"cursor":"a","_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":1.50},"_meta":{},"_META":{}}`)://
		request("tools/list", `{"cursor":"a","_meta":{"io.modelcontextprotocol/clientCapabilities":{},"progressToken":1.50}}`),
		request("ping", `{}`):                      request("ping", `{}`),
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`: `{"jsonrpc":"2.0","id":7,"method":"ping"}`,
	} {
		if got, answer, ok := sent(t, Handler, some, body); !ok || got != want {
			t.Errorf("%s\nbecomes %s\nand not %s\n%s", body, got, want, answer.Body)
		}
		for _, rights := range []access.Rights{some | access.Answer, access.Watch | access.Answer} {
			if got, _, ok := sent(t, Handler, rights, body); !ok || got != body {
				t.Errorf("a client that may answer: %s became %s", body, got)
			}
		}
	}
}

// What is no message is refused, and a client's text is shown in an error only in part.
func TestNoMessages(t *testing.T) {
	for _, body := range []string{"", "{", "null", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, "[]", "\xff"} {
		if got, _, ok := sent(t, Handler, access.Watch, body); ok {
			t.Errorf("%q became %q", body, got)
		}
	}
	_, answer, ok := sent(t, Handler, access.Watch, call(strings.Repeat("x", 5000)))
	if ok || answer.Body.Len() > 600 {
		t.Errorf("%t, %d bytes: %s", ok, answer.Body.Len(), answer.Body)
	}
	h := Handler(func(*http.Request) access.Holder { return access.Holder{Rights: access.Watch} }, http.NotFoundHandler())
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Body = http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(strings.NewReader(call("x"))), 10)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
