package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creachadair/jrpc2"

	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
)

// obj is a JSON object.
type obj = map[string]any

// instance is a running program.
type instance struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	stderr  bytes.Buffer // for reading after the program has ended
	serving sync.WaitGroup
}

// connect connects to the program; handle gets its own messages.
func (c *instance) connect(ctx context.Context, framing wire.Framing, handle func(*wire.Call)) *wire.Conn {
	conn := wire.NewConn(c.out, c.in, wire.Options{Framing: framing})
	c.serving.Go(func() { _ = conn.Serve(ctx, handle) }) // the requests show a failure
	return conn
}

// end closes the program's standard input and waits until it has ended.
func (c *instance) end() error {
	_ = c.in.Close() // it may be closed already
	c.serving.Wait()
	return c.cmd.Wait()
}

// started starts the program like an editor.
func (p *place) started(t *testing.T, command string) *instance {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	c := &instance{cmd: p.command(ctx, command)}
	c.cmd.Stderr = &c.stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	c.cmd.Cancel = func() error { return c.cmd.Process.Kill() }
	c.cmd.WaitDelay = 20 * time.Second
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// code waits for the end and returns the exit code.
func (c *instance) code() int {
	c.serving.Wait()
	_ = c.cmd.Wait() // only its code counts
	return c.cmd.ProcessState.ExitCode()
}

// inbox collects the program's own messages.
type inbox chan *wire.Call

func (s inbox) handle(call *wire.Call) { s <- call }

// until waits for a message whose parameters contain a text.
func (s inbox) until(t *testing.T, method, text string) *wire.Call {
	t.Helper()
	var others []string
	for {
		select {
		case call := <-s:
			if call.Method == method && strings.Contains(string(call.Params), text) {
				return call
			}
			others = append(others, call.Method+" "+string(call.Params))
		case <-time.After(time.Minute):
			t.Fatalf("no %s with %q; but\n%s", method, text, strings.Join(others, "\n"))
		}
	}
}

// A configuration with an error does not keep the program from answering: each protocol reports
// it in its own words.
func TestConfigurationErrorIsReportedInEachProtocol(t *testing.T) {
	p := newPlace(t)
	path := p.config(t, "model: groq/x\nmodle: x\n")
	want := path + `:2:1: modle: unknown key; did you mean "model"?`
	ctx := t.Context()

	t.Run("acp", func(t *testing.T) {
		c := p.started(t, "acp")
		conn := c.connect(ctx, wire.Newline, make(inbox, 100).handle)
		if err := conn.Ask(ctx, "initialize", obj{"protocolVersion": 1, "clientCapabilities": obj{}}, nil); err != nil {
			t.Fatal(err)
		}
		err := conn.Ask(ctx, "session/new", obj{"cwd": p.work, "mcpServers": []any{}}, nil)
		var e *jrpc2.Error
		var data struct{ Details string }
		if !errors.As(err, &e) || e.Code != -32603 || json.Unmarshal(e.Data, &data) != nil || data.Details != want {
			t.Errorf("%v, %+v", err, data)
		}
		if err := c.end(); err != nil {
			t.Error(err)
		}
	})

	t.Run("eca", func(t *testing.T) {
		c := p.started(t, "server")
		s := make(inbox, 100)
		conn := c.connect(ctx, wire.ContentLength, s.handle)
		var hello struct {
			Welcome string `json:"chatWelcomeMessage"`
		}
		err := conn.Ask(ctx, "initialize", obj{"capabilities": obj{"codeAssistant": obj{"chat": true}}, "workspaceFolders": []any{obj{"uri": "file://" + filepath.ToSlash(p.work), "name": "w"}}}, &hello)
		if err != nil || !strings.Contains(hello.Welcome, want) {
			t.Errorf("%v, %+v", err, hello)
		}
		if err := conn.Notify("initialized", obj{}); err != nil {
			t.Fatal(err)
		}
		s.until(t, "$/showMessage", "modle")
		if err := conn.Ask(ctx, "chat/prompt", obj{"chatId": "c", "message": "hello"}, nil); err != nil {
			t.Fatal(err)
		}
		s.until(t, "chat/contentReceived", "modle")
		s.until(t, "chat/contentReceived", `"finished"`)
		if err := conn.Ask(ctx, "shutdown", nil, nil); err != nil {
			t.Error(err)
		}
		if err := c.end(); err != nil {
			t.Error(err)
		}
	})

	t.Run("mcp", func(t *testing.T) {
		c := p.started(t, "mcp")
		conn := c.connect(ctx, wire.Newline, make(inbox, 100).handle)
		if err := conn.Ask(ctx, "initialize", obj{"protocolVersion": "2025-11-25", "capabilities": obj{}, "clientInfo": obj{"name": "x", "version": "1"}}, nil); err != nil {
			t.Fatal(err)
		}
		if err := conn.Notify("notifications/initialized", nil); err != nil {
			t.Fatal(err)
		}
		var r struct {
			Failed  bool `json:"isError"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		}
		err := conn.Ask(ctx, "tools/call", obj{"name": "agent_prompt", "arguments": obj{"prompt": "hello", "cwd": p.work}}, &r)
		if err != nil || !r.Failed || len(r.Content) == 0 || !strings.Contains(r.Content[0].Text, want) {
			t.Errorf("%v, %+v", err, r)
		}
		if err := c.end(); err != nil {
			t.Error(err)
		}
	})
}

// The end of our standard input ends the program, whatever came before. An ECA server fails then,
// as its protocol requires without a shutdown.
func TestEndOfInputEndsTheProgram(t *testing.T) {
	for _, command := range []string{"eca", "acp", "mcp"} {
		p := newPlace(t)
		for _, input := range []string{"", "garbage", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n"} {
			want := program.ExitOK
			if command == "eca" {
				want = program.ExitFailed
			}
			if o := p.run(t, input, command); o.code != want || o.errs != "" {
				t.Errorf("%s, %q: %+v", command, input, o)
			}
		}
	}
}

// acpSession begins a session over ACP.
func acpSession(t *testing.T, c *instance, p *place) (conn *wire.Conn, s inbox, id string) {
	t.Helper()
	s = make(inbox, 1000)
	conn = c.connect(t.Context(), wire.Newline, s.handle)
	if err := conn.Ask(t.Context(), "initialize", obj{"protocolVersion": 1, "clientCapabilities": obj{}}, nil); err != nil {
		t.Fatal(err)
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	if err := conn.Ask(t.Context(), "session/new", obj{"cwd": p.work, "mcpServers": []any{}}, &session); err != nil {
		t.Fatal(err)
	}
	return conn, s, session.ID
}

// begin prompts for a command, allows it and waits for its output.
func begin(t *testing.T, conn *wire.Conn, s inbox, id, command string) {
	t.Helper()
	prompt := obj{"sessionId": id, "prompt": []any{obj{"type": "text", "text": "run " + command}}}
	if _, err := conn.Start("session/prompt", prompt, func(json.RawMessage, error) {}); err != nil {
		t.Fatal(err)
	}
	s.until(t, "session/request_permission", "").Reply(obj{"outcome": obj{"outcome": "selected", "optionId": "allow_once"}}, nil)
	s.until(t, "session/update", "begun\\n")
}

// A signal in the middle of a turn ends it, and the log records that.
func TestSignalInTheMiddleOfATurnClosesTheLog(t *testing.T) {
	unixOnly(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			heard := make(chan os.Signal, 1) // else a signal that we ignore, as under nohup, is ignored by the program too
			signal.Notify(heard, sig)
			defer signal.Stop(heard)
			p := newPlace(t)
			c := p.started(t, "acp")
			conn, s, id := acpSession(t, c, p)
			begin(t, conn, s, id, "echo begun; sleep 60")
			if err := c.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := c.code(); code != program.ExitOK {
				t.Errorf("exit code %d\n%s", code, &c.stderr)
			}
			shown := p.well(t, "", "sessions", "show", id)
			if !strings.Contains(shown, "Run `echo begun; sleep 60` (the turn ended: ") || !strings.Contains(shown, "_The turn failed: ") || strings.Contains(shown, "interrupted") {
				t.Errorf("%s", shown)
			}
		})
	}
}

// A second signal ends the process at once, while the first still waits for a command that
// refuses to end.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	told := filepath.Join(p.work, "told")
	if err := exec.Command("mkfifo", told).Run(); err != nil {
		t.Skipf("no named pipes: %v", err)
	}
	c := p.started(t, "acp")
	conn, s, id := acpSession(t, c, p)
	begin(t, conn, s, id, `"trap 'echo >told' TERM; echo begun; while :; do sleep 0.1; done"`)
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	read(t, told) // the command was asked to end, and does not
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.code(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d\n%s", code, &c.stderr)
	}
}

// An editor that never reads our standard error delays nothing.
func TestUnreadStderrDelaysNothing(t *testing.T) {
	p := newPlace(t)
	c := &instance{cmd: p.command(t.Context(), "acp", "--log-level", "debug")}
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, s, id := acpSession(t, c, p)
	var end struct {
		Reason string `json:"stopReason"`
	}
	for range 20 {
		if err := conn.Ask(t.Context(), "session/prompt", obj{"sessionId": id, "prompt": []any{obj{"type": "text", "text": "read notes.txt"}}}, &end); err != nil || end.Reason != "end_turn" {
			t.Fatalf("%v, %+v", err, end)
		}
		for len(s) > 0 {
			<-s
		}
	}
	c.in.Close()
	c.serving.Wait()
	_, _ = io.Copy(io.Discard, stderr)
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A server whose client is dead already, and whose input has ended, exits with code 1.
func TestAClientThatIsDeadAtTheBeginning(t *testing.T) {
	p := newPlace(t)
	dead := p.command(t.Context(), "version")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	hello := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":%d,"capabilities":{},"workspaceFolders":[]}}`, dead.Process.Pid)
	if o := p.run(t, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(hello), hello), "eca"); o.code != 1 {
		t.Errorf("exit code %d: %s", o.code, o.errs)
	}
}
