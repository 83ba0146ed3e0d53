package ecatest

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// turn is a prompt that is being answered.
type turn struct {
	s          *server
	c          *chat
	id         string // of the chat that contents are for
	parent     string
	stop       chan struct{}
	unfinished bool
}

// prompt answers a prompt.
func (s *server) prompt(m message, c *chat, text, model string) {
	if _, message, told := strings.Cut(text, "</conversation>"); told { // what was said before is no instruction
		text = message
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		status := ""
		switch word {
		case "login":
			status = "login"
		case "fails":
			status = "error"
		case "refuses":
			s.out.write(message{ID: m.ID, Error: &fault{-32603, rest}})
			return
		}
		if status == "" {
			continue
		}
		s.answer(m, map[string]any{"chatId": c.ID, "model": model, "status": status})
		if status == "error" {
			t := &turn{s: s, c: c, id: c.ID}
			t.content("system", map[string]any{"type": "text", "text": "\n" + rest + "\n"})
			t.content("system", map[string]any{"type": "progress", "state": "finished"})
		}
		return
	}
	if s.wantsLogin() {
		s.answer(m, map[string]any{"chatId": c.ID, "model": model, "status": "login"})
		return
	}
	stop, over := make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	before := c.over
	c.stop, c.over = stop, over
	s.mu.Unlock()
	go func() {
		defer close(over)
		if before != nil { // it may have said that it is finished before it was
			<-before
		}
		s.mu.Lock()
		c.messages++
		content := fmt.Sprintf("content-%d-%d", c.messages, len(c.Contents))
		s.mu.Unlock()
		s.answer(m, map[string]any{"chatId": c.ID, "model": model, "status": "prompting"})
		t := &turn{s: s, c: c, id: c.ID, stop: stop}
		t.status("running")
		t.content("user", map[string]any{"type": "text", "text": text + "\n", "contentId": content})
		t.content("system", map[string]any{"type": "progress", "state": "running", "text": "Waiting model"})
		if c.Title == "" {
			c.Title = lines[0]
			t.content("system", map[string]any{"type": "metadata", "title": c.Title})
		}
		for _, line := range lines {
			if t.stopped() {
				t.content("system", map[string]any{"type": "text", "text": "\nPrompt stopped\n"})
				t.status("stopping")
				break
			}
			t.do(line)
		}
		s.write(c)
		if t.unfinished {
			return
		}
		t.status("idle")
		t.content("system", map[string]any{"type": "progress", "state": "finished"})
	}()
}

func (t *turn) stopped() bool {
	select {
	case <-t.stop:
		return true
	default:
		return false
	}
}

func (t *turn) status(status string) {
	t.s.out.notify("chat/statusChanged", map[string]any{"chatId": t.c.ID, "status": status})
}

// content sends a content. Those that a replay has are kept.
func (t *turn) content(role string, content any) {
	params := map[string]any{"chatId": t.id, "role": role, "content": content}
	if t.parent != "" {
		params["parentChatId"] = t.parent
	}
	raw := toJSON(params)
	if t.parent == "" && !strings.Contains(string(raw), `"type":"progress"`) {
		t.s.keep(t.c, raw)
	}
	t.s.out.notify("chat/contentReceived", raw)
}

// do does a command.
func (t *turn) do(line string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "say":
		if name, ok := strings.CutPrefix(rest, "$"); ok {
			rest = os.Getenv(name)
		}
		t.say(rest)
	case "think":
		id := t.next("r")
		t.content("assistant", map[string]any{"type": "reasonStarted", "id": id})
		t.content("assistant", map[string]any{"type": "reasonText", "id": id, "text": rest})
		t.content("assistant", map[string]any{"type": "reasonFinished", "id": id, "totalTimeMs": 1500})
	case "content":
		role, content, _ := strings.Cut(rest, " ")
		t.content(role, json.RawMessage(content))
	case "notify":
		method, params, _ := strings.Cut(rest, " ")
		t.s.out.notify(method, json.RawMessage(strings.ReplaceAll(params, "CHAT", t.id)))
	case "raw":
		t.s.out.raw(strings.NewReplacer(`\r`, "\r", `\n`, "\n").Replace(rest))
	case "call":
		t.call(json.RawMessage(rest))
	case "ask":
		t.ask(rest)
	case "request":
		method, params, _ := strings.Cut(rest, " ")
		m := t.request(method, strings.ReplaceAll(params, "CHAT", t.id))
		if m.Error != nil {
			t.say(fmt.Sprintf("error %d", m.Error.Code))
			return
		}
		t.say(string(m.Result))
	case "sub":
		t.sub(rest)
	case "steer":
		select {
		case text := <-t.c.steers:
			t.content("user", map[string]any{"type": "text", "text": text + "\n"})
			t.say("steered: " + text)
		case <-t.stop:
		}
	case "wait":
		<-t.stop
	case "deaf":
		select {}
	case "repeat":
		times, command, _ := strings.Cut(rest, " ")
		n, _ := strconv.Atoi(times)
		for range n {
			t.do(command)
		}
	case "dies":
		os.Exit(3)
	case "unfinished":
		t.unfinished = true
	}
}

func (t *turn) say(text string) {
	t.content("assistant", map[string]any{"type": "text", "text": text + "\n"})
}

func (t *turn) next(kind string) string {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.n++
	return fmt.Sprintf("%s%d", kind, t.s.n)
}

// call makes a call of a tool, as the reference server does.
func (t *turn) call(raw json.RawMessage) {
	var q struct {
		ID      string          `json:"id"`
		Name    string          `json:"name"`
		Server  string          `json:"server"`
		Origin  string          `json:"origin"`
		Args    json.RawMessage `json:"arguments"`
		Manual  bool            `json:"manual"`
		Summary string          `json:"summary"`
		Details json.RawMessage `json:"details"`
		Result  json.RawMessage `json:"result"` // the details of the end
		Output  string          `json:"output"`
		Error   bool            `json:"error"`
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		t.say("no call: " + err.Error())
		return
	}
	if q.ID == "" {
		q.ID = t.next("call-")
	}
	if q.Server == "" {
		q.Server, q.Origin = "eca", "native"
	}
	if q.Args == nil {
		q.Args = json.RawMessage("{}")
	}
	part := func(kind string, more map[string]any) {
		m := map[string]any{"type": kind, "origin": q.Origin, "id": q.ID, "name": q.Name, "server": q.Server}
		if q.Summary != "" {
			m["summary"] = q.Summary
		}
		if q.Details != nil {
			m["details"] = q.Details
		}
		for name, value := range more {
			m[name] = value
		}
		t.content("assistant", m)
	}
	half := len(q.Args) / 2
	part("toolCallPrepare", map[string]any{"argumentsText": string(q.Args[:half])})
	part("toolCallPrepare", map[string]any{"argumentsText": string(q.Args[half:])})
	decided := make(chan bool, 1)
	if q.Manual {
		t.s.mu.Lock()
		t.decides().decided[q.ID] = decided
		t.s.mu.Unlock()
	}
	part("toolCallRun", map[string]any{"arguments": q.Args, "manualApproval": q.Manual})
	if q.Manual {
		select {
		case yes := <-decided:
			if !yes {
				part("toolCallRejected", map[string]any{"arguments": q.Args, "reason": "userChoiceDeny"})
				return
			}
		case <-t.stop:
			part("toolCallRejected", map[string]any{"arguments": q.Args, "reason": "userPromptStop"})
			return
		}
	}
	part("toolCallRunning", map[string]any{"arguments": q.Args})
	end := map[string]any{"arguments": q.Args, "error": q.Error, "outputs": []any{map[string]string{"type": "text", "text": q.Output}}, "totalTimeMs": 12}
	if q.Result != nil {
		end["details"] = q.Result
	}
	part("toolCalled", end)
}

// decides returns the chat that approvals are for.
func (t *turn) decides() *chat {
	if t.parent == "" {
		return t.c
	}
	if t.s.chats[t.id] == nil {
		t.s.chats[t.id] = &chat{ID: t.id, decided: map[string]chan bool{}, steers: make(chan string, 10)}
	}
	return t.s.chats[t.id]
}

// ask asks the user, and says the answer.
func (t *turn) ask(params string) {
	var q map[string]any
	if err := json.Unmarshal([]byte(params), &q); err != nil {
		t.say("no question: " + err.Error())
		return
	}
	q["chatId"] = t.id
	m := t.request("chat/askQuestion", string(toJSON(q)))
	t.say("answer: " + string(m.Result))
}

// request sends a request, and waits for the answer.
func (t *turn) request(method, params string) message {
	id := t.next("")
	wait := make(chan message, 1)
	t.s.mu.Lock()
	t.s.asked[id] = wait
	t.s.mu.Unlock()
	t.s.out.write(message{ID: json.RawMessage(id), Method: method, Params: json.RawMessage(params)})
	select {
	case m := <-wait:
		return m
	case <-t.stop:
		return message{}
	}
}

// sub delegates a task.
func (t *turn) sub(commands string) {
	id, chat := t.next("call-"), t.next("subagent-")
	details := map[string]any{"type": "subagent", "agentName": "explorer", "model": "acme/small", "step": 1}
	part := func(kind string, more map[string]any) {
		m := map[string]any{"type": kind, "origin": "native", "id": id, "name": "spawn_agent", "server": "eca", "summary": "explorer: look", "details": details}
		for name, value := range more {
			m[name] = value
		}
		t.content("assistant", m)
	}
	args := map[string]any{"agent": "explorer", "task": commands}
	part("toolCallPrepare", map[string]any{"argumentsText": string(toJSON(args))})
	part("toolCallRun", map[string]any{"arguments": args, "manualApproval": false})
	details["subagentChatId"] = chat
	part("toolCallRunning", map[string]any{"arguments": args})
	below := &turn{s: t.s, c: t.c, id: chat, parent: t.id, stop: t.stop}
	for command := range strings.SplitSeq(commands, ";") {
		below.do(strings.TrimSpace(command))
	}
	part("toolCalled", map[string]any{"arguments": args, "error": false, "outputs": []any{map[string]string{"type": "text", "text": "it has looked"}}, "totalTimeMs": 5})
}
