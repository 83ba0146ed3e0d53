package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// agentCalls are requests to our agent, by method and the rest of the parameters, without a
// _meta.
var agentCalls = []struct{ method, params string }{
	{"ping", ``},
	{"tools/call", `"name":"session_list","arguments":{}`},
	{"tools/call", `"name":"session_get","arguments":{"session_id":"none"}`},
	{"tools/call", `"name":"session_get","arguments":{"session_id":7}`},
	{"tools/call", `"name":"agent_wait","arguments":{"session_id":"none","turn_id":"t"}`},
	{"tools/call", `"name":"agent_cancel","arguments":{"session_id":"none"}`},
	{"tools/call", `"name":"agent_approve","arguments":{}`},
	{"tools/call", `"name":"session_close","arguments":{"session_id":"none"}`},
	{"tools/call", `"name":"agent_prompt","arguments":{"prompt":"x","session_id":"none"}`},
	{"prompts/get", `"name":"compact"`},
	{"resources/read", `"uri":"dragoman://sessions"`},
	{"resources/read", `"uri":"dragoman://session/none/transcript"`},
	{"resources/subscribe", `"uri":"dragoman://sessions"`},
	{"resources/unsubscribe", `"uri":"dragoman://sessions"`},
	{"completion/complete", `"ref":{"type":"ref/prompt","name":"compact"},"argument":{"name":"x","value":""}`},
	{"completion/complete", `"ref":{"type":"ref/resource","uri":"dragoman://session/{id}/transcript"},"argument":{"name":"id","value":""}`},
	{"logging/setLevel", `"level":"info"`},
	{"logging/setLevel", `"level":"loud"`},
	{"tasks/update", `"taskId":"none","inputResponses":{}`},
}

// agentLists are the lists that contain a part of our agent.
var agentLists = map[string]string{
	"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}

// Our agent's answers are the same, byte for byte, with and without servers: to every method,
// over a pipe and over HTTP, in the oldest and the newest version.
func TestTheAgentAnswersTheSameBesideServers(t *testing.T) {
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		modern := era == "2026-07-28"
		for name, answers := range map[string]func(*testing.T, *place, bool) map[string]string{"pipe": pipeAnswers, "http": httpAnswers} {
			t.Run(name+"/"+era, func(t *testing.T) {
				p := newPlace(t)
				p.config(t, "mcp_servers: {broken: {command: /nothing/at/all}}\nmcp: {servers: []}\n")
				alone := answers(t, p, modern)
				p.config(t, "mcp_servers: {broken: {command: /nothing/at/all}}\n")
				beside := answers(t, p, modern)
				if len(alone) < len(agentLists)+10 {
					t.Fatalf("%d answers", len(alone))
				}
				for _, asked := range slices.Sorted(maps.Keys(alone)) {
					if beside[asked] != alone[asked] {
						t.Errorf("%s:\nalone  %s\nbeside %s", asked, alone[asked], beside[asked])
					}
				}
			})
		}
	}
}

// asked lists the requests of an era, by their text.
func asked(modern bool) (lines []string) {
	line := func(method, params string) {
		if modern {
			meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"same","version":"1"}}`
			if params = strings.TrimSuffix(meta+","+params, ","); method == "ping" || strings.HasSuffix(method, "scribe") || method == "logging/setLevel" {
				return // that version does not have it
			}
		} else if method == "tasks/update" {
			return
		}
		id, _ := json.Marshal(method + " " + params)
		lines = append(lines, `{"jsonrpc":"2.0","id":`+string(id)+`,"method":"`+method+`","params":{`+params+`}}`)
	}
	for _, c := range agentCalls {
		line(c.method, c.params)
	}
	for method := range agentLists {
		line(method, "")
	}
	return lines
}

// note keeps an answer: of a list only our part.
func note(t *testing.T, all map[string]string, text string) {
	t.Helper()
	var m struct {
		ID     string
		Method string
		Result map[string]json.RawMessage
	}
	if json.Unmarshal([]byte(text), &m) != nil || m.Method != "" || !strings.Contains(m.ID, " ") {
		return
	}
	method, _, _ := strings.Cut(m.ID, " ")
	if field := agentLists[method]; field != "" {
		text = string(m.Result[field])
	}
	all[m.ID] = text
}

func pipeAnswers(t *testing.T, p *place, modern bool) map[string]string {
	t.Helper()
	var lines []string
	if !modern {
		lines = append(lines, relayHello, relayReady)
	}
	all := map[string]string{}
	for line := range strings.Lines(p.well(t, strings.Join(append(lines, asked(modern)...), "\n")+"\n", "mcp")) {
		note(t, all, strings.TrimSpace(line))
	}
	return all
}

func httpAnswers(t *testing.T, p *place, modern bool) map[string]string {
	t.Helper()
	ctx, address := serving(t, p)
	session := ""
	post := func(body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Method string
			Params struct{ Name, URI, TaskID string }
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		if modern {
			req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			req.Header.Set("Mcp-Method", m.Method)
			if name := m.Params.Name + m.Params.URI + m.Params.TaskID; name != "" {
				req.Header.Set("Mcp-Name", name)
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		return string(text)
	}
	if !modern {
		post(relayHello)
		post(relayReady)
	}
	all := map[string]string{}
	for _, body := range asked(modern) {
		for line := range strings.Lines(post(body)) {
			note(t, all, strings.TrimPrefix(strings.TrimSpace(line), "data: "))
		}
	}
	return all
}
