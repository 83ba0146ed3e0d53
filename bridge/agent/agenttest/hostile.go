package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// hostile has the instructions that no agent should need. They are followed for requests of any
// kind.
func hostile() map[string]instruction {
	return map[string]instruction{
		// notifications of kinds that nobody knows
		"flood": func(ctx context.Context, t *turn, arg string) error {
			for i := range number(arg, 100_000) {
				if err := t.a.peer.notify(ctx, "session/update", object{"sessionId": t.sessionID(), "update": object{"sessionUpdate": "flood", "n": i}}); err != nil {
					return err
				}
			}
			return nil
		},
		"garbage": func(ctx context.Context, t *turn, _ string) error {
			return t.a.peer.raw(ctx, []byte("Welcome to Scripted 1.0!\n\n{\n}\nnull\ntrue\n\"text\"\n{\"jsonrpc\":\"2.0\"}\n{}\n{\"jsonrpc\":\"1.0\",\"method\":7}\n\x00\x01\x02\n"))
		},
		// a response with an id that no request had, and none with the right one
		"wrong-id": func(ctx context.Context, t *turn, _ string) error {
			for _, id := range []string{`999999`, `"x"`, `null`, `{}`, `1.5`, `-1`} {
				if err := t.a.peer.raw(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`+"\n", id)); err != nil {
					return err
				}
			}
			return errAnswered
		},
		// a response before the ordinary one
		"duplicate": func(ctx context.Context, t *turn, arg string) error {
			if arg == "" {
				arg = `{"stopReason":"refusal","sessionId":"twice","protocolVersion":1}`
			}
			return t.a.peer.respond(ctx, t.id, json.RawMessage(arg), nil)
		},
		"answer-nothing": func(ctx context.Context, t *turn, _ string) error {
			return t.a.peer.raw(ctx, []byte(`{"jsonrpc":"2.0","id":4711,"result":{"stopReason":"end_turn"}}`+"\n"+`{"jsonrpc":"2.0","id":"nobody","error":{"code":1,"message":"nothing"}}`+"\n"))
		},
		"silent": func(ctx context.Context, _ *turn, _ string) error {
			<-ctx.Done()
			return errAnswered
		},
		"batch": func(ctx context.Context, t *turn, _ string) error {
			u := message{Version: "2.0", Method: "session/update", Params: encode(object{"sessionId": t.sessionID(), "update": chunk("agent_message_chunk", "from a batch")})}
			return t.a.peer.raw(ctx, append(encode([]message{u, u}), '\n'))
		},
		// a response of so many bytes
		"big-answer": func(_ context.Context, t *turn, arg string) error {
			t.result = json.RawMessage(`{"stopReason":"end_turn","_meta":{"x":"` + strings.Repeat("x", number(arg, 100<<20)) + `"}}`)
			return nil
		},
		// an update of so many bytes
		"big": func(ctx context.Context, t *turn, arg string) error {
			return t.a.peer.notify(ctx, "session/update", object{"sessionId": t.sessionID(), "update": chunk("agent_message_chunk", strings.Repeat("x", number(arg, 100<<20)))})
		},
		"huge-numbers": func(ctx context.Context, t *turn, _ string) error {
			return t.raws(
				ctx, `{"sessionUpdate":"usage_update","used":1e400,"size":-9223372036854775809}`,
				`{"sessionUpdate":"usage_update","used":99999999999999999999999999,"size":1}`,
				`{"sessionUpdate":"usage_update","used":1.5,"size":2.5,"cost":{"amount":1e309,"currency":"USD"}}`,
				`{"sessionUpdate":"tool_call","toolCallId":"huge","title":"t","locations":[{"path":"/x","line":1e30}]}`,
			)
		},
		"deep": func(ctx context.Context, t *turn, arg string) error {
			n := number(arg, 100_000)
			deep := strings.Repeat("[", n) + strings.Repeat("]", n)
			return t.raws(ctx, `{"sessionUpdate":"tool_call","toolCallId":"deep","title":"t","rawInput":`+deep+`}`, `{"sessionUpdate":"deep","x":`+deep+`}`)
		},
		"invalid-utf8": func(ctx context.Context, t *turn, _ string) error {
			return t.raws(
				ctx, "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"a\xff\xfeb\"}}",
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\ud800 half"}}`,
				"{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"u\xff\",\"title\":\"\xc3\x28\"}",
			)
		},
		"null-fields": func(ctx context.Context, t *turn, _ string) error {
			return t.raws(
				ctx, `null`, `{}`, `[]`, `7`, `{"sessionUpdate":null}`, `{"sessionUpdate":7}`,
				`{"sessionUpdate":"agent_message_chunk"}`, `{"sessionUpdate":"agent_message_chunk","content":null}`, `{"sessionUpdate":"agent_message_chunk","content":{}}`,
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"image"}}`, `{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":null}}`,
				`{"sessionUpdate":"tool_call"}`, `{"sessionUpdate":"tool_call","toolCallId":null,"title":null}`, `{"sessionUpdate":"tool_call","toolCallId":"n","title":"n","content":[null,{}],"locations":[null,{}],"kind":null,"status":"strange"}`,
				`{"sessionUpdate":"tool_call_update","toolCallId":"never shown","status":"completed"}`, `{"sessionUpdate":"tool_call_update"}`,
				`{"sessionUpdate":"plan","entries":null}`, `{"sessionUpdate":"plan","entries":[null,{}]}`, `{"sessionUpdate":"available_commands_update","availableCommands":null}`,
				`{"sessionUpdate":"available_commands_update","availableCommands":[null,{},{"name":""},{"name":"a b/c"}]}`, `{"sessionUpdate":"current_mode_update"}`,
				`{"sessionUpdate":"config_option_update","configOptions":null}`, `{"sessionUpdate":"config_option_update","configOptions":[null,{},{"id":"x","type":"strange"}]}`,
				`{"sessionUpdate":"session_info_update","title":null}`, `{"sessionUpdate":"usage_update"}`, `{"sessionUpdate":"subagent_update"}`, `{"sessionUpdate":"compaction_update"}`, `{"sessionUpdate":"notice"}`,
			)
		},
		"unknown-kinds": func(ctx context.Context, t *turn, _ string) error {
			if err := t.raws(ctx, `{"sessionUpdate":"hologram","light":3}`, `{"sessionUpdate":"_vendor/thing","_meta":{"x":1}}`); err != nil {
				return err
			}
			for _, method := range []string{"_vendor/news", "session/unheard", "$/progress", ""} {
				if err := t.a.peer.raw(ctx, append(encode(object{"jsonrpc": "2.0", "method": method, "params": object{"sessionId": t.sessionID()}}), '\n')); err != nil {
					return err
				}
			}
			for _, method := range []string{"_vendor/question", "session/prompt", "initialize"} {
				if _, err := t.a.peer.request(ctx, method, object{"sessionId": t.sessionID()}); err == nil {
					return fmt.Errorf("%s was answered", method)
				}
			}
			return nil
		},
		// the id of a session as an argument: updates and requests in its name
		"wrong-session": func(ctx context.Context, t *turn, arg string) error {
			if err := t.a.peer.notify(ctx, "session/update", object{"sessionId": arg, "update": chunk("agent_message_chunk", "in another's name")}); err != nil {
				return err
			}
			_, err := t.a.peer.request(ctx, "fs/read_text_file", object{"sessionId": arg, "path": "/etc/hostname"})
			if err == nil {
				err = fmt.Errorf("session %q was served", arg)
			}
			return said(ctx, t, err)
		},
		// requests after the prompt's response
		"late-requests": func(_ context.Context, t *turn, arg string) error {
			t.after = append(t.after, func(ctx context.Context) error {
				for _, m := range []string{"fs/read_text_file", "terminal/create"} {
					_, err := t.a.peer.request(ctx, m, object{"sessionId": t.sessionID(), "path": arg, "command": "cat " + arg})
					if serr := said(ctx, t, err); serr != nil {
						return serr
					}
				}
				return nil
			})
			return nil
		},
		"secrets": func(ctx context.Context, t *turn, _ string) error {
			home, _ := os.UserHomeDir()
			key := filepath.Join(home, ".ssh", "id_rsa")
			for _, r := range []struct {
				method string
				params object
			}{
				{"fs/read_text_file", object{"path": key}},
				{"fs/read_text_file", object{"path": "~/.ssh/id_rsa"}},
				{"fs/read_text_file", object{"path": "../../../../../../.." + key}},
				{"fs/write_text_file", object{"path": filepath.Join(home, ".ssh", "authorized_keys"), "content": "x"}},
				{"terminal/create", object{"command": "cat " + key}},
				{"terminal/create", object{"command": "cat", "args": []string{key}}},
			} {
				r.params["sessionId"] = t.sessionID()
				_, err := t.a.peer.request(ctx, r.method, r.params)
				if err := said(ctx, t, err); err != nil {
					return err
				}
			}
			return nil
		},
		// asks for a command as for a harmless reading
		"harmless-title": func(ctx context.Context, t *turn, arg string) error {
			return permission(ctx, t, `{"title":"List the files","kind":"read","rawInput":{"command":`+string(encode(arg))+`}}`)
		},
		"permission-flood": func(ctx context.Context, t *turn, arg string) error {
			var all sync.WaitGroup
			for range number(arg, 1000) {
				all.Go(func() {
					_, _ = t.a.peer.request(ctx, "session/request_permission", object{
						"sessionId": t.sessionID(), "toolCall": object{"toolCallId": label("call"), "title": "again"}, "options": defaultOptions,
					}) // none of the answers matters
				})
			}
			all.Wait()
			return context.Cause(ctx)
		},
		"stderr-flood": func(_ context.Context, t *turn, arg string) error {
			line := strings.Repeat("e", 999) + "\n"
			for range number(arg, 100<<20) / len(line) {
				if _, err := io.WriteString(t.a.errs, line); err != nil {
					return err
				}
			}
			return nil
		},
		// half a line, and nothing more
		"partial-line": func(ctx context.Context, t *turn, _ string) error {
			if err := t.a.peer.raw(ctx, []byte(`{"jsonrpc":"2.0","method":"session/update","params":{`)); err != nil {
				return err
			}
			<-ctx.Done()
			return errAnswered
		},
		"stop-reading": func(_ context.Context, t *turn, _ string) error {
			t.a.stop.Do(func() { close(t.a.still) })
			return nil
		},
		"close-output": func(ctx context.Context, t *turn, _ string) error {
			if c, ok := t.a.peer.out.(io.Closer); ok {
				_ = c.Close()
			}
			<-ctx.Done()
			return errAnswered
		},
		"ignore-eof": func(_ context.Context, t *turn, _ string) error {
			t.a.mu.Lock()
			t.a.stubborn = true
			t.a.mu.Unlock()
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
			return nil
		},
	}
}

// number returns an argument that is a number, or another one.
func number(arg string, other int) int {
	if n, err := strconv.Atoi(arg); err == nil {
		return n
	}
	return other
}

// said says the error that a request was answered with, or that there was none.
func said(ctx context.Context, t *turn, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return t.say(ctx, "served")
	}
	return t.say(ctx, err.Error())
}

// raws sends updates as they are.
func (t *turn) raws(ctx context.Context, updates ...string) error {
	for _, u := range updates {
		if err := t.a.peer.raw(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%s,"update":%s}}`+"\n", encode(t.sessionID()), u)); err != nil {
			return err
		}
	}
	return nil
}
