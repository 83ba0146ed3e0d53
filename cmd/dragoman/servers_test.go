package main

import (
	"strconv"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// The program is a server itself, so it can be its own upstream server.
func TestServersAreTried(t *testing.T) {
	p := newPlace(t)
	if out := p.well(t, "", "mcp-servers", "list"); !strings.Contains(out, "There are no MCP servers") {
		t.Errorf("without any: %s", out)
	}
	p.config(t, `mcp_servers:
  self: {command: `+strconv.Quote(binary)+`, args: [mcp], without_tools: [session_close], env: {DRAGOMAN_DATA: `+strconv.Quote(p.data)+`}}
  nowhere: {command: no-such-program}
  keyless: {url: "https://mcp.example.com/mcp", headers: {Authorization: "Bearer ${env:NO_SUCH_TOKEN}"}}
  off: {command: no-such-program, disabled: true}
`)
	o := p.run(t, "", "mcp-servers", "list", "--tools")
	out := o.out
	if o.code != program.ExitFailed || o.errs != "" {
		t.Errorf("exit code %d: %s", o.code, o.errs)
	}
	for _, want := range []string{
		"agent_prompt", " running ", "start no-such-program: there is no such program in PATH",
		"config.yaml:4:", "NO_SUCH_TOKEN", "disabled",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "session_close") {
		t.Errorf("a tool that was taken out is listed:\n%s", out)
	}
	if log := p.well(t, "", "mcp-servers", "logs", "nowhere"); !strings.Contains(log, "there is no such program in PATH") {
		t.Errorf("the log: %s", log)
	}
}
