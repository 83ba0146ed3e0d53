package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// facts are what a client has found out.
type facts map[string]json.RawMessage

// story lets a client go through all that there is, or go on with a session. It may run beside others.
func (p *place) story(ctx context.Context, dir string, args ...string) (facts, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
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
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		if l.Fact != "" {
			found[l.Fact] = l.Value
		}
		ok = ok || l.OK
	}
	if err != nil || !ok {
		return nil, fmt.Errorf("%v: %w\n%.3000s\n%.3000s", args, err, out.String(), errs.String())
	}
	return found, nil
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
func (p *place) serve(ctx context.Context, args ...string) (*site, error) {
	cmd := exec.CommandContext(ctx, binary, append(args, "mcp", "--http", "127.0.0.1:0", "--root", p.work)...)
	cmd.Env, cmd.Dir = p.env, p.work
	errs, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
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
	select {
	case s.url = <-told:
	case err := <-s.ended:
		return nil, fmt.Errorf("it has ended: %w", err)
	case <-time.After(patience):
		return nil, errors.New("it does not say where it is")
	}
	show := exec.CommandContext(ctx, binary, "mcp", "--show-token")
	show.Env, show.Dir = p.env, p.work
	token, err := show.Output()
	s.token = strings.TrimSpace(string(token))
	return s, err
}

// stop ends it as a user does.
func (s *site) stop() error {
	end := s.cmd.Process.Kill
	if runtime.GOOS != "windows" {
		end = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	}
	if err := end(); err != nil {
		return err
	}
	select {
	case err := <-s.ended:
		if runtime.GOOS == "windows" {
			return nil
		}
		return err
	case <-time.After(patience):
		return errors.New("it does not end")
	}
}

// telling is one client's way through: what it has found out, and what another process after it.
type telling struct {
	name, version string
	client        []string
	http          bool

	p            *place
	first, again facts
	err          error
}

// tell runs both stories. It may run beside others.
func (c *telling) tell(ctx context.Context, dir, config string) error {
	serve := []string{"--", binary, "--config", config, "mcp", "--root", c.p.work}
	var s *site
	var err error
	start := func() error {
		if !c.http {
			return nil
		}
		if s, err = c.p.serve(ctx, "--config", config); err == nil {
			serve = []string{"--url", s.url, "--token", s.token}
		}
		return err
	}
	stop := func() error {
		if s == nil {
			return nil
		}
		return s.stop()
	}
	if err := start(); err != nil {
		return err
	}
	if c.first, err = c.p.story(ctx, dir, slices.Concat(c.client, serve)...); err != nil {
		return err
	}
	var session string
	if err := errors.Join(json.Unmarshal(c.first["session"], &session), stop(), start()); err != nil {
		return err
	}
	if c.again, err = c.p.story(ctx, dir, slices.Concat(c.client, []string{"--resume", session}, serve)...); err != nil {
		return err
	}
	return stop()
}

// All that there is, with both SDKs, over both transports, then again in another process. They run beside each other,
// since each waits for a while until nobody has answered an approval. Each client takes one transport alone, but for
// DRAGOMAN_HOSTS=all.
func TestMCPAll(t *testing.T) {
	dir := needClients(t)
	var all []*telling
	var wg sync.WaitGroup
	for i, c := range []telling{
		{name: "sdk", version: "2025-11-25", client: []string{"--sdk", "1"}},
		{name: "client auto", version: "2026-07-28", client: []string{"--sdk", "2", "--mode", "auto"}},
		{name: "client pinned", version: "2026-07-28", client: []string{"--sdk", "2", "--mode", "pin"}},
	} {
		for _, http := range []bool{false, true} {
			if http != (i%2 == 0) && !everyHost() {
				continue
			}
			c.http, c.p = http, newPlace(t)
			if err := os.MkdirAll(filepath.Join(c.p.work, ".dragoman", "commands"), 0o700); err != nil {
				t.Fatal(err)
			}
			c.p.write(t, ".dragoman/commands/greet.md", "---\ndescription: Greets somebody\narguments:\n  - name: name\n    description: Whom\n    required: true\n---\nSay hello to $1.\n")
			config := c.p.config(t, "mcp:\n  elicitation_timeout: 15s\n")
			one := c
			all = append(all, &one)
			wg.Go(func() { one.err = one.tell(t.Context(), dir, config) })
		}
	}
	wg.Wait()
	for _, c := range all {
		over := "stdio"
		if c.http {
			over = "HTTP"
		}
		t.Run(c.name+" "+over, func(t *testing.T) {
			if c.err != nil {
				t.Fatal(c.err)
			}
			c.check(t)
		})
	}
}

func (c *telling) check(t *testing.T) {
	f := c.first
	f.is(t, "version", `"`+c.version+`"`)
	f.is(t, "tools", `["agent_approve","agent_cancel","agent_prompt","agent_wait","session_close","session_get","session_list"]`)
	f.says(t, "prompt", `"status":"completed"`, "first note")
	f.is(t, "progress", `{"some":true,"grows":true}`)
	f.says(t, "accepted", `"status":"completed"`, "approved", "shell_command completed")
	f.says(t, "declined", `"status":"completed"`, "shell_command rejected")
	f.says(t, "dismissed by the user", `"status":"awaiting_approval"`)
	f.says(t, "rejected then", `"status":"completed"`, "shell_command rejected")
	f.says(t, "never answered", `"status":"completed"`, "shell_command rejected", "there was no answer in time")
	f.is(t, "questions", `["Allow the agent to use shell_command?","Allow the agent to use shell_command?","Allow the agent to use shell_command?"]`)
	if _, err := os.Stat(filepath.Join(c.p.work, "notes.txt")); err != nil {
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
	if c.http {
		f.says(t, "the other", `"status":"completed"`, "other")
		f.is(t, "the other heard", `{"questions":1,"logs":true,"progress":true}`)
		f.is(t, "we heard", `{"questions":0,"logs":0,"progress":0}`)
		f.is(t, "both see it", "true")
	}
	f = c.again
	f.is(t, "listed", "true")
	f.is(t, "kept", "true")
	f.says(t, "resumed", `"status":"completed"`, "first note")
	f.is(t, "the newest turn", `"completed"`)
}

// Who may come in over HTTP, and where the token is.
func TestMCPDoor(t *testing.T) {
	p := newPlace(t)
	s, err := p.serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"mcp", "--no-auth"}, {"mcp", "--http", "0.0.0.0:0", "--no-auth"}, {"mcp", "--http", ":0", "--no-auth"}} {
		if _, errs, code := p.run(t, args...); code != 1 || !strings.Contains(errs, "--no-auth") {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
}
