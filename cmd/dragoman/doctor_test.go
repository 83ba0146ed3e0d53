package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
)

// unsteady matches the parts of the doctor's report that differ between machines.
var unsteady = regexp.MustCompile(`go1\.\S+, \w+/\w+|[\d.]+ [GMK]iB free|removed in \d+ms`)

// doctorPlace returns a place with only a shell and git on its PATH.
func doctorPlace(t *testing.T) *place {
	unixOnly(t)
	p := newPlace(t)
	bin := filepath.Join(p.home, "bin")
	for _, name := range []string{"bash", "git"} {
		p.write(t, filepath.Join(bin, name), "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.env["PATH"] = bin
	return p
}

func (p *place) doctor(t *testing.T, name string, code int) {
	t.Helper()
	o := p.run(t, "", "doctor")
	if o.code != code || o.errs != "" {
		t.Errorf("%s: exit code %d, want %d; %s", name, o.code, code, o.errs)
	}
	p.golden(t, name, unsteady.ReplaceAllStringFunc(o.out, func(s string) string {
		return regexp.MustCompile(`[\d.]+[\d\w./, -]*`).ReplaceAllString(s, "N ")
	}))
}

func TestDoctorFindsNothingWrong(t *testing.T) {
	p := doctorPlace(t)
	p.doctor(t, "doctor_bare.txt", program.ExitOK)
}

func TestDoctorFindsEverything(t *testing.T) {
	p := doctorPlace(t)
	p.env["GROQ_API_KEY"], p.env["OPENAI_API_KEY"] = "very-secret-key", "  "
	p.config(t, "mcp_servers: {files: {command: npx}}\nlog: {level: error}\n")
	p.write(t, filepath.Join(p.work, ".dragoman", "config.yaml"), "model: groq/x\n")
	p.write(t, filepath.Join(p.home, "config", "zed", "settings.json"), `// my settings
{ "theme": "x", /* an agent */
  "agent_servers": {
    "dragoman": { "type": "custom", "command": "`+binary+`", "args": ["acp"], },
    "other": { "command": "claude", "args": [] },
  },
}`)
	p.write(t, filepath.Join(p.home, ".jetbrains", "acp.json"), `{"agent_servers": {"mine": {"command": "`+binary+`", "args": ["--log-level=debug", "acp"]}}}`)
	p.write(t, filepath.Join(p.home, ".cursor", "mcp.json"), `{"mcpServers": {"dragoman": {"command": "`+binary+`", "args": ["mcp"]}}}`)
	p.write(t, filepath.Join(p.home, ".emacs.d", "init.el"), ";; settings\n(setq eca-custom-command '(\"/opt/dragoman\" \"server\"))\n")
	p.well(t, "read notes.txt\n", "chat", "--model", "offline/demo") // a session
	p.doctor(t, "doctor_found.txt", program.ExitOK)
	if out := p.run(t, "", "doctor").out; strings.Contains(out, "very-secret-key") {
		t.Error("the report holds a key")
	}
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	p := doctorPlace(t)
	p.env["PATH"] = filepath.Join(p.home, "empty")
	p.config(t, "modle: groq/x\nlog: {level: loud}\n")
	p.write(t, p.data, "a file where a folder is needed")
	p.write(t, filepath.Join(p.home, "config", "zed", "settings.json"), `{"agent_servers": {"dragoman": {"command": "/nowhere/dragoman", "args": ["acp"]}}}`)
	p.write(t, filepath.Join(p.home, ".jetbrains", "acp.json"), `{"agent_servers": {"dragoman": {"command": "`+binary+`", "args": ["eca"]}}}`)
	p.write(t, filepath.Join(p.home, ".cursor", "mcp.json"), `{"mcpServers": {"dragoman": {"command": "dragoman" "args": ["mcp"]}}}`)
	p.doctor(t, "doctor_wrong.txt", program.ExitFailed)
}

// A shell that exists but does not work is reported.
func TestDoctorTriesTheShell(t *testing.T) {
	p := doctorPlace(t)
	p.write(t, filepath.Join(p.home, "bin", "bash"), "#!/bin/sh\nexit 3\n")
	o := p.run(t, "", "doctor")
	if want := "bash, which does not work: exit status 3"; o.code != program.ExitFailed || !strings.Contains(o.out, want) {
		t.Errorf("exit code %d, want %q in\n%s", o.code, want, o.out)
	}
}

// So is a broken git, although the agent works without it.
func TestDoctorTriesGit(t *testing.T) {
	p := doctorPlace(t)
	p.write(t, filepath.Join(p.home, "bin", "git"), "#!/bin/sh\nexit 3\n")
	o := p.run(t, "", "doctor")
	if want := "! git is " + filepath.Join(p.home, "bin", "git") + ", which does not work: exit status 3"; o.code != program.ExitOK || !strings.Contains(o.out, want) {
		t.Errorf("exit code %d, want %q in\n%s", o.code, want, o.out)
	}
}

// A log file that cannot be written stops every command if a flag names it, and is ignored if the
// configuration does. The doctor does not create a file that can be written.
func TestDoctorTriesTheLogFile(t *testing.T) {
	p := doctorPlace(t)
	file := filepath.Join(p.home, "notes")
	p.write(t, file, "a file where a folder is needed")
	below, fresh := filepath.Join(file, "log"), filepath.Join(p.home, "logs", "log")

	o := p.run(t, "", "doctor", "--log-file", below)
	if o.code != program.ExitFailed || !strings.Contains(o.out, "✗ the log cannot be written: ") || !strings.Contains(o.out, "name another file in --log-file") {
		t.Errorf("%+v", o)
	}
	for _, path := range []string{file, fresh} {
		if o := p.run(t, "", "doctor", "--log-file", path); o.code != program.ExitOK || !strings.Contains(o.out, "✓ the log is appended to "+path) {
			t.Errorf("%+v", o)
		}
	}
	if _, err := os.Stat(filepath.Dir(fresh)); err == nil {
		t.Error("the doctor has made the log's folder")
	}
	p.config(t, "log: {file: "+below+"}\n")
	if o := p.run(t, "", "doctor"); o.code != program.ExitOK || !strings.Contains(o.out, "! the log cannot be written: ") || !strings.Contains(o.out, "name another file in log.file") {
		t.Errorf("%+v", o)
	}
}

func TestDoctorMissesTheKey(t *testing.T) {
	p := doctorPlace(t)
	p.config(t, "model: groq/x\n")
	o := p.run(t, "", "doctor")
	if o.code != program.ExitFailed || !strings.Contains(o.out, "✗ there is no key for groq: run \"dragoman login groq\", or set GROQ_API_KEY where dragoman is started\n") {
		t.Errorf("%+v", o)
	}
}
