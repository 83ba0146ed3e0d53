// Command acpsdk drives an ACP agent with acp-go-sdk, as a client without files and terminals that sends no clientInfo. It is built with an
// early version of the library (go.mod) and with a later one (later.mod).
//
// `acpsdk AGENT [ARG…]` works in the current folder and prints lines as the drivers in e2e/clients do: done (step, result), stop (step, stopReason,
// text: the agent's message, kinds: of the session's updates), asked (title), and error (step, message). It exits 0 when all went well.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := drive(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func drive(ctx context.Context, agent []string) error {
	cmd := exec.CommandContext(ctx, agent[0], agent[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	e := &editor{ctx: ctx, more: make(chan struct{}, 1)}
	e.agent = acp.NewClientSideConnection(e, in, out)
	if err := e.steps(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	if err := in.Close(); err != nil {
		return err
	}
	return cmd.Wait()
}

// editor is the client's side.
type editor struct {
	acp.Client // for files and terminals, which it does not have
	ctx        context.Context
	agent      *acp.ClientSideConnection
	more       chan struct{} // an update has come

	mu      sync.Mutex
	updates []map[string]any
	cancels bool // a permission is answered by cancelling the turn
}

func (e *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	update, err := object(n.Update)
	if err != nil {
		return nil //nolint:nilerr // it is younger than the library, which has decoded nothing
	}
	e.mu.Lock()
	e.updates = append(e.updates, update)
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
	return nil
}

func (e *editor) RequestPermission(ctx context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	call, err := object(req.ToolCall)
	if err != nil {
		return acp.RequestPermissionResponse{}, err
	}
	print(map[string]any{"kind": "asked", "title": call["title"]})
	e.mu.Lock()
	cancels := e.cancels
	e.mu.Unlock()
	i := slices.IndexFunc(req.Options, func(o acp.PermissionOption) bool { return o.Kind == acp.PermissionOptionKindAllowOnce })
	if cancels || i < 0 {
		err := e.agent.Cancel(ctx, acp.CancelNotification{SessionId: req.SessionId})
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, err
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(req.Options[i].OptionId)}, nil
}

// CreateTerminal refuses as a client does that cannot do it, although the client says that it can, as many examples do.
func (e *editor) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, acp.NewMethodNotFound("terminal/create")
}

// steps does everything that both versions of the library can do, once.
func (e *editor) steps() error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	hello, err := e.agent.Initialize(e.ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber, ClientCapabilities: acp.ClientCapabilities{Terminal: true}})
	if err := done("init", hello, err, nil); err != nil {
		return err
	}
	opened, err := e.agent.NewSession(e.ctx, acp.NewSessionRequest{Cwd: cwd, McpServers: []acp.McpServer{}})
	if err := done("new", opened, err, nil); err != nil {
		return err
	}
	id := opened.SessionId
	for _, turn := range [][2]string{
		{"read", "read notes.txt"},
		{"command", "run echo from the shell"},
		{"write", "write made.txt: hello"},
		{"think", "think hard"},
		{"plan", "plan look; change"},
		{"stream", "stream 50 of 20"},
		{"ask", "ask which colour"},
	} {
		if err := e.prompt(id, turn[0], acp.TextBlock(turn[1])); err != nil {
			return err
		}
	}
	e.cancelling(true)
	end, err := e.agent.Prompt(e.ctx, acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("run touch never")}})
	if err := done("cancel", end, err, nil); err != nil {
		return err
	}
	e.cancelling(false)
	for _, mode := range []acp.SessionModeId{"plan", "code"} {
		set, err := e.agent.SetSessionMode(e.ctx, acp.SetSessionModeRequest{SessionId: id, ModeId: mode})
		if err := done("mode", set, err, nil); err != nil {
			return err
		}
	}
	// 9 MB: the library reads no line that is longer than 10 MB, and this is one of 12 MB.
	image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("\x89PNG\r\n\x1a\n!"), 1_000_000))
	if err := e.prompt(id, "image", acp.TextBlock("think about this"), acp.ImageBlock(image, "image/png")); err != nil {
		return err
	}
	e.forget()
	loaded, err := e.agent.LoadSession(e.ctx, acp.LoadSessionRequest{SessionId: id, Cwd: cwd, McpServers: []acp.McpServer{}})
	if err == nil {
		err = e.told("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "plan")
	}
	if err := done("load", loaded, err, e.seen()); err != nil {
		return err
	}
	return e.prompt(id, "again", acp.TextBlock("read made.txt"))
}

// prompt does a turn in which the agent says something, and prints how it ended.
func (e *editor) prompt(id acp.SessionId, name string, blocks ...acp.ContentBlock) error {
	e.forget()
	end, err := e.agent.Prompt(e.ctx, acp.PromptRequest{SessionId: id, Prompt: blocks})
	if err == nil {
		err = e.told("agent_message_chunk")
	}
	if err != nil {
		return done(name, nil, err, nil)
	}
	print(map[string]any{"kind": "stop", "step": name, "stopReason": end.StopReason, "text": e.said(), "kinds": kinds(e.seen())})
	return nil
}

// told waits for updates of all these kinds: the early library handles each in a goroutine of its own, also when the answer that
// came after them has been returned.
func (e *editor) told(wanted ...any) error {
	for {
		have := kinds(e.seen())
		if !slices.ContainsFunc(wanted, func(kind any) bool { return !slices.Contains(have, kind) }) {
			return nil
		}
		select {
		case <-e.more:
		case <-e.ctx.Done():
			return fmt.Errorf("of the updates %v only %v came: %w", wanted, have, e.ctx.Err())
		}
	}
}

func (e *editor) cancelling(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancels = on
}

func (e *editor) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = nil
}

func (e *editor) seen() []map[string]any {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.updates)
}

// said is the agent's message of the newest turn.
func (e *editor) said() string {
	var b strings.Builder
	for _, u := range e.seen() {
		if content, ok := u["content"].(map[string]any); ok && u["sessionUpdate"] == "agent_message_chunk" {
			fmt.Fprint(&b, content["text"])
		}
	}
	return b.String()
}

// done prints how a step went.
func done(step string, result any, err error, updates []map[string]any) error {
	if err != nil {
		print(map[string]any{"kind": "error", "step": step, "message": err.Error()})
		return fmt.Errorf("%s: %w", step, err)
	}
	print(map[string]any{"kind": "done", "step": step, "result": result, "kinds": kinds(updates)})
	return nil
}

func kinds(updates []map[string]any) (list []any) {
	for _, u := range updates {
		if !slices.Contains(list, u["sessionUpdate"]) {
			list = append(list, u["sessionUpdate"])
		}
	}
	return list
}

// object returns a value as the JSON object that it was on the wire.
func object(v any) (o map[string]any, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return o, json.Unmarshal(text, &o)
}

func print(line map[string]any) {
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		panic(err) // nobody is there to read
	}
}
