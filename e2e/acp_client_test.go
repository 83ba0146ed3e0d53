package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// acpClient is an ACP client made by hand, which takes down every line of both
// directions, so that all of it can be held against the official schema.
type acpClient struct {
	*peer
	work    string
	record  bytes.Buffer // JSON lines of {dir, line}
	answers map[string]message
	updates []acpUpdate
	asked   []string // the methods that the agent has called
	held    []message

	permission string            // the kind of option that is chosen; "hold": none
	wary       bool              // what a sandbox has stopped or undone stays so, whatever is chosen else
	files      map[string]string // unsaved buffers by absolute path
	written    map[string]string
	saves      bool // it writes its buffers to the disk
	terminals  map[string]*bytes.Buffer
	refuses    string // every request for a file or a terminal, with these words; empty: none
}

// acpUpdate is a session/update, as far as tests look at it.
type acpUpdate struct {
	session string
	SessionUpdate, MessageID, ToolCallID,
	Title, Status, CurrentModeID string
	Content json.RawMessage
	raw     string
}

func (u acpUpdate) text() string {
	var c struct{ Text string }
	_ = json.Unmarshal(u.Content, &c) // a call's content is a list
	return c.Text
}

// acpClient starts the binary as an ACP client and says hello. info is false for a
// client of August 2025.
func (p *place) acpClient(t *testing.T, caps object, info bool, flags ...string) *acpClient {
	t.Helper()
	return p.acpClientOf(t, launch{}, caps, info, flags...)
}

func (p *place) acpClientOf(t *testing.T, l launch, caps object, info bool, flags ...string) *acpClient {
	t.Helper()
	c := &acpClient{
		peer: p.start(t, l, false, append(flags, "acp")...), work: p.work, answers: map[string]message{}, permission: "allow_once",
		files: map[string]string{}, written: map[string]string{}, terminals: map[string]*bytes.Buffer{},
	}
	hello := object{"protocolVersion": 1, "clientCapabilities": caps}
	if info {
		hello["clientInfo"] = object{"name": "strict", "version": "1"}
	}
	c.ok("initialize", hello)
	return c
}

func (c *acpClient) note(dir string, line []byte) {
	b, err := json.Marshal(object{"dir": dir, "line": string(line)})
	if err != nil {
		c.t.Fatal(err)
	}
	c.record.Write(append(b, '\n'))
}

// say sends messages in one write.
func (c *acpClient) say(messages ...object) {
	c.t.Helper()
	var out []byte
	for _, m := range messages {
		b := c.frames(m)
		c.note("out", b[:len(b)-1])
		out = append(out, b...)
	}
	c.write(out)
}

// begin makes a request without waiting for its answer.
func (c *acpClient) begin(method string, params any) (id string) {
	c.t.Helper()
	id, req := c.request(method, params)
	c.say(req)
	return id
}

// end reads until a request is answered.
func (c *acpClient) end(id string) message {
	c.t.Helper()
	c.read("the answer to request "+id, func() bool { _, ok := c.answers[id]; return ok })
	return c.answers[id]
}

func (c *acpClient) read(what string, holds func() bool) {
	c.t.Helper()
	c.until(what, c.take, holds)
}

func (c *acpClient) ask(method string, params any) message {
	c.t.Helper()
	return c.end(c.begin(method, params))
}

// ok is ask where an answer without an error is expected.
func (c *acpClient) ok(method string, params any) json.RawMessage {
	c.t.Helper()
	m := c.ask(method, params)
	if m.Error != nil {
		c.t.Fatalf("%s: %v", method, m.Error)
	}
	return m.Result
}

func (c *acpClient) folder() object { return object{"cwd": c.work, "mcpServers": []any{}} }

// of adds the folder to a session's id.
func (c *acpClient) of(id string) object {
	o := c.folder()
	o["sessionId"] = id
	return o
}

// session makes one.
func (c *acpClient) session() string {
	c.t.Helper()
	return field[string](c.t, c.ok("session/new", c.folder()), "sessionId")
}

func promptOf(id, text string) object {
	return object{"sessionId": id, "prompt": []any{object{"type": "text", "text": text}}}
}

// prompt is a whole turn; it returns its stop reason.
func (c *acpClient) prompt(id, text string) string {
	c.t.Helper()
	return field[string](c.t, c.ok("session/prompt", promptOf(id, text)), "stopReason")
}

func field[T any](t testing.TB, raw json.RawMessage, name string) (v T) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if err := json.Unmarshal(m[name], &v); err != nil {
		t.Fatalf("%s of %.400s: %v", name, raw, err)
	}
	return v
}

// take keeps what comes, and answers what is asked.
func (c *acpClient) take(m message) {
	c.note("in", m.raw)
	switch {
	case m.Method == "":
		c.answers[string(m.ID)] = m
	case m.ID == nil:
		var p struct {
			SessionID string
			Update    json.RawMessage
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			c.t.Fatalf("%s: %v", m.raw, err)
		}
		u := acpUpdate{session: p.SessionID, raw: string(p.Update)}
		if p.Update != nil {
			if err := json.Unmarshal(p.Update, &u); err != nil {
				c.t.Fatalf("%s: %v", m.raw, err)
			}
			c.updates = append(c.updates, u)
		}
	default:
		c.asked = append(c.asked, m.Method)
		c.serve(m)
	}
}

// serve answers a request of the agent's.
func (c *acpClient) serve(m message) {
	var p struct {
		Path, Content, TerminalID, Command, Cwd string
		Args                                    []string
		Env                                     []struct{ Name, Value string }
		Options                                 []struct{ OptionID, Kind string }
		RequestedSchema                         struct{ Properties map[string]json.RawMessage }
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		c.t.Fatalf("%s: %v", m.raw, err)
	}
	if c.refuses != "" && (strings.HasPrefix(m.Method, "fs/") || strings.HasPrefix(m.Method, "terminal/")) {
		c.say(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": -32603, "message": "Internal error", "data": object{"details": c.refuses}}})
		return
	}
	switch m.Method {
	case "session/request_permission":
		if c.permission == "hold" {
			c.held = append(c.held, m)
			return
		}
		choice := c.permission
		if c.wary && (strings.Contains(string(m.Params), `"optionId":"again"`) || strings.Contains(string(m.Params), `"optionId":"keep"`)) {
			choice = "reject_once"
		}
		for _, o := range p.Options {
			if o.Kind == choice {
				c.reply(m, object{"outcome": object{"outcome": "selected", "optionId": o.OptionID}})
				return
			}
		}
		c.t.Errorf("no option is %s: %s", c.permission, m.raw)
		c.reply(m, object{"outcome": object{"outcome": "cancelled"}})
	case "fs/read_text_file":
		text, ok := c.files[p.Path]
		if !ok {
			b, err := os.ReadFile(filepath.Clean(p.Path))
			if errors.Is(err, fs.ErrNotExist) {
				c.say(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": -32002, "message": "no such file"}})
				return
			}
			text = string(b)
		}
		c.reply(m, object{"content": text})
	case "fs/write_text_file":
		c.written[p.Path] = p.Content
		c.files[p.Path] = p.Content
		if c.saves {
			if err := os.WriteFile(filepath.Clean(p.Path), []byte(p.Content), 0o600); err != nil {
				c.t.Error(err)
			}
		}
		c.reply(m, object{})
	case "terminal/create":
		id := "term-" + strconv.Itoa(len(c.terminals))
		cmd := exec.Command(p.Command, p.Args...)
		cmd.Dir = p.Cwd
		for _, e := range p.Env {
			cmd.Env = append(cmd.Environ(), e.Name+"="+e.Value)
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			c.t.Logf("%s %q: %v", p.Command, p.Args, err)
		}
		c.terminals[id] = bytes.NewBuffer(out)
		c.reply(m, object{"terminalId": id})
	case "terminal/wait_for_exit":
		c.reply(m, object{"exitCode": 0})
	case "terminal/output":
		c.reply(m, object{"output": c.terminals[p.TerminalID].String(), "truncated": false, "exitStatus": object{"exitCode": 0}})
	case "terminal/kill", "terminal/release":
		c.reply(m, object{})
	case "elicitation/create":
		c.reply(m, object{"action": "accept", "content": object{"text": "blue"}})
	default:
		c.t.Errorf("the agent calls %s", m.raw)
	}
}

func (c *acpClient) reply(m message, result object) {
	c.say(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// said joins the agent's text in a session.
func (c *acpClient) said(id string) string {
	var b strings.Builder
	for _, u := range c.updates {
		if u.session == id && u.SessionUpdate == "agent_message_chunk" {
			b.WriteString(u.text())
		}
	}
	return b.String()
}

// forget drops the updates, so that what comes next stands alone.
func (c *acpClient) forget() { c.updates = nil }

func (c *acpClient) kinds() (list []string) {
	for _, u := range c.updates {
		list = append(list, u.SessionUpdate)
	}
	return list
}

// valid ends the connection, and holds everything that was said on it against the
// official schema and the order that editors rely on.
func (c *acpClient) valid() {
	c.t.Helper()
	c.in.Close()
	for {
		if err := c.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
			c.t.Fatal(err)
		}
		m, err := c.next()
		if err != nil {
			break
		}
		c.take(m)
	}
	if code := c.left(patience); code != 0 {
		c.t.Errorf("exit code %d:\n%s", code, c.stderr())
	}
	dir := needClients(c.t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join(dir, "acpschema.mjs"))
	cmd.Stdin = &c.record
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(`{"checked":`)) {
		c.t.Errorf("not valid: %v\n%.6000s", err, out)
	}
}

func (c *acpClient) has(what string, holds func(acpUpdate) bool) {
	c.t.Helper()
	if !slices.ContainsFunc(c.updates, holds) {
		c.t.Errorf("there is no %s in\n%s", what, c.tail())
	}
}

func (c *acpClient) tail() string {
	var b strings.Builder
	for _, u := range c.updates[max(0, len(c.updates)-40):] {
		fmt.Fprintf(&b, "%s %.300s\n", u.session, u.raw)
	}
	return b.String()
}
