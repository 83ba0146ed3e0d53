package main

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// piped starts the program and returns a function that sends it a message and reads the answer
// with the message's id.
func piped(t *testing.T, p *place, args ...string) func(message string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := p.command(ctx, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		cancel()
		_ = cmd.Wait() // it may have been killed
	})
	lines := bufio.NewReader(out)
	id := regexp.MustCompile(`"id":("a"|[0-9]+)`)
	return func(message string) string {
		t.Helper()
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
		want := id.FindString(message)
		for want != "" {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("waiting for the answer to %s: %v", message, err)
			}
			if strings.Contains(line, want) && !strings.Contains(line, `"method"`) {
				return line
			}
		}
		return ""
	}
}

// posted is the same over HTTP.
func posted(t *testing.T, p *place, path string) func(message string) string {
	post, session := posting(t, p), ""
	return func(message string) string {
		t.Helper()
		_, opened, text := post(path, session, message)
		if opened != "" {
			session = opened
		}
		return text
	}
}

// A rule that is written while a client is connected applies from its next call on, in whatever
// way the server's tool is called.
func TestADenyRuleAppliesFromTheNextCall(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *place) func(string) string{
		"one server over a pipe":  func(t *testing.T, p *place) func(string) string { return piped(t, p, "mcp", "--only", "self") },
		"all servers over a pipe": func(t *testing.T, p *place) func(string) string { return piped(t, p, "mcp") },
		"one server over HTTP":    func(t *testing.T, p *place) func(string) string { return posted(t, p, "/self") },
		"all servers over HTTP":   func(t *testing.T, p *place) func(string) string { return posted(t, p, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			config := "mcp_servers:\n  self: {command: " + strconv.Quote(binary) + ", args: [mcp], env: {DRAGOMAN_DATA: " +
				strconv.Quote(p.data) + "}}\nmcp: {prefix: always}\n"
			p.config(t, config)
			ask := connect(t, p)
			ask(relayHello)
			ask(relayReady)
			tools := regexp.MustCompile(`"name":"([^"]*session_list)"`).FindAllStringSubmatch(ask(relayList), -1)
			if len(tools) == 0 {
				t.Fatal("the server's tools are not listed")
			}
			call := relayDenied
			for _, tool := range tools {
				if strings.Contains(tool[1], "self") {
					call = strings.Replace(relayDenied, "session_list", tool[1], 1)
				}
			}
			if said := ask(call); strings.Contains(said, `"error"`) || !strings.Contains(said, `"result"`) {
				t.Fatalf("before the rule: %s", said)
			}
			p.config(t, config+"policy: {deny: [{server: self, tool: session_list}]}\n")
			if said := ask(call); !strings.Contains(said, `"error"`) || !strings.Contains(said, "denied by rule") {
				t.Errorf("after the rule: %s", said)
			}
			p.config(t, config)
			if said := ask(call); strings.Contains(said, `"error"`) {
				t.Errorf("after the rule has gone: %s", said)
			}
		})
	}
}
