package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// An answer that is given for good counts in the next sessions of the folder, until it is forgotten.
func TestAlways(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.config(t, "policy: {ask: [{command: 'ls -d *'}]}\n")
	file := filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "policy.json")

	first := p.well(t, "run ls -a\nperhaps\na\nrun ls -d x\na\nn\n", "chat")
	if !strings.Contains(first, "[y]es, [s]ession or [a]lways in this folder (`ls` commands in the sandbox), or [n]o") || strings.Count(first, "Please answer [y]es or [n]o") != 1 {
		t.Errorf("what a rule asks about is offered for good, or nothing is: %s", first)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if got := p.well(t, "run ls -1\n", "chat"); !strings.Contains(got, "exit status 0") {
		t.Errorf("the next session asks: %s", got)
	}
	if got := p.well(t, "", "policy", "test", "--", "ls", "-1"); !strings.Contains(got, "allow: allowed for good in this folder: `ls` commands in the sandbox") {
		t.Errorf("test: %s", got)
	}
	other := p.command(t.Context(), "policy", "test", "--", "ls", "-1")
	other.Dir = t.TempDir()
	if out, err := other.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "ask: ") {
		t.Errorf("another folder: %v, %s", err, out)
	}

	var r struct{ ID, Allows, Agent string }
	if err := json.Unmarshal([]byte(p.well(t, "", "policy", "list", "--json")), &r); err != nil || r.Allows != "`ls` commands in the sandbox" || r.Agent != "code" {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := p.well(t, "", "policy", "list"); !strings.Contains(got, r.ID+"  `ls` commands in the sandbox  code") {
		t.Errorf("list: %s", got)
	}
	if got := p.well(t, "", "policy", "forget", r.ID); !strings.Contains(got, "Forgotten: `ls` commands in the sandbox") {
		t.Errorf("forget: %s", got)
	}
	if got := p.well(t, "run ls -1\nn\n", "chat"); !strings.Contains(got, "rejected by the user") {
		t.Errorf("it is not asked about any more: %s", got)
	}
}

// A call can be allowed for good in a terminal: for what an answer would cover, and no more than an answer could.
func TestPolicyAllow(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.config(t, "policy: {deny: [{command: 'git push *'}], ask: [{command: 'ls -d *'}]}\n")
	if got := p.well(t, "", "policy", "allow", "--", "ls", "-a"); got != "Allowed for good, in this folder: `ls` commands in the sandbox\n" {
		t.Errorf("allow: %s", got)
	}
	if got := p.well(t, "run ls -1\n", "chat"); !strings.Contains(got, "exit status 0") {
		t.Errorf("a session asks: %s", got)
	}
	if got := p.well(t, "", "policy", "allow", "--", "ls", "-1"); !strings.Contains(got, "Nothing was changed: this call is not asked about (allowed for good in this folder") {
		t.Errorf("again: %s", got)
	}
	for line, want := range map[string]string{
		"git push origin": "it is denied by rule",
		"ls -d x":         "it must be asked about each time",
		"crontab x":       "it must be asked about each time",
	} {
		if o := p.run(t, "", "policy", "allow", "--", line); o.code != program.ExitFailed || !strings.Contains(o.errs, want) {
			t.Errorf("%s: exit code %d, %s%s", line, o.code, o.out, o.errs)
		}
	}
	var r struct{ Allows, Client string }
	if err := json.Unmarshal([]byte(p.well(t, "", "policy", "list", "--json")), &r); err != nil || r.Allows != "`ls` commands in the sandbox" || r.Client != "dragoman policy" {
		t.Errorf("%+v, %v", r, err)
	}
}

// The rules can be tried out without a session.
func TestPolicyTest(t *testing.T) {
	p := newPlace(t)
	p.config(t, "policy:\n  deny: [{path: '**/.env'}, {command: 'git push *'}]\n  allow: [{tool: web_fetch, url: 'https://go.dev'}]\n  ask: [{agent: plan, server: files}]\n")
	for line, want := range map[string]string{
		"-- git push origin":                        "deny: denied by rule",
		"-- go\ttest ./...":                         "ask: running a command in the sandbox (full) needs an approval\nAn answer for the session or for good would cover `go test` commands in the sandbox.",
		"-- cat .env":                               "deny: denied by rule",
		"-- cat $X":                                 "ask, each time: the command line hides which paths it touches",
		"--tool read_file --path notes.txt":         "allow: reading inside the workspace is allowed",
		"--tool read_file --path ../x":              "ask: reading",
		"--tool read_file --path sub/.env":          "deny: ",
		"--tool write_file --path .git/hooks/x":     "ask, each time: changes to",
		"--tool web_fetch --url https://go.dev/doc": "allow: allowed by rule",
		`--tool files/read --args {"path":".env"}`:  "deny: denied by rule",
		"--tool files/read --agent plan":            "deny: the agent plan is not offered the tool read",
	} {
		words := strings.Split(line, " ")
		if line == "-- cat $X" || strings.Contains(line, "\t") {
			words = []string{"--", strings.TrimPrefix(line, "-- ")}
		}
		o := p.run(t, "", append([]string{"policy", "test"}, words...)...)
		allowed := strings.HasPrefix(want, "allow")
		if !strings.HasPrefix(o.out, want) || (o.code == program.ExitOK) != allowed || !allowed && o.code != program.ExitRefused {
			t.Errorf("%s: exit code %d\n%s%s", line, o.code, o.out, o.errs)
		}
	}
	for _, line := range []string{"", "--tool nothing", "--tool read_file -- ls", "--tool x/y --args {", "--tool read_file --agent nobody"} {
		if o := p.run(t, "", append([]string{"policy", "test"}, strings.Fields(line)...)...); o.code != program.ExitUsage {
			t.Errorf("%q: exit code %d\n%s%s", line, o.code, o.out, o.errs)
		}
	}
	if o := p.run(t, "", "policy", "forget", "nothing"); o.code != program.ExitFailed || !strings.Contains(o.errs, `there is no "nothing"`) {
		t.Errorf("%+v", o)
	}
}
