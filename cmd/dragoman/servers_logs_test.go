package main

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
)

// A server's output can be read later, without the secrets in its configuration.
func TestLogsOfServers(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	if o := p.run(t, "", "mcp-servers", "logs"); o.code != program.ExitOK || o.out != "" || !strings.Contains(o.errs, "No log yet") {
		t.Errorf("without any: %+v", o)
	}
	p.servers(t, `{"mcpServers": {"loud": {"command": "sh", "args": ["-c", "echo my key is $KEY >&2; echo no message; read hello"], "env": {"KEY": "very-secret"}}}}`)
	if o := p.run(t, "", "mcp-servers", "list"); o.code != program.ExitFailed { // unlike a turn, it waits until the server has failed
		t.Errorf("a server that ends: %+v", o)
	}
	got := p.well(t, "", "mcp-servers", "logs", "loud")
	for _, want := range []string{" info  my key is ***\n", " info  no message\n", " warn  does not run: the program ended with exit code 0"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	path := filepath.Join(p.data, "mcp-logs", "loud.log")
	if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "very-secret") {
		t.Errorf("%v\n%s", err, b)
	}
	if got := p.well(t, "", "mcp-servers", "logs", "-n", "1"); strings.Count(got, "\n") != 1 || !strings.Contains(got, " loud: ") {
		t.Errorf("-n 1: %s", got)
	}
	if o := p.run(t, "", "mcp-servers", "logs", "lou"); o.code != program.ExitFailed || !strings.Contains(o.errs, `there is no MCP server "lou"; did you mean "loud"?`) {
		t.Errorf("%+v", o)
	}

	says := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("2999-01-02T03:04:05.000Z info  " + text + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	says("by now")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := p.command(ctx, "mcp-servers", "logs", "-f", "-n", "1", "loud")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasSuffix(lines.Text(), "by now") {
		t.Errorf("the last line: %s", lines.Text())
	}
	says("later")
	if !lines.Scan() || !strings.HasSuffix(lines.Text(), "later") {
		t.Errorf("what was said later: %s", lines.Text())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	p.well(t, "", "mcp-servers", "remove", "loud")
	if left, err := filepath.Glob(filepath.Join(p.data, "mcp-logs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
