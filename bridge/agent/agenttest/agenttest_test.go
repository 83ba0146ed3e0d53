package agenttest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dragoman/bridge/agent/agenttest"
	"dragoman/bridge/bridgetest"
)

func TestMain(m *testing.M) {
	if o, ok := agenttest.FromEnv(); ok {
		syscall.Exit(agenttest.Run(context.Background(), o, os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv("PARENT") != "" && os.Getenv(bridgetest.PlayVar) == "" {
		syscall.Exit(9) // a program that an agent starts must not run the tests again
	}
	os.Setenv("PARENT", "x")
	bridgetest.Main(m)
}

type object = map[string]any

// client is a client that answers an agent's requests as serve says.
type client struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	last  int
	serve func(method string, params object) (any, error)
	text  strings.Builder // of the answer, since the last prompt
	seen  []string        // the kinds of updates and the other methods, since the last prompt
}

func start(t *testing.T, o agenttest.Options, args ...string) *client {
	t.Helper()
	c := &client{t: t, cmd: exec.Command(os.Args[0], args...)}
	c.cmd.Env = append(os.Environ(), o.Env())
	c.cmd.Stderr = t.Output()
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return c
}

func (c *client) write(m object) {
	c.t.Helper()
	m["jsonrpc"] = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(b, '\n')); err != nil {
		c.t.Fatal(err)
	}
}

// call sends a request and returns its result; an error as the text of Go's.
func (c *client) call(method string, params object) (object, error) {
	c.t.Helper()
	c.last++
	c.write(object{"id": c.last, "method": method, "params": params})
	for {
		m := c.next()
		if m["method"] == nil && m["id"] == float64(c.last) {
			if m["error"] != nil {
				e := m["error"].(object)
				return nil, fmt.Errorf("%v %v", e["code"], e["message"])
			}
			result, _ := m["result"].(object)
			return result, nil
		}
	}
}

// next reads a message, and answers it if it is a request.
func (c *client) next() object {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.t.Fatalf("%v behind %q", err, c.text.String())
	}
	var m object
	if err := json.Unmarshal(line, &m); err != nil {
		c.t.Fatalf("%v: %.100s", err, line)
	}
	params, _ := m["params"].(object)
	switch method, _ := m["method"].(string); {
	case method == "session/update":
		u := params["update"].(object)
		c.seen = append(c.seen, u["sessionUpdate"].(string))
		if u["sessionUpdate"] == "agent_message_chunk" {
			c.text.WriteString(u["content"].(object)["text"].(string))
		}
	case method != "":
		c.seen = append(c.seen, method)
		if m["id"] == nil {
			break
		}
		result, err := c.serve(method, params)
		if err != nil {
			c.write(object{"id": m["id"], "error": object{"code": -32603, "message": err.Error()}})
		} else {
			c.write(object{"id": m["id"], "result": result})
		}
	}
	return m
}

func (c *client) must(method string, params object) object {
	c.t.Helper()
	result, err := c.call(method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return result
}

var everything = object{"fs": object{"readTextFile": true, "writeTextFile": true}, "terminal": true, "session": object{"configOptions": object{"boolean": object{}}}}

func (c *client) open(dir string, servers ...object) (id string) {
	c.t.Helper()
	c.must("initialize", object{"protocolVersion": 1, "clientCapabilities": everything})
	if servers == nil {
		servers = []object{}
	}
	return c.must("session/new", object{"cwd": dir, "mcpServers": servers})["sessionId"].(string)
}

// prompt returns the stop reason and the text.
func (c *client) prompt(id, text string) (reason, said string) {
	c.t.Helper()
	c.text.Reset()
	c.seen = nil
	result, err := c.call("session/prompt", object{"sessionId": id, "prompt": []object{{"type": "text", "text": text}}})
	if err != nil {
		return err.Error(), c.text.String()
	}
	return result["stopReason"].(string), c.text.String()
}

func (c *client) says(id, prompt, want string) {
	c.t.Helper()
	if reason, got := c.prompt(id, prompt); got != want || reason != "end_turn" {
		c.t.Errorf("%q: %s, %q, want %q", prompt, reason, got, want)
	}
}

func TestConversationIsLoadedByAnotherProcess(t *testing.T) {
	o := agenttest.Options{Dir: t.TempDir(), Load: true, List: true, Fork: true, Delete: true, Record: filepath.Join(t.TempDir(), "record")}
	dir := t.TempDir()
	c := start(t, o)
	id := c.open(dir)
	c.says(id, "say one\nthink hm\nsay two\ntitle My title\nplan a; b", "one\ntwo\n")
	if got := strings.Join(c.seen, " "); got != "agent_message_chunk agent_thought_chunk agent_message_chunk session_info_update plan" {
		t.Error(got)
	}
	c.says(id, "stream 3 of 4", "000000010002")
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}

	c = start(t, o)
	c.must("initialize", object{"protocolVersion": 1})
	list := c.must("session/list", object{})["sessions"].([]any)
	if len(list) != 1 || list[0].(object)["title"] != "My title" || list[0].(object)["sessionId"] != id {
		t.Errorf("%v", list)
	}
	c.must("session/load", object{"sessionId": id, "cwd": dir, "mcpServers": []object{}})
	if got := c.text.String(); got != "one\ntwo\n000000010002" {
		t.Errorf("loaded %q", got)
	}
	if got := strings.Join(c.seen, " "); got != "user_message_chunk agent_message_chunk agent_thought_chunk agent_message_chunk session_info_update plan user_message_chunk agent_message_chunk" {
		t.Error(got)
	}
	c.says(id, "say three", "three\n")
	copied := c.must("session/fork", object{"sessionId": id, "cwd": dir, "mcpServers": []object{}})["sessionId"].(string)
	c.must("session/delete", object{"sessionId": id})
	if _, err := c.call("session/load", object{"sessionId": id, "cwd": dir, "mcpServers": []object{}}); err == nil || !strings.HasPrefix(err.Error(), "-32002 ") {
		t.Error(err)
	}
	c.seen = nil
	c.must("session/load", object{"sessionId": copied, "cwd": dir, "mcpServers": []object{}})
	if len(c.seen) != 10 {
		t.Errorf("the copy has %v", c.seen)
	}
	b, err := os.ReadFile(o.Record)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(b), "start ") != 2 || strings.Count(string(b), `"session/load"`) != 3 {
		t.Errorf("recorded:\n%s", b)
	}
}

func TestCallsAndRequests(t *testing.T) {
	c := start(t, agenttest.Options{})
	dir := t.TempDir()
	id := c.open(dir)
	c.serve = func(method string, p object) (any, error) {
		switch method {
		case "session/request_permission":
			if p["toolCall"].(object)["title"] == "bad" {
				return object{"outcome": object{"outcome": "cancelled"}}, nil
			}
			option := p["options"].([]any)[0].(object)["optionId"]
			return object{"outcome": object{"outcome": "selected", "optionId": option}}, nil
		case "fs/read_text_file":
			return object{"content": "text of " + p["path"].(string)}, nil
		case "terminal/create":
			return object{"terminalId": "t1"}, nil
		case "terminal/wait_for_exit":
			return object{"exitCode": 3, "signal": nil}, nil
		case "terminal/output":
			return object{"output": "out\n", "truncated": true}, nil
		case "terminal/release", "fs/write_text_file":
			return nil, nil
		}
		return nil, fmt.Errorf("no %s here", method)
	}
	c.says(id, `permission {"title":"t","options":[{"optionId":"x","name":"X","kind":"other"}]}`, "selected x\n")
	if got := strings.Join(c.seen, " "); got != "tool_call session/request_permission agent_message_chunk tool_call_update" {
		t.Error(got)
	}
	c.says(id, `permission {"title":"bad","bare":true}`, "cancelled\n")
	c.says(id, "read x.txt", "text of "+filepath.Join(dir, "x.txt")+"\n")
	c.says(id, "write x.txt a b", "written x.txt\n")
	c.says(id, "read x then run make all then read y", "text of "+filepath.Join(dir, "x")+"\nout\nexit 3, cut\ntext of "+filepath.Join(dir, "y")+"\n")
	c.says(id, "run make all", "out\nexit 3, cut\n")
	c.says(id, "shown make all", "out\nexit 3, cut\n")
	c.says(id, `request _x/y {"a":1}`, "error -32603: no _x/y here\n")
	c.says(id, "edit new.txt hello", "")
	if b, err := os.ReadFile(filepath.Join(dir, "new.txt")); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if reason, _ := c.prompt(id, "error -32001 no money"); reason != "-32001 no money" {
		t.Error(reason)
	}
	if reason, _ := c.prompt(id, "stop refusal"); reason != "refusal" {
		t.Error(reason)
	}
	if _, said := c.prompt(id, "hello"); !strings.HasPrefix(said, "I am a scripted agent") {
		t.Error(said)
	}
	c.says(id, "late after all", "")
	for c.text.Len() == 0 {
		c.next()
	}
	if c.text.String() != "after all\n" {
		t.Errorf("late: %q", c.text.String())
	}
	c.says(id, `background-permission {"title":"later"}`, "")
	for c.text.Len() == 0 {
		c.next()
	}
	if c.text.String() != "selected allow_always\n" {
		t.Errorf("in the background: %q", c.text.String())
	}
}

func TestCancelEndsTheTurn(t *testing.T) {
	c := start(t, agenttest.Options{})
	id := c.open(t.TempDir())
	c.serve = func(string, object) (any, error) {
		c.write(object{"method": "session/cancel", "params": object{"sessionId": id}})
		return object{"outcome": object{"outcome": "cancelled"}}, nil
	}
	if reason, said := c.prompt(id, "permission\nwait\nsay never"); reason != "cancelled" || strings.Contains(said, "never") {
		t.Errorf("%s, %q", reason, said)
	}
	c.says(id, "say again", "again\n")
}

func TestOptions(t *testing.T) {
	c := start(t, agenttest.Options{Modes: []string{"ask", "code"}, Models: []string{"small"}, Config: agenttest.SampleConfig(), Refuse: []string{"model=huge"}})
	id := c.open(t.TempDir())
	for _, set := range []struct {
		id    string
		value any
		err   string
	}{
		{"model", "large", ""},
		{"model", "huge", "-32603 your plan has no model huge"},
		{"model", "tiny", "-32602 option model has no value tiny"},
		{"fast", true, ""},
		{"fast", "on", "-32602 option fast has no value on"},
	} {
		_, err := c.call("session/set_config_option", object{"sessionId": id, "configId": set.id, "value": set.value})
		if got := fmt.Sprint(err); got != set.err && !(err == nil && set.err == "") {
			t.Errorf("%s=%v: %v", set.id, set.value, err)
		}
	}
	c.says(id, "option model\noption fast\noption effort high\noption effort", "model=large\nfast=true\neffort=high\n")
	c.must("session/set_mode", object{"sessionId": id, "modeId": "code"})
	if _, err := c.call("session/set_mode", object{"sessionId": id, "modeId": "x"}); err == nil {
		t.Error("an unknown mode was set")
	}
}

func TestSigningIn(t *testing.T) {
	o := agenttest.Options{Login: filepath.Join(t.TempDir(), "login"), Auth: []agenttest.AuthMethod{{ID: "terminal", Name: "Terminal", Type: "terminal", Args: []string{"--login"}}, {ID: "agent", Name: "Agent"}}}
	dir := t.TempDir()
	opened := func(c *client) string {
		_, err := c.call("session/new", object{"cwd": dir, "mcpServers": []object{}})
		return fmt.Sprint(err)
	}
	c := start(t, o)
	c.must("initialize", object{"protocolVersion": 1})
	if got := opened(c); !strings.HasPrefix(got, "-32000 Authentication required") {
		t.Error(got)
	}
	c.must("authenticate", object{"methodId": "agent"})
	if got := opened(c); got != "<nil>" {
		t.Error(got)
	}
	c.must("logout", object{})
	if got := opened(c); !strings.HasPrefix(got, "-32000 ") {
		t.Error(got)
	}
	login := start(t, o, "--login")
	if _, err := io.WriteString(login.in, "1234\n"); err != nil {
		t.Fatal(err)
	}
	if err := login.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := opened(c); got != "<nil>" {
		t.Error(got)
	}
}

func TestMCPServers(t *testing.T) {
	p := bridgetest.Program("sdk")
	env := []object{}
	for name, value := range p.Env {
		env = append(env, object{"name": name, "value": value})
	}
	c := start(t, agenttest.Options{})
	id := c.open(t.TempDir(), object{"name": "sdk", "command": p.Command, "args": append([]string{}, p.Args...), "env": env})
	if _, said := c.prompt(id, "mcp-tools"); !strings.HasPrefix(said, "sdk: ") || !strings.Contains(said, "echo") {
		t.Error(said)
	}
	if _, said := c.prompt(id, `mcp echo {"text":"hi there"}`); !strings.Contains(said, "hi there") {
		t.Error(said)
	}
}

func TestFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults")
	if err := os.WriteFile(file, []byte(`{"start":"stderr no license; exit 3"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := agenttest.Options{FaultsFile: file, Faults: map[string]string{"session/new": "error -32603 no sessions today"}}
	c := start(t, o)
	if err := c.cmd.Wait(); err == nil || err.Error() != "exit status 3" {
		t.Error(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c = start(t, o)
	c.must("initialize", object{"protocolVersion": 1})
	if _, err := c.call("session/new", object{"cwd": "/", "mcpServers": []object{}}); fmt.Sprint(err) != "-32603 no sessions today" {
		t.Error(err)
	}
}
