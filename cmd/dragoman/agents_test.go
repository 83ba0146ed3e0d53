package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/bridge/agent/agenttest"
	"dragoman/cmd/internal/program"
)

// took matches times in the report.
var took = regexp.MustCompile(`\b[\d.]+(ms|s)\b`)

// entry is a scripted agent in the configuration.
func entry(name string, o agenttest.Options, more string) string {
	return "  " + name + ": {acp: {command: ['" + binary + "', scripted-agent], env: {" + agenttest.Variable + ": '" + o.Value() + "'}}" + more + "}\n"
}

// The doctor starts external agents and reports why one does not work.
func TestAgentsDoctor(t *testing.T) {
	p := doctorPlace(t)
	script := filepath.Join(p.home, "bin", "claude-agent-acp")
	p.write(t, script, "#!/usr/bin/env node\n")
	p.write(t, filepath.Join(p.home, "bin", "node"), "#!/bin/sh\n[ \"$1\" = --version ] && echo v18.20.0 && exit\necho it needs another node >&2\nexit 1\n")
	for _, path := range []string{script, filepath.Join(p.home, "bin", "node")} {
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.env["PATH"] += ":/usr/bin:/bin" // of env
	p.env["ANTHROPIC_API_KEY"], p.env["OPENAI_API_KEY"] = "very-secret-canary", "another-canary"
	good := agenttest.Options{Load: true, List: true, Images: true, Config: agenttest.SampleConfig()}
	bad := agenttest.Options{Faults: map[string]string{"session/new": "stderr the key is secret-value-1234; exit 3"}}
	p.config(t, "agents:\n"+
		"  claude: {acp: {command: claude-agent-acp}}\n"+
		"  lost: {acp: {command: codex-acpp}}\n"+
		"  secret: {acp: {command: '"+binary+" scripted-agent', env: {"+agenttest.Variable+": '"+good.Value()+"', KEY: secret-value-1234}}, options: {mode: cod, fast: true, speed: 1}}\n"+
		entry("login", agenttest.Options{Auth: []agenttest.AuthMethod{{ID: "key", Name: "API key"}}}, "")+
		"  exits: {acp: {command: '"+binary+" scripted-agent', env: {"+agenttest.Variable+": '"+bad.Value()+"', KEY: secret-value-1234}}}\n"+
		entry("garbage", agenttest.Options{Faults: map[string]string{"start": "stderr hello; exit 0"}}, "")+
		"  unset: {acp: {env: {KEY: '${env:NOWHERE}'}, command: '"+binary+"'}}\n")
	o := p.run(t, "", "agents", "doctor")
	if o.code != program.ExitFailed || o.errs != "" {
		t.Errorf("exit code %d; %s", o.code, o.errs)
	}
	if strings.Contains(o.out, "canary") || strings.Contains(o.out, "secret-value") {
		t.Error("the report holds a secret")
	}
	p.golden(t, "agents_doctor.txt", took.ReplaceAllString(strings.Replace(o.out, "find claude-agent-acp and node;", "find claude-agent-acp;", 1), "N ms"))
	if o := p.run(t, "", "agents", "doctor", "secret"); o.code != program.ExitOK || !strings.Contains(o.out, "Nothing is wrong.") || strings.Contains(o.out, "Agent lost") {
		t.Errorf("of one: %+v", o)
	}
	if left, err := filepath.Glob(filepath.Join(p.env["TMPDIR"], "dragoman-trial-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if out := p.run(t, "", "doctor").out; !strings.Contains(out, "· 7 external agents: claude, exits, garbage, login, lost, secret, unset\n    → \"dragoman agents doctor\" tries them\n") ||
		!strings.Contains(out, "! agent lost: codex-acpp: there is no such program in PATH\n") || strings.Contains(out, "answered in") {
		t.Errorf("the doctor:\n%s", out)
	}
}

func TestAgentsDoctorWithoutAgents(t *testing.T) {
	p := newPlace(t)
	if out := p.well(t, "", "agents", "doctor"); !strings.HasPrefix(out, "There are no external agents.") {
		t.Errorf("%s", out)
	}
	p.config(t, "agents: {claude: {acp: {command: claude-agent-acp}}}\n")
	for name, want := range map[string]string{
		"code": "code is a built-in agent", "cluade": `did you mean "claude"?`, "gemini": "agents: {gemini: {acp: {command: gemini --acp}}}",
	} {
		if o := p.run(t, "", "agents", "doctor", name); o.code != program.ExitUsage || !strings.Contains(o.errs, want) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// A prompt to an agent that does not start names the command that finds out why.
func TestAnAgentThatDoesNotStart(t *testing.T) {
	p := newPlace(t)
	p.config(t, "agents: {lost: {acp: {command: codex-acpp}}}\n")
	if o := p.run(t, "", "run", "--agent", "lost", "hello"); o.code != program.ExitFailed || !strings.Contains(o.errs, "there is no such program in PATH (dragoman agents doctor lost)") {
		t.Errorf("%+v", o)
	}
}

func TestAgentsList(t *testing.T) {
	p := newPlace(t)
	p.config(t, "default_agent: mine\nagents:\n"+entry("mine", agenttest.Options{}, ", description: Mine")+"  lost: {acp: {command: codex-acp}, mode: subagent}\n")
	out := p.well(t, "", "agents", "list")
	p.golden(t, "agents_list.txt", regexp.MustCompile(` {2,}`).ReplaceAllString(out, "  "))
	if lines := strings.Split(strings.TrimSpace(p.well(t, "", "agents", "list", "--json")), "\n"); len(lines) != 6 || !strings.HasPrefix(lines[0], `{"name":"mine","kind":"external","mode":"primary","default":true,"description":"Mine",`) {
		t.Errorf("%q", lines)
	}
}
