package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// program is a way to start what is measured.
type program struct {
	name   string
	args   []string
	speaks string // acp, eca or mcp
}

// client is a program that runs, and the other end of its pipes.
type client struct {
	program
	dir  string // the workspace
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer // to be read after it has ended
	ids  int

	session string // over MCP: that of the first turn, which is the only one

	fetched <-chan struct{} // a profile, if one is wanted

	began, answered time.Time // the start, and the answer to the first request
}

// fault ends the run; it is recovered in main.
type fault struct{ error }

func check(err error) {
	if err != nil {
		panic(fault{err})
	}
}

type object = map[string]any

// start starts a program in a home and a workspace, and says hello.
func (b *bench) start(p program, home, dir string) *client {
	args := b.profiled(p.args)
	c := &client{program: p, dir: dir, cmd: exec.Command(args[0], args[1:]...)}
	c.cmd.Dir, c.cmd.Stderr = dir, &c.errs
	c.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + b.tmp}
	var err error
	c.in, err = c.cmd.StdinPipe()
	check(err)
	out, theirs, err := os.Pipe()
	check(err)
	c.cmd.Stdout = theirs
	c.out = bufio.NewReaderSize(out, 256<<10)
	c.began = time.Now()
	check(c.cmd.Start())
	check(theirs.Close())
	b.running[c] = out
	// This client reads as fast as it can, as those do whose names it takes: others get pauses.
	hello := object{"protocolVersion": 1, "clientCapabilities": object{}, "clientInfo": object{"name": "acpx", "version": "1"}}
	switch p.speaks {
	case "eca":
		hello = object{
			"processId": os.Getpid(), "clientInfo": object{"name": "VsCode", "version": "1"}, "capabilities": object{"codeAssistant": object{"chat": true}},
			"workspaceFolders": []any{object{"uri": "file://" + dir, "name": "work"}},
		}
	case "mcp":
		hello = object{"protocolVersion": "2025-11-25", "capabilities": object{}, "clientInfo": object{"name": "bench", "version": "1"}}
	}
	c.ask("initialize", hello)
	c.answered = time.Now()
	switch p.speaks {
	case "eca":
		c.send(object{"jsonrpc": "2.0", "method": "initialized", "params": object{}})
	case "mcp":
		c.send(object{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	c.fetched = b.fetch(p.args)
	return c
}

// stop has a program end, by the end of its input.
func (b *bench) stop(c *client) {
	check(c.in.Close())
	_ = c.cmd.Wait() // ECA's exit code says that nobody asked for the end
	<-c.fetched
	_ = b.running[c].Close()
	delete(b.running, c)
}

func (c *client) pid() int { return c.cmd.Process.Pid }

func (c *client) send(messages ...object) {
	var all []byte
	for _, m := range messages {
		text, err := json.Marshal(m)
		check(err)
		if c.speaks == "eca" {
			all = append(fmt.Appendf(all, "Content-Length: %d\r\n\r\n", len(text)), text...)
		} else {
			all = append(append(all, text...), '\n')
		}
	}
	_, err := c.in.Write(all)
	check(err)
}

func (c *client) request(method string, params any) object {
	c.ids++
	return object{"jsonrpc": "2.0", "id": c.ids, "method": method, "params": params}
}

// ask sends a request and returns its answer.
func (c *client) ask(method string, params any) json.RawMessage {
	r := c.request(method, params)
	c.send(r)
	return c.answer(r)
}

// answer reads until a request is answered.
func (c *client) answer(r object) json.RawMessage { return c.answers([]object{r})[0] }

// answers reads until all of some requests are answered, and returns the results as they came.
func (c *client) answers(requests []object) (results []json.RawMessage) {
	methods := map[int]any{}
	for _, r := range requests {
		methods[r["id"].(int)] = r["method"]
	}
	for len(methods) > 0 {
		frame := c.frame()
		var m struct {
			ID     any
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		check(json.Unmarshal(frame, &m))
		id, ok := m.ID.(float64)
		method, asked := methods[int(id)]
		if !ok || !asked || m.Method != "" {
			continue
		}
		if m.Error != nil {
			check(fmt.Errorf("%s: %v: %s", c.name, method, m.Error))
		}
		delete(methods, int(id))
		results = append(results, m.Result)
	}
	return results
}

// frame returns the next message, which is valid until the next call.
func (c *client) frame() []byte {
	size := -1
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			_ = c.cmd.Wait()
			check(fmt.Errorf("%s: %w\n%s", c.name, err, c.errs.Bytes()))
		}
		line = bytes.TrimSpace(line)
		switch n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); {
		case ok:
			size, err = strconv.Atoi(string(n))
			check(err)
		case len(line) == 0 && size >= 0:
			frame := make([]byte, size)
			_, err := io.ReadFull(c.out, frame)
			check(err)
			return frame
		case len(line) > 0:
			return line
		}
	}
}

// begin starts a session and returns its id.
func (c *client) begin() string {
	if c.speaks != "acp" { // ECA's clients name their chats, and MCP's first prompt makes a session
		c.ids++
		return fmt.Sprintf("chat-%d-%d", c.pid(), c.ids)
	}
	return sessionOf(c.ask("session/new", object{"cwd": c.dir, "mcpServers": []any{}}))
}

// sessionOf returns the session of an answer to session/new.
func sessionOf(result json.RawMessage) string {
	var res struct{ SessionID string }
	check(json.Unmarshal(result, &res))
	return res.SessionID
}

// prompting is a prompt that is ready to be sent.
func (c *client) prompting(session, text string) object {
	text = "bench:" + text
	switch c.speaks {
	case "eca":
		return c.request("chat/prompt", object{"chatId": session, "message": text, "contexts": []any{}})
	case "mcp":
		args := object{"prompt": text}
		if c.session != "" {
			args["session_id"] = c.session
		}
		return c.request("tools/call", object{"name": "agent_prompt", "arguments": args})
	}
	return c.request("session/prompt", object{"sessionId": session, "prompt": []any{object{"type": "text", "text": text}}})
}

// ends holds, by protocol, the text that marks the end of a turn.
var ends = map[string][]byte{"acp": []byte(`"stopReason":`), "eca": []byte(`"state":"finished"`), "mcp": []byte(`"structuredContent":`)}

// turn prompts and reads to the end. It returns how long the first text took, and the whole.
func (c *client) turn(session, text string) (first, all time.Duration) {
	began := time.Now()
	c.send(c.prompting(session, text))
	c.read(1, func([]byte) {
		if first == 0 {
			first = time.Since(began)
		}
	})
	return first, time.Since(began)
}

// read reads until n turns have ended, and shows every message that holds chunks of the model's.
func (c *client) read(n int, chunks func(frame []byte)) {
	for n > 0 {
		frame := c.frame()
		if chunks != nil && bytes.Contains(frame, []byte(`"@1`)) && !bytes.Contains(frame, []byte(`bench:`)) {
			chunks(frame)
		}
		if bytes.Contains(frame, ends[c.speaks]) {
			n--
			if c.speaks == "mcp" {
				c.returned(frame)
			}
		} else if bytes.Contains(frame, []byte(`"error":{`)) {
			check(fmt.Errorf("%s: %s", c.name, frame))
		}
	}
}

// returned takes the session from the result of a turn.
func (c *client) returned(frame []byte) {
	if c.session != "" {
		return
	}
	var m struct {
		Result struct {
			IsError    bool
			Structured struct {
				Session string `json:"session_id"`
				Status  string
			} `json:"structuredContent"`
		}
	}
	check(json.Unmarshal(frame, &m))
	if m.Result.IsError || m.Result.Structured.Status != "completed" {
		check(fmt.Errorf("%s: %s", c.name, frame))
	}
	c.session = m.Result.Structured.Session
}

// delays runs a turn and returns how long each chunk took from the model to here.
func (c *client) delays(session, text string) (list []time.Duration) {
	c.send(c.prompting(session, text))
	c.read(1, func(frame []byte) {
		now := time.Now().UnixNano()
		for rest := string(frame); ; {
			_, after, ok := strings.Cut(rest, "@1")
			if !ok || len(after) < 18 {
				return
			}
			if sent, err := strconv.ParseInt("1"+after[:18], 10, 64); err == nil {
				list = append(list, time.Duration(now-sent))
			}
			rest = after
		}
	})
	return list
}
