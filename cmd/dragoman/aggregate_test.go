package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// The servers of the configuration are offered together with the agent, whose tools keep their
// names; a deny rule applies, and the configuration selects the visible servers.
func TestMCPShowsServersToo(t *testing.T) {
	p := newPlace(t)
	config := func(more string) {
		p.config(t, `mcp_servers:
  self: {command: `+strconv.Quote(binary)+`, args: [mcp], env: {DRAGOMAN_DATA: `+strconv.Quote(p.data)+`, HOME: `+strconv.Quote(p.work)+`, XDG_CONFIG_HOME: `+strconv.Quote(p.work)+`}}
  broken: {command: `+strconv.Quote(p.work+"/nothing")+`}
policy:
  deny: [{server: self, tool: session_list}]
`+more)
	}
	lines := func(said ...string) string {
		return strings.Join(append([]string{relayHello, relayReady}, said...), "\n") + "\n"
	}
	const denied = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"self__session_list","arguments":{}}}`
	const allowed = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"session_list","arguments":{}}}`

	config("")
	out := p.well(t, lines(relayList, denied, allowed), "mcp")
	for _, want := range []string{`"name":"agent_prompt"`, `"name":"self__agent_prompt"`, `"listChanged":true`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing in:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"id":3,`) && !strings.Contains(line, `"error"`) || strings.Contains(line, `"id":4,`) && !strings.Contains(line, `"result"`) {
			t.Errorf("a call was answered with %s", line)
		}
	}
	config("mcp: {servers: []}\n")
	if out := p.well(t, lines(relayList), "mcp"); !strings.Contains(out, `"name":"agent_prompt"`) || strings.Contains(out, "self__") {
		t.Errorf("without servers:\n%s", out)
	}
	config("mcp: {servers: [s*], prefix: never}\n")
	if out := p.well(t, lines(relayList, denied), "mcp"); strings.Contains(out, `"name":"self__`) || !strings.Contains(out, "there is no tool") {
		t.Errorf("without prefixes:\n%s", out)
	}
}

// The same over HTTP; new servers of the configuration are visible to the sessions that begin
// after that.
func TestMCPShowsServersOverHTTP(t *testing.T) {
	p, home := newPlace(t), t.TempDir()
	config := func(servers string) {
		p.config(t, `mcp_servers:
  self: {command: `+strconv.Quote(binary)+`, args: [mcp], env: {DRAGOMAN_DATA: `+strconv.Quote(p.data)+`, HOME: `+strconv.Quote(home)+`, XDG_CONFIG_HOME: `+strconv.Quote(home)+`}}
mcp: {servers: `+servers+`}
`)
	}
	config("[]")
	post := posting(t, p)
	begin := func() string {
		t.Helper()
		status, session, text := post("", "", relayHello)
		if status != http.StatusOK || session == "" {
			t.Fatalf("initialize: %d %s", status, text)
		}
		post("", session, relayReady)
		return session
	}
	alone := begin()
	if _, _, text := post("", alone, relayList); !strings.Contains(text, "agent_prompt") || strings.Contains(text, "self__") {
		t.Errorf("without servers: %s", text)
	}
	config(`["*"]`)
	all := begin()
	if _, _, text := post("", all, relayList); !strings.Contains(text, `"agent_prompt"`) || !strings.Contains(text, `"self__agent_prompt"`) {
		t.Errorf("with servers: %s", text)
	}
	if status, _, text := post("", all, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"self__session_list","arguments":{}}}`); status != http.StatusOK || !strings.Contains(text, "There are no sessions") {
		t.Errorf("a call: %d %s", status, text)
	}
	if status, _, _ := post("", "guessed", relayList); status != http.StatusNotFound {
		t.Errorf("another session: %d", status)
	}
	config("[]")
	for _, session := range []string{all, alone, begin()} { // each continues, without the removed server
		if status, _, text := post("", session, relayList); status != http.StatusOK || !strings.Contains(text, "agent_prompt") || strings.Contains(text, "self__") {
			t.Errorf("a session when the servers have gone: %d %s", status, text)
		}
	}
	config(`["*"]`)
	if _, _, text := post("", all, relayList); !strings.Contains(text, `"self__agent_prompt"`) {
		t.Errorf("a session when the servers are back: %s", text)
	}
}

// A configuration that names dragoman itself starts each of them once.
func TestMCPDoesNotStartItselfForEver(t *testing.T) {
	p := newPlace(t)
	p.config(t, `mcp_servers:
  one: {command: `+strconv.Quote(binary)+`, args: [mcp], env: {DRAGOMAN_DATA: `+strconv.Quote(p.data)+`}}
  two: {command: `+strconv.Quote(binary)+`, args: [mcp], env: {DRAGOMAN_DATA: `+strconv.Quote(p.data)+`}}
`)
	out := p.well(t, strings.Join([]string{relayHello, relayReady, relayList}, "\n")+"\n", "mcp")
	if !strings.Contains(out, `"one__agent_prompt"`) || !strings.Contains(out, `"two__agent_prompt"`) {
		t.Errorf("they are not there: %s", out)
	}
	for _, deeper := range []string{"__one__", "__two__"} {
		if strings.Contains(out, deeper) {
			t.Errorf("one has started %s: %s", deeper, out)
		}
	}
}
