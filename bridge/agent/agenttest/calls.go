package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tool shows a call.
func tool(ctx context.Context, t *turn, arg string) error {
	call := object{}
	if err := json.Unmarshal([]byte(arg), &call); err != nil {
		return t.update(ctx, json.RawMessage(arg)) // whatever it is
	}
	call["sessionUpdate"] = "tool_call"
	t.open(call)
	return t.update(ctx, call)
}

// open notes a call that the prompt's end has to end, and gives it an id if it has none.
func (t *turn) open(call object) string {
	id, ok := call["toolCallId"].(string)
	if !ok {
		id = label("call")
		call["toolCallId"] = id
	}
	if call["status"] != "completed" && call["status"] != "failed" && !slices.Contains(t.calls, id) {
		t.calls = append(t.calls, id)
	}
	return id
}

// end ends the last call that is open.
func end(ctx context.Context, t *turn, arg string) error {
	if len(t.calls) == 0 {
		return nil
	}
	id := t.calls[len(t.calls)-1]
	t.calls = t.calls[:len(t.calls)-1]
	if arg == "" {
		arg = "completed"
	}
	return t.update(ctx, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": arg})
}

// defaultOptions are those of claude-agent-acp.
var defaultOptions = []object{
	{"optionId": "allow_always", "name": "Always Allow", "kind": "allow_always"},
	{"optionId": "allow", "name": "Allow", "kind": "allow_once"},
	{"optionId": "reject", "name": "Reject", "kind": "reject_once"},
}

// permission asks for one, and says what came back.
func permission(ctx context.Context, t *turn, arg string) error {
	call := object{"title": "A call", "kind": "other", "status": "pending"}
	if arg != "" {
		if err := json.Unmarshal([]byte(arg), &call); err != nil {
			return t.say(ctx, "permission: "+err.Error())
		}
	}
	options, given := call["options"]
	bare := call["bare"] == true
	delete(call, "options")
	delete(call, "bare")
	if !given {
		options = defaultOptions
	}
	id := t.open(call)
	if !bare {
		shown := object{"sessionUpdate": "tool_call"}
		for k, v := range call {
			shown[k] = v
		}
		if err := t.update(ctx, shown); err != nil {
			return err
		}
	}
	result, err := t.a.peer.request(ctx, "session/request_permission", object{"sessionId": t.s.id, "toolCall": call, "options": options})
	if err != nil {
		return err
	}
	var r struct {
		Outcome struct{ Outcome, OptionID string }
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return err
	}
	if s := strings.TrimSpace(r.Outcome.Outcome + " " + r.Outcome.OptionID); s != "" {
		return t.say(ctx, s)
	}
	return t.say(ctx, fmt.Sprintf("no outcome for %s: %s", id, result))
}

func read(ctx context.Context, t *turn, arg string) error {
	result, err := t.a.peer.request(ctx, "fs/read_text_file", object{"sessionId": t.s.id, "path": t.path(arg)})
	if err != nil {
		return err
	}
	var r struct{ Content string }
	if err := json.Unmarshal(result, &r); err != nil {
		return err
	}
	return t.say(ctx, r.Content)
}

func write(ctx context.Context, t *turn, arg string) error {
	name, text, _ := strings.Cut(arg, " ")
	if _, err := t.a.peer.request(ctx, "fs/write_text_file", object{"sessionId": t.s.id, "path": t.path(name), "content": lines(text)}); err != nil {
		return err
	}
	return t.say(ctx, "written "+name)
}

// terminal creates one and returns its id. The argument is a command line or the parameters.
func (t *turn) terminal(ctx context.Context, arg string) (string, error) {
	params := object{"sessionId": t.s.id}
	if !strings.HasPrefix(arg, "{") {
		params["command"] = arg
	} else if err := json.Unmarshal([]byte(arg), &params); err != nil {
		return "", err
	}
	result, err := t.a.peer.request(ctx, "terminal/create", params)
	if err != nil {
		return "", err
	}
	var r struct{ TerminalID string }
	err = json.Unmarshal(result, &r)
	return r.TerminalID, err
}

func create(ctx context.Context, t *turn, arg string) error {
	id, err := t.terminal(ctx, arg)
	if err != nil {
		return err
	}
	return t.say(ctx, id)
}

func run(ctx context.Context, t *turn, arg string) error {
	id, err := t.terminal(ctx, arg)
	if err != nil {
		return err
	}
	return t.finish(ctx, id)
}

// shown runs a command as a call that shows its terminal.
func shown(ctx context.Context, t *turn, arg string) error {
	id, err := t.terminal(ctx, arg)
	if err != nil {
		return err
	}
	call := object{
		"sessionUpdate": "tool_call", "title": arg, "kind": "execute", "status": "in_progress", "rawInput": object{"command": arg},
		"content": []object{{"type": "terminal", "terminalId": id}},
	}
	t.open(call)
	if err := t.update(ctx, call); err != nil {
		return err
	}
	if err := t.finish(ctx, id); err != nil {
		return err
	}
	return end(ctx, t, "completed")
}

// finish waits for the end of a command, says its output, and releases the terminal.
func (t *turn) finish(ctx context.Context, id string) error {
	params := object{"sessionId": t.s.id, "terminalId": id}
	ended, err := t.a.peer.request(ctx, "terminal/wait_for_exit", params)
	if err != nil {
		_, _ = t.a.peer.request(context.WithoutCancel(ctx), "terminal/release", params) // as far as it is there
		return err
	}
	out, err := t.a.peer.request(ctx, "terminal/output", params)
	if err != nil {
		return err
	}
	if _, err := t.a.peer.request(ctx, "terminal/release", params); err != nil {
		return err
	}
	var exit struct {
		ExitCode *int
		Signal   *string
	}
	var text struct {
		Output    string
		Truncated bool
	}
	if err := json.Unmarshal(ended, &exit); err != nil {
		return err
	}
	if err := json.Unmarshal(out, &text); err != nil {
		return err
	}
	code := "no code"
	if exit.ExitCode != nil {
		code = fmt.Sprint(*exit.ExitCode)
	} else if exit.Signal != nil {
		code = *exit.Signal
	}
	if text.Truncated {
		code += ", cut"
	}
	return t.say(ctx, fmt.Sprintf("%s\nexit %s", strings.TrimSuffix(text.Output, "\n"), code))
}

// edit writes a file itself, as a call with its diff.
func edit(ctx context.Context, t *turn, arg string) error {
	name, text, _ := strings.Cut(arg, " ")
	text = lines(text)
	path := t.path(name)
	var before any
	if b, err := os.ReadFile(path); err == nil {
		before = string(b)
	}
	call := object{
		"sessionUpdate": "tool_call", "title": "Edit " + name, "kind": "edit", "status": "in_progress",
		"rawInput": object{"file_path": path, "content": text}, "locations": []object{{"path": path}},
	}
	id := t.open(call)
	if err := t.update(ctx, call); err != nil {
		return err
	}
	status := "completed"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		status = "failed"
	}
	t.calls = slices.DeleteFunc(t.calls, func(c string) bool { return c == id })
	return t.update(ctx, object{
		"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
		"content": []object{{"type": "diff", "path": path, "oldText": before, "newText": text}},
	})
}
