package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// errAnswered is returned by an instruction after which the request gets no response.
var errAnswered = errors.New("answered already, or never")

// turn is the work on a prompt, or on another request that has a fault.
type turn struct {
	a       *agent
	s       *session // nil: the request is no prompt
	id      json.RawMessage
	blocks  []json.RawMessage
	text    string // of the text blocks, in lines
	stopped context.CancelCauseFunc
	deaf    atomic.Bool // it does not listen to cancellations

	then bool   // the instruction that is followed is not the last of its line
	held string // said by those before it

	reason string // the stop reason
	result any    // instead of the ordinary one
	calls  []string
	sent   []json.RawMessage                 // updates that are not stored yet
	after  []func(ctx context.Context) error // follow the response
}

// instruction follows a line of a prompt.
type instruction func(ctx context.Context, t *turn, arg string) error

// newTurn begins the turn of a prompt. Its context ends when it is cancelled.
func (a *agent) newTurn(ctx context.Context, params json.RawMessage) (*turn, context.Context, error) {
	s, err := a.session(params)
	if err != nil {
		return nil, ctx, err
	}
	if !a.authorized() {
		return nil, ctx, &failure{Code: codeAuth, Message: "Your login has expired"}
	}
	var r struct{ Prompt []json.RawMessage }
	_ = json.Unmarshal(params, &r)
	t := &turn{a: a, s: s, blocks: r.Prompt, reason: "end_turn"}
	for _, raw := range r.Prompt {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" {
			t.text += b.Text + "\n"
		}
		t.sent = append(t.sent, encode(object{"sessionUpdate": "user_message_chunk", "content": raw}))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return nil, ctx, &failure{Code: codeInvalid, Message: "a prompt of this session is running"}
	}
	s.turn = t
	ctx, t.stopped = context.WithCancelCause(ctx)
	return t, ctx, nil
}

// over ends the turn; the session takes another prompt then.
func (t *turn) over() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.s.turn == t {
		t.s.turn = nil
	}
}

// run follows the instructions of a prompt and returns its result.
func (t *turn) run(ctx context.Context, id json.RawMessage) (any, error) {
	t.id = id
	err := t.store()
	if err == nil {
		err = t.follow(ctx)
	}
	status := "completed"
	if err != nil {
		status = "failed"
	}
	ctx = context.WithoutCancel(ctx)
	for _, call := range t.calls {
		_ = t.update(ctx, object{"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status})
	}
	t.calls = nil
	if serr := t.store(); err == nil {
		err = serr
	}
	var end fatal
	switch {
	case errors.Is(err, errCanceled):
		return object{"stopReason": "cancelled"}, nil
	case errors.As(err, &end):
		return nil, end.f
	case err != nil:
		return nil, err
	case t.result != nil:
		return t.result, nil
	}
	return object{"stopReason": t.reason}, nil
}

func (t *turn) follow(ctx context.Context) error {
	any := false
	for _, line := range t.instructions() {
		line, t.then = strings.CutSuffix(line, " then")
		verb, arg, _ := strings.Cut(line, " ")
		if name, ok := strings.CutPrefix(verb, "/"); ok && slices.ContainsFunc(t.a.o.Commands, func(c Command) bool { return c.Name == name }) {
			any = true
			if err := t.say(ctx, "command "+name+": "+arg); err != nil {
				return err
			}
		}
		do := t.find(verb)
		if do == nil {
			continue
		}
		any = true
		if verb == "after-cancel" {
			<-ctx.Done()
			ctx = context.WithoutCancel(ctx)
			continue
		}
		err := do(ctx, t, arg)
		var f *failure
		if errors.As(err, &f) && t.result == nil { // of the client
			err = t.say(ctx, f.Error())
		}
		if err != nil {
			return err
		}
		if t.result != nil {
			return nil
		}
	}
	if !any {
		return t.say(ctx, "I am a scripted agent and do what I am told: try `say hello`, `run ls` or `permission {\"title\": \"Deploy\", \"kind\": \"execute\"}`.")
	}
	return nil
}

// instructions splits the prompt's text. Those that are not the last of their line end with "then".
func (t *turn) instructions() (list []string) {
	quoted := false
	for line := range strings.Lines(t.text) {
		line = strings.TrimSpace(line)
		quoted = line == "<conversation>" || quoted && line != "</conversation>"
		for !quoted {
			first, rest, more := strings.Cut(line, " then ")
			if verb, _, _ := strings.Cut(first, " "); !more || verb != "read" && verb != "run" {
				break
			}
			list, line = append(list, first+" then"), rest
		}
		if !quoted {
			list = append(list, line)
		}
	}
	return list
}

// find returns the instruction of a name, or nil.
func (t *turn) find(verb string) instruction {
	if do := always()[verb]; do != nil {
		return do
	}
	if do := hostile()[verb]; do != nil {
		return do
	}
	if t.s == nil {
		return nil
	}
	return talk()[verb]
}

// fault follows the instructions for a method. It reports whether the request is done with; else
// the result, if there is one, is the response.
func (a *agent) fault(ctx context.Context, method string, m *message) (result any, done bool) {
	text := a.faults[method]
	if text == "" {
		return nil, false
	}
	t := &turn{a: a}
	if m != nil {
		t.id = m.ID
		var r struct{ SessionID string }
		if _ = json.Unmarshal(m.Params, &r); r.SessionID != "" {
			a.mu.Lock()
			t.s = a.sessions[r.SessionID]
			a.mu.Unlock()
		}
	}
	for line := range strings.SplitSeq(text, ";") {
		verb, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		do := t.find(verb)
		if do == nil {
			fmt.Fprintln(a.errs, "no such fault:", line)
			continue
		}
		var end fatal
		switch err := do(ctx, t, arg); {
		case errors.Is(err, errAnswered):
			return nil, true
		case errors.As(err, &end):
			return end.f, false
		case err != nil:
			fmt.Fprintln(a.errs, "fault:", err)
		}
	}
	return t.result, false
}

// afterwards does what follows the response.
func (t *turn) afterwards(ctx context.Context) {
	for _, do := range t.after {
		if err := do(ctx); err != nil {
			fmt.Fprintln(t.a.errs, "after the response:", err)
			return
		}
	}
	if err := t.store(); err != nil {
		fmt.Fprintln(t.a.errs, "store:", err)
	}
}

// sessionID returns the session's id, or one that does not exist.
func (t *turn) sessionID() string {
	if t.s == nil {
		return "none"
	}
	return t.s.id
}

// update sends an update of the session.
func (t *turn) update(ctx context.Context, u any) error {
	raw := encode(u)
	t.sent = append(t.sent, raw)
	return t.a.peer.notify(ctx, "session/update", object{"sessionId": t.sessionID(), "update": raw})
}

// say adds to the answer. An instruction that another one follows on the same line leaves that to it.
func (t *turn) say(ctx context.Context, text string) error {
	text = t.held + text
	if t.held = ""; t.then {
		t.held = text + "\n"
		return nil
	}
	return t.update(ctx, chunk("agent_message_chunk", text+"\n"))
}

func chunk(kind, text string) object {
	return object{"sessionUpdate": kind, "content": object{"type": "text", "text": text}}
}

// store keeps what was sent for the next session/load. Parts of one text are one there.
func (t *turn) store() error {
	if t.s == nil {
		return nil
	}
	type part struct {
		SessionUpdate string `json:"sessionUpdate"`
		Content       struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	var lines []kept
	var open part
	flush := func() {
		if open.SessionUpdate != "" {
			lines = append(lines, kept{Update: encode(open)})
		}
		open = part{}
	}
	for _, u := range t.sent {
		var p part
		if err := json.Unmarshal(u, &p); err == nil && p.Content.Type == "text" && strings.HasSuffix(p.SessionUpdate, "_chunk") {
			if p.SessionUpdate != open.SessionUpdate {
				flush()
				open = p
			} else {
				open.Content.Text += p.Content.Text
			}
			continue
		}
		flush()
		lines = append(lines, kept{Update: u})
	}
	flush()
	t.sent = nil
	t.s.mu.Lock()
	for _, k := range lines {
		t.s.past = append(t.s.past, k.Update)
	}
	t.s.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	return t.a.keep(t.s.id, lines...)
}

// path returns an absolute path.
func (t *turn) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(t.s.cwd, name)
}

// always has the instructions that need no session.
func always() map[string]instruction {
	return map[string]instruction{
		"crash": func(context.Context, *turn, string) error {
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Kill() // else the line below ends it
			}
			leave(137)
			return nil
		},
		"exit": func(_ context.Context, _ *turn, arg string) error {
			code, _ := strconv.Atoi(arg)
			leave(code)
			return nil
		},
		"stderr": func(_ context.Context, t *turn, arg string) error {
			fmt.Fprintln(t.a.errs, arg)
			return nil
		},
		"error": func(_ context.Context, t *turn, arg string) error {
			number, text, _ := strings.Cut(arg, " ")
			code, err := strconv.Atoi(number)
			if err != nil {
				code, text = codeInternal, arg
			}
			if t.s == nil {
				t.result = &failure{Code: code, Message: text}
				return nil
			}
			return fatal{&failure{Code: code, Message: text}}
		},
		"update": func(ctx context.Context, t *turn, arg string) error { return t.update(ctx, json.RawMessage(arg)) },
		"page": func(ctx context.Context, t *turn, arg string) error {
			arg, used := strings.CutSuffix(arg, " used")
			if used {
				t.a.turns.Go(func() {
					if pause(ctx, 100*time.Millisecond) == nil {
						_ = t.a.peer.notify(ctx, "elicitation/complete", object{"elicitationId": "page"}) // the client may have left
					}
				})
			}
			params := object{"mode": "url", "message": "Sign in to Scripted", "url": arg, "elicitationId": "page", "requestId": t.id}
			if t.s != nil {
				delete(params, "requestId")
				params["sessionId"] = t.s.id
			}
			result, err := t.a.peer.request(ctx, "elicitation/create", params)
			if err != nil {
				fmt.Fprintln(t.a.errs, "page:", err)
				return nil
			}
			fmt.Fprintln(t.a.errs, "page:", string(result))
			return nil
		},
		"expire": func(_ context.Context, t *turn, _ string) error { return t.a.logout() },
		"result": func(_ context.Context, t *turn, arg string) error {
			t.result = json.RawMessage(arg)
			return nil
		},
		"wait": func(ctx context.Context, _ *turn, _ string) error {
			<-ctx.Done()
			return context.Cause(ctx)
		},
		"after-cancel": func(context.Context, *turn, string) error { return nil }, // follow does it
		"ignore-cancel": func(_ context.Context, t *turn, _ string) error {
			t.deaf.Store(true)
			return nil
		},
	}
}

// fatal is a failure that the prompt itself ends with.
type fatal struct{ f *failure }

func (f fatal) Error() string { return f.f.Message }
