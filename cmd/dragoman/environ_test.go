package main

import (
	"strings"
	"testing"
)

// A command gets the harmless part of our environment, and the variables in policy.env.
func TestCommandsGetNoKeys(t *testing.T) {
	p := newPlace(t)
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "canary", "LINEAR_API": "canary", "SSH_AUTH_SOCK": "/canary", "GIT_CONFIG_COUNT": "canary", "HTTPS_PROXY": "http://u:canary@127.0.0.1:1",
		"GOCACHE": "/go-cache", "MINE_A": "one", "MINE_B": "two",
	} {
		p.env[name] = value
	}
	for _, c := range []struct {
		config     string
		want, lack []string
	}{
		{"policy: {allow: [{tool: shell_command}], sandbox: none}\n", []string{"GOCACHE=/go-cache", "HTTPS_PROXY=http://127.0.0.1:1\n"}, []string{"canary", "MINE_"}},
		{"policy: {allow: [{tool: shell_command}]}\n", []string{"TMPDIR=/tmp", "GOCACHE=/run/caches/go-build", "HTTPS_PROXY=http://127.0.0.1:3128\n"}, []string{"canary", "MINE_", "HTTPS_PROXY=http://127.0.0.1:1\n"}},
		{
			"policy: {allow: [{tool: shell_command}], env: [\"MINE_*\", SSH_AUTH_SOCK]}\n",
			[]string{"MINE_A=one", "MINE_B=two", "SSH_AUTH_SOCK=/canary"},
			[]string{"=canary", "u:canary"},
		},
	} {
		p.config(t, c.config)
		out := p.well(t, "run env\n", "chat", "--model", "offline/demo")
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("with %s%q is missing:\n%s", c.config, want, out)
			}
		}
		for _, lack := range c.lack {
			if strings.Contains(out, lack) {
				t.Errorf("with %s%q got through:\n%s", c.config, lack, out)
			}
		}
	}
}
