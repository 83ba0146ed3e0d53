package mcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"dragoman/adapters/mcp"
	"dragoman/core"
	"dragoman/core/coretest"
)

// needed lists the parameters that a method requires, with valid values, and optional the others.
var needed, optional = map[string]map[string]string{
	"completion/complete":   {"ref": `{"type":"ref/prompt","name":"x"}`, "argument": `{"name":"a","value":""}`},
	"logging/setLevel":      {"level": `"info"`},
	"prompts/get":           {"name": `"review"`},
	"resources/read":        {"uri": `"dragoman://sessions"`},
	"resources/subscribe":   {"uri": `"dragoman://sessions"`},
	"resources/unsubscribe": {"uri": `"dragoman://sessions"`},
	"subscriptions/listen":  {"notifications": `{}`},
	"tasks/cancel":          {"taskId": `"s1.t1"`},
	"tasks/get":             {"taskId": `"s1.t1"`},
	"tasks/update":          {"taskId": `"s1.t1"`},
	"tools/call":            {"name": `"session_list"`},
}, map[string]map[string]string{
	"completion/complete":      {"context": `{}`},
	"initialize":               {"capabilities": `{}`, "clientInfo": `{}`},
	"ping":                     nil,
	"prompts/get":              {"arguments": `{}`},
	"prompts/list":             {"cursor": `"x"`},
	"resources/list":           {"cursor": `"x"`},
	"resources/templates/list": {"cursor": `"x"`},
	"server/discover":          nil,
	"tasks/update":             {"inputResponses": `{}`},
	"tools/call":               {"arguments": `{}`, "requestState": `"x"`, "inputResponses": `{}`},
	"tools/list":               {"cursor": `"x"`},
}

// wrongParams lists parameters that a method refuses, with the code of the error.
func wrongParams(method string) map[string]int {
	wrong := map[string]int{"true": -32600, "3": -32600, `"x"`: -32600, "[]": -32600, `[{"a":1}]`: -32600}
	if len(needed[method]) > 0 {
		wrong[""], wrong["null"], wrong["{}"] = -32602, -32602, -32602
	}
	fits := map[string]string{"_meta": "{}"}
	maps.Copy(fits, optional[method])
	maps.Copy(fits, needed[method])
	for name, good := range fits {
		values := []string{`3`, `true`, `[1]`}
		if _, ok := needed[method][name]; ok {
			values = append(values, "null")
		}
		if good[0] == '{' {
			values = append(values, `"x"`)
		} else {
			values = append(values, `{"q":1}`)
		}
		values = append(values, fmt.Sprintf("%s,%q:%s", good, name, good)) // twice
		for _, v := range values {
			members := []string{fmt.Sprintf("%q:%s", name, v)}
			for other, good := range needed[method] {
				if other != name {
					members = append(members, fmt.Sprintf("%q:%s", other, good))
				}
			}
			wrong["{"+strings.Join(members, ",")+"}"] = -32602
		}
	}
	return wrong
}

// Parameters of the wrong type are refused as such, for every method, over both transports and in
// both life cycles, and in words for the client: they reach no handler, and nothing panics.
func TestWrongParameters(t *testing.T) {
	type way struct {
		modern bool
		ask    func(method, params string) string
	}
	g := newGateway(coretest.NewMemory(), 0, nil)
	ways := map[string]way{}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c := converseAt(t, version, mcp.Options{Gateway: g, Principal: core.Local})
		defer c.stop()
		ways["a pipe at "+version] = way{version == "2026-07-28", func(method, params string) string {
			c.send(request(method, params))
			answer, err := c.peer.Next()
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}}
		s := newSite(t)
		headers := []string{"Mcp-Protocol-Version", version}
		if version == "2025-11-25" {
			headers = append(headers, "Mcp-Session-Id", s.begin(version))
		}
		ways["HTTP at "+version] = way{version == "2026-07-28", func(method, params string) string {
			_, body := s.say("POST", request(method, params), headers...)
			return body
		}}
	}
	for name, w := range ways {
		for method := range methodsOf(w.modern, strings.HasPrefix(name, "HTTP")) {
			for params, code := range wrongParams(method) {
				if w.modern && strings.HasPrefix(name, "a pipe") && method != "server/discover" {
					// Only its parameters mark it as one of this life cycle.
					if !strings.HasPrefix(params, "{") || strings.Contains(params, "_meta") {
						continue
					}
					params = strings.Replace(params, "{", "{"+modernMeta, 1)
					params = strings.Replace(params, ",}", "}", 1)
				}
				got := w.ask(method, params)
				var m struct {
					Error struct {
						Code    int
						Message string
					}
				}
				if err := json.Unmarshal([]byte(got), &m); err != nil || m.Error.Code != code || code == -32602 && !strings.HasPrefix(m.Error.Message, method+": ") {
					t.Errorf("%s: %s %s: %s; want %d", name, method, params, got, code)
				}
			}
		}
	}
}

// removed lists the methods that 2026-07-28 has removed.
var removed = []string{"initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}

// A removed method is refused as unknown, and not because of its parameters.
func TestRemovedMethods(t *testing.T) {
	for _, method := range removed {
		for _, params := range []string{"{" + modernMeta[:len(modernMeta)-1] + "}", "{" + modernMeta + `"level":3,"uri":3}`} {
			c := converseAt(t, "2026-07-28", mcp.Options{Gateway: newGateway(coretest.NewMemory(), 0, nil), Principal: core.Local})
			c.send(request(method, params))
			answer, err := c.peer.Next()
			c.stop()
			if err != nil || !strings.Contains(answer, "-32601") {
				t.Errorf("a pipe: %s %s: %s, %v", method, params, answer, err)
			}
			status, body := newSite(t).say("POST", request(method, params), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method)
			if !strings.Contains(body, "-32601") || status != 404 {
				t.Errorf("HTTP: %s %s: %d %s", method, params, status, body)
			}
		}
	}
}

// methodsOf lists the methods of a life cycle. Over HTTP a second initialize begins another
// session.
func methodsOf(modern, http bool) map[string]bool {
	all := map[string]bool{}
	for _, list := range []map[string]map[string]string{needed, optional} {
		for m := range list {
			all[m] = modern == strings.HasPrefix(m, "tasks/") || modern && !slices.Contains(removed, m)
		}
	}
	all["initialize"] = !modern && !http
	maps.DeleteFunc(all, func(_ string, there bool) bool { return !there })
	return all
}

func request(method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q%s}`, method, params)
}

// The SDK finds faults deeper inside the parameters. Its own words are not shown.
func TestWrongParametersFurtherInside(t *testing.T) {
	c := converseAt(t, "2025-11-25", mcp.Options{})
	defer c.end()
	s := newSite(t)
	id := s.begin("2025-11-25")
	for params, want := range map[string]string{
		request("prompts/get", `{"name":"review","arguments":{"path":3,"long":"`+strings.Repeat("x", 10_000)+`"}}`):  "prompts/get: ",
		request("completion/complete", `{"ref":{"type":"ref/prompt","name":3},"argument":{"name":"a","value":"b"}}`): "completion/complete: ",
		request("tools/list", `{"_meta":{"progressToken":1},"cursor":"no"}`):                                         "",
	} {
		c.send(params)
		pipe, err := c.peer.Next()
		if err != nil {
			t.Fatal(err)
		}
		_, posted := s.say("POST", params, "Mcp-Session-Id", id)
		for name, got := range map[string]string{"a pipe": pipe, "HTTP": posted} {
			if !strings.Contains(got, `"code":-32602,"message":"`+want) || strings.Contains(got, "unmarshal") || strings.Contains(got, "mcp.") || len(got) > 500 {
				t.Errorf("%s: %.100s: %.600s", name, params, got)
			}
		}
	}
}

// A refused initialize changes nothing: a client that began with a date for a version does not
// get the early dialect by a second initialize with a number.
func TestASecondInitializeChangesNothing(t *testing.T) {
	c := converseAt(t, "2025-11-25", mcp.Options{})
	defer c.end()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	c.next()
	c.send(request("tools/call", `{"name":3}`), request("ping", ""))
	for range 2 {
		got, err := c.peer.Next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, "-32000") {
			t.Error(got)
		}
	}
}

// An envelope that is refused on a pipe is also refused over HTTP, with the same code, and has no
// effect.
func TestEnvelopesAreRefusedAlike(t *testing.T) {
	c := converseAt(t, "2025-11-25", mcp.Options{})
	defer c.end()
	s := newSite(t)
	old := s.begin("2025-11-25")
	batches := s.begin("2025-03-26")
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"nope","method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"Method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}`,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":""}`,
		`{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"`,
		`"ping"`,
	} {
		c.send(body)
		pipe, err := c.peer.Next()
		if err != nil {
			t.Fatal(err)
		}
		for name, headers := range map[string][]string{
			"2025-11-25": {"Mcp-Session-Id", old}, "2026-07-28": {"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "ping"}, "no session": nil,
		} {
			if status, got := s.say("POST", body, headers...); status != 400 || got != pipe {
				t.Errorf("%s: %s: %d %s; on a pipe %s", name, body, status, got, pipe)
			}
		}
		if status, got := s.say("POST", "["+body+"]", "Mcp-Session-Id", batches); status != 400 || !strings.Contains(got, `"error":`) {
			t.Errorf("in a batch: %s: %d %s", body, status, got)
		}
	}
}
