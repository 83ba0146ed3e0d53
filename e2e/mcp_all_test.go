package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// facts are what a client has found out.
type facts map[string]json.RawMessage

// story lets a client go through all that there is, or go on with a session.
func (p *place) story(t *testing.T, args ...string) facts {
	t.Helper()
	dir := needClients(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join(dir, "mcp_all.mjs"), "--cwd", p.work}, args...)...)
	cmd.Env, cmd.Dir = p.nodeEnv(), p.work
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	found := facts{}
	ok := false
	for line := range strings.Lines(out.String()) {
		var l struct {
			Fact  string          `json:"fact"`
			Value json.RawMessage `json:"value"`
			OK    bool            `json:"ok"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if l.Fact != "" {
			found[l.Fact] = l.Value
		}
		ok = ok || l.OK
	}
	if err != nil || !ok {
		t.Fatalf("%v: %v\n%.3000s\n%.3000s", args, err, out.String(), errs.String())
	}
	return found
}

// is compares a fact.
func (f facts) is(t *testing.T, name, want string) {
	t.Helper()
	var got, w any
	if err := errors.Join(json.Unmarshal(f[name], &got), json.Unmarshal([]byte(want), &w)); err != nil || !reflect.DeepEqual(got, w) {
		t.Errorf("%s: %s, want %s", name, f[name], want)
	}
}

// says looks for texts in a fact.
func (f facts) says(t *testing.T, name string, parts ...string) {
	t.Helper()
	wantText(t, name, string(f[name]), parts...)
}

// site is the binary as it serves MCP over HTTP.
type site struct {
	url, token string
	cmd        *exec.Cmd
	ended      chan error
}

// serve starts the binary and waits until it says where it is.
func (p *place) serve(t *testing.T, args ...string) *site {
	t.Helper()
	cmd := exec.Command(binary, append(args, "mcp", "--http", "127.0.0.1:0", "--root", p.work)...)
	cmd.Env, cmd.Dir = p.env, p.work
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &site{cmd: cmd, ended: make(chan error, 1)}
	told := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			if _, rest, ok := strings.Cut(lines.Text(), "MCP at "); ok {
				url, _, _ := strings.Cut(rest, "/mcp")
				told <- url + "/mcp"
			}
		}
		s.ended <- cmd.Wait()
	}()
	t.Cleanup(s.kill)
	select {
	case s.url = <-told:
	case err := <-s.ended:
		t.Fatalf("it has ended: %v", err)
	case <-time.After(patience):
		t.Fatal("it does not say where it is")
	}
	token, _, code := p.run(t, "mcp", "--show-token")
	if s.token = strings.TrimSpace(token); code != 0 || s.token == "" {
		t.Fatalf("--show-token: %q, exit %d", token, code)
	}
	return s
}

func (s *site) kill() {
	s.cmd.Process.Kill() //nolint:errcheck // it may have ended
}

// stop ends it as a user does.
func (s *site) stop(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		s.kill()
		<-s.ended
		return
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		if err != nil {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(patience):
		t.Error("it does not end")
	}
}

// All that there is, with both SDKs, over both transports, then again in another process.
func TestMCPAll(t *testing.T) {
	for _, c := range []struct {
		name    string
		version string
		args    []string
	}{
		{"sdk", "2025-11-25", []string{"--sdk", "1"}},
		{"client auto", "2026-07-28", []string{"--sdk", "2", "--mode", "auto"}},
		{"client pinned", "2026-07-28", []string{"--sdk", "2", "--mode", "pin"}},
	} {
		for _, over := range []string{"stdio", "HTTP"} {
			t.Run(c.name+" "+over, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				if err := os.MkdirAll(filepath.Join(p.work, ".dragoman", "commands"), 0o700); err != nil {
					t.Fatal(err)
				}
				p.write(t, ".dragoman/commands/greet.md", "---\ndescription: Greets somebody\narguments:\n  - name: name\n    description: Whom\n    required: true\n---\nSay hello to $1.\n")
				cfg := p.config(t, "mcp:\n  elicitation_timeout: 3s\n")
				tell := func(more ...string) facts {
					return p.story(t, append(append(c.args[:len(c.args):len(c.args)], more...), "--", binary, "--config", cfg, "mcp", "--root", p.work)...)
				}
				restart := func() {}
				if over == "HTTP" {
					s := p.serve(t, "--config", cfg)
					tell = func(more ...string) facts {
						return p.story(t, append(append(c.args[:len(c.args):len(c.args)], "--url", s.url, "--token", s.token), more...)...)
					}
					restart = func() {
						s.stop(t)
						s = p.serve(t, "--config", cfg)
					}
				}
				f := tell()
				f.is(t, "version", `"`+c.version+`"`)
				f.is(t, "tools", `["agent_approve","agent_cancel","agent_prompt","agent_wait","session_close","session_get","session_list"]`)
				f.says(t, "prompt", `"status":"completed"`, "first note")
				f.is(t, "progress", `{"some":true,"grows":true}`)
				f.says(t, "accepted", `"status":"completed"`, "approved", "shell_command completed")
				f.says(t, "declined", `"status":"completed"`, "shell_command rejected")
				f.says(t, "cancelled by the user", `"status":"cancelled"`)
				f.says(t, "never answered", `"status":"completed"`, "shell_command rejected", "nobody answered in time")
				f.is(t, "questions", `["Allow the agent to use shell_command?","Allow the agent to use shell_command?","Allow the agent to use shell_command?"]`)
				if _, err := os.Stat(filepath.Join(p.work, "notes.txt")); err != nil {
					t.Errorf("a command that nobody allowed ran: %v", err)
				}
				f.is(t, "cancel", `"cancelled"`)
				f.is(t, "after the cancel", `"cancelled"`)
				f.is(t, "begun", `"running"`)
				f.is(t, "agent_cancel", `"cancelled"`)
				f.is(t, "wait", `"completed"`)
				for _, name := range []string{"resources", "transcript", "updated", "completion", "logged"} {
					f.is(t, name, "true")
				}
				f.says(t, "templates", "dragoman://session/{id}/turn/{turn}/diff")
				f.says(t, "prompts", `"greet"`)
				f.says(t, "a prompt", "Say hello to Ada.")
				if over == "HTTP" {
					f.says(t, "the other", `"status":"completed"`, "other")
					f.is(t, "the other heard", `{"questions":1,"logs":true,"progress":true}`)
					f.is(t, "we heard", `{"questions":0,"logs":0,"progress":0}`)
					f.is(t, "both see it", "true")
				}
				var session string
				if err := json.Unmarshal(f["session"], &session); err != nil {
					t.Fatal(err)
				}
				restart()
				f = tell("--resume", session)
				f.is(t, "listed", "true")
				f.is(t, "kept", "true")
				f.says(t, "resumed", `"status":"completed"`, "first note")
				f.is(t, "the newest turn", `"completed"`)
			})
		}
	}
}

// Who may come in over HTTP, and where the token is.
func TestMCPDoor(t *testing.T) {
	p := newPlace(t)
	s := p.serve(t)
	post := func(url, token string, headers ...string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		for i := 0; i < len(headers); i += 2 {
			if headers[i] == "Host" {
				r.Host = headers[i+1]
			} else {
				r.Header.Set(headers[i], headers[i+1])
			}
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close() //nolint:errcheck // it was looked at
		return res.StatusCode
	}
	for name, c := range map[string]struct{ got, want int }{
		"the token":      {post(s.url, s.token), 200},
		"no token":       {post(s.url, ""), 401},
		"a wrong token":  {post(s.url, s.token+"x"), 401},
		"another host":   {post(s.url, s.token, "Host", "evil.example"), 403},
		"another origin": {post(s.url, s.token, "Origin", "https://evil.example"), 403},
		"another path":   {post(strings.TrimSuffix(s.url, "/mcp"), s.token), 404},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
	file := filepath.Join(p.data, "mcp-token")
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	s.stop(t)
	for _, args := range [][]string{{"mcp", "--no-auth"}, {"mcp", "--http", "0.0.0.0:0", "--no-auth"}, {"mcp", "--http", ":0", "--no-auth"}} {
		if _, errs, code := p.run(t, args...); code != 1 || !strings.Contains(errs, "--no-auth") {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
}
