package agenttest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// talk has the instructions of a prompt that say or show something.
func talk() map[string]instruction {
	return map[string]instruction{
		"say": func(ctx context.Context, t *turn, arg string) error { return t.say(ctx, lines(arg)) },
		"think": func(ctx context.Context, t *turn, arg string) error {
			return t.update(ctx, chunk("agent_thought_chunk", arg+"\n"))
		},
		"stream": stream,
		"late": func(_ context.Context, t *turn, arg string) error {
			t.after = append(t.after, func(ctx context.Context) error { return t.say(ctx, arg) })
			return nil
		},
		"after": func(_ context.Context, t *turn, arg string) error {
			t.after = append(t.after, func(ctx context.Context) error { return t.update(ctx, json.RawMessage(arg)) })
			return nil
		},
		"background": background,
		"rest": func(_ context.Context, t *turn, arg string) error {
			ms, err := strconv.Atoi(arg)
			t.after = append(t.after, func(ctx context.Context) error { return pause(ctx, time.Duration(ms)*time.Millisecond) })
			return err
		},
		"notify":  notify,
		"request": request,
		"plan":    plan,
		"usage": func(ctx context.Context, t *turn, arg string) error {
			var used, size int
			_, _ = fmt.Sscan(arg, &used, &size) // what is missing is 0
			return t.update(ctx, object{"sessionUpdate": "usage_update", "used": used, "size": size, "cost": object{"amount": 0.25, "currency": "USD"}})
		},
		"title": func(ctx context.Context, t *turn, arg string) error {
			t.s.mu.Lock()
			t.s.title = arg
			t.s.mu.Unlock()
			if err := t.a.keep(t.s.id, kept{Title: arg}); err != nil {
				return err
			}
			return t.update(ctx, object{"sessionUpdate": "session_info_update", "title": arg})
		},
		"commands": func(ctx context.Context, t *turn, arg string) error {
			list := []Command{}
			for _, name := range strings.Fields(arg) {
				list = append(list, Command{Name: name, Description: "the agent's " + name})
			}
			return t.update(ctx, object{"sessionUpdate": "available_commands_update", "availableCommands": list})
		},
		"option": option,
		"mode": func(ctx context.Context, t *turn, arg string) error {
			t.s.mu.Lock()
			t.s.mode = arg
			t.s.mu.Unlock()
			return t.update(ctx, object{"sessionUpdate": "current_mode_update", "currentModeId": arg})
		},
		"subagent": subagent,
		"notice": func(ctx context.Context, t *turn, arg string) error {
			return t.update(ctx, object{"sessionUpdate": "notice", "severity": "warning", "title": arg})
		},
		"compaction": func(ctx context.Context, t *turn, arg string) error {
			id := label("compaction")
			if err := t.update(ctx, object{"sessionUpdate": "compaction_update", "compactionId": id, "status": "in_progress"}); err != nil {
				return err
			}
			return t.update(ctx, object{"sessionUpdate": "compaction_update", "compactionId": id, "status": "completed", "summary": []object{{"type": "text", "text": arg}}})
		},
		"heard": func(ctx context.Context, t *turn, _ string) error { return t.say(ctx, string(encode(t.blocks))) },
		"env": func(ctx context.Context, t *turn, arg string) error {
			if v, ok := os.LookupEnv(arg); ok {
				return t.say(ctx, arg+"="+v)
			}
			return t.say(ctx, arg+" is not set")
		},
		"environ": func(ctx context.Context, t *turn, _ string) error {
			var names []string
			for _, v := range os.Environ() {
				name, _, _ := strings.Cut(v, "=")
				names = append(names, name)
			}
			slices.Sort(names)
			return t.say(ctx, strings.Join(names, " "))
		},
		"cwd": func(ctx context.Context, t *turn, _ string) error {
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			return t.say(ctx, "session "+t.s.cwd+", process "+dir)
		},
		"pid":     func(ctx context.Context, t *turn, _ string) error { return t.say(ctx, strconv.Itoa(os.Getpid())) },
		"servers": func(ctx context.Context, t *turn, _ string) error { return t.say(ctx, string(encode(t.s.servers))) },
		"client": func(ctx context.Context, t *turn, _ string) error {
			t.a.mu.Lock()
			client := t.a.client
			t.a.mu.Unlock()
			return t.say(ctx, string(client))
		},
		"fork-daemon": func(_ context.Context, _ *turn, arg string) error {
			return exec.Command("setsid", "-f", "sleep", arg).Run()
		},
		"stop": func(_ context.Context, t *turn, arg string) error {
			t.reason = arg
			return nil
		},

		"tool":       tool,
		"end":        end,
		"permission": func(ctx context.Context, t *turn, arg string) error { return permission(ctx, t, arg) },
		"background-permission": func(_ context.Context, t *turn, arg string) error {
			t.after = append(t.after, func(ctx context.Context) error {
				if err := pause(ctx, 100*time.Millisecond); err != nil {
					return err
				}
				return permission(ctx, t, arg)
			})
			return nil
		},
		"read":      read,
		"write":     write,
		"run":       run,
		"shown":     shown,
		"create":    create,
		"edit":      edit,
		"mcp":       callMCP,
		"mcp-tools": listMCP,
	}
}

// label returns a new id.
func label(kind string) string { return kind + "-" + strings.ToLower(rand.Text()[:10]) }

// lines returns a text in which \n is a line break.
func lines(text string) string { return strings.ReplaceAll(text, `\n`, "\n") }

// Chunk returns the part i of a stream of parts of m characters.
func Chunk(i, m int) string {
	text := fmt.Sprintf("%0*d", m, i)
	return text[len(text)-m:]
}

// stream sends N parts of M characters.
func stream(ctx context.Context, t *turn, arg string) error {
	n, m := 1, 1
	_, _ = fmt.Sscanf(arg, "%d of %d", &n, &m) // what is missing is 1
	id := encode(t.s.id)
	var line []byte
	var all strings.Builder
	for i := range n {
		text := Chunk(i, m)
		all.WriteString(text)
		line = fmt.Appendf(line[:0], `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%s,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`+"\n", id, text)
		if err := t.a.peer.raw(ctx, line); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	t.sent = append(t.sent, encode(chunk("agent_message_chunk", all.String())))
	return nil
}

// background says something again and again behind the response, until the session is cancelled.
func background(ctx context.Context, t *turn, arg string) error {
	going, stop := context.WithCancel(context.WithoutCancel(ctx))
	t.s.mu.Lock()
	t.s.behind = stop
	t.s.mu.Unlock()
	t.after = append(t.after, func(ctx context.Context) error {
		defer stop()
		for going.Err() == nil || t.deaf.Load() {
			if err := t.say(ctx, arg); err != nil {
				return err
			}
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// withSession returns parameters with the session's id, unless they have one.
func withSession(t *turn, text string) object {
	params := object{"sessionId": t.s.id}
	_ = json.Unmarshal([]byte(text), &params) // no JSON: nothing more
	return params
}

func notify(ctx context.Context, t *turn, arg string) error {
	method, params, _ := strings.Cut(arg, " ")
	return t.a.peer.notify(ctx, method, withSession(t, params))
}

func request(ctx context.Context, t *turn, arg string) error {
	method, params, _ := strings.Cut(arg, " ")
	result, err := t.a.peer.request(ctx, method, withSession(t, params))
	if err != nil {
		return err
	}
	return t.say(ctx, string(result))
}

func plan(ctx context.Context, t *turn, arg string) error {
	entries := []object{}
	for i, text := range strings.Split(arg, ";") {
		status := "pending"
		if i == 0 {
			status = "in_progress"
		}
		entries = append(entries, object{"content": strings.TrimSpace(text), "priority": "medium", "status": status})
	}
	return t.update(ctx, object{"sessionUpdate": "plan", "entries": entries})
}

// option says the value of an option, or changes it.
func option(ctx context.Context, t *turn, arg string) error {
	id, text, change := strings.Cut(arg, " ")
	if change {
		var value any = text
		if text == "true" || text == "false" {
			value = text == "true"
		}
		if err := t.s.choose(id, value); err != nil {
			return err
		}
	}
	t.s.mu.Lock()
	config := slices.Clone(t.s.config)
	t.s.mu.Unlock()
	if change {
		return t.update(ctx, object{"sessionUpdate": "config_option_update", "configOptions": config})
	}
	t.s.mu.Lock()
	mode, model := t.s.mode, t.s.model
	t.s.mu.Unlock()
	for _, o := range config {
		if o.ID == id {
			return t.say(ctx, fmt.Sprintf("%s=%v", id, o.CurrentValue))
		}
	}
	switch id {
	case "mode":
		return t.say(ctx, "mode="+mode)
	case "model":
		return t.say(ctx, "model="+model)
	}
	return t.say(ctx, "no option "+id)
}

// subagent shows a sub-agent's session.
func subagent(ctx context.Context, t *turn, arg string) error {
	child := t.s.id + "-" + label("child")
	state := func(s object) error {
		return t.update(ctx, object{"sessionUpdate": "subagent_update", "sessionId": child, "title": "Sub-agent", "state": s})
	}
	if err := state(object{"state": "running"}); err != nil {
		return err
	}
	if err := t.a.peer.notify(ctx, "session/update", object{"sessionId": child, "update": chunk("agent_message_chunk", arg)}); err != nil {
		return err
	}
	return state(object{"state": "idle", "stopReason": "end_turn"})
}
