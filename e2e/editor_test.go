package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// editor is a client that streams, made by hand: it speaks ACP or ECA over raw
// pipes and keeps what it is told.
type editor struct {
	*peer
	dialect *dialect
	work    string
	answers map[string]message
	prompts map[string]string // the ids of prompts → their sessions
	views   map[string]*view
	allow   bool // approve whatever is asked
	records bool // what is shown, for a history
}

// dialect is how an editor says and hears things.
type dialect struct {
	name   string
	framed bool
	// hello are the messages before anything else, the first one a request.
	hello func(e *editor) []any
	// begin starts a session and returns its id.
	begin func(e *editor) string
	// load asks for a session's history, all of which stands before the answer.
	load func(e *editor, id string) object
	// prompt and cancel write messages without sending them.
	prompt func(e *editor, id, text string) object
	cancel func(id string) object
	decide func(q question, allow bool) object
	take   func(e *editor, m message)
}

// view is what an editor has been told of one session.
type view struct {
	said     []string // by the user
	text     []byte   // by the agent
	thoughts string
	marks    []mark            // how much of the text there was when
	facts    []string          // all else, in order: that a call began, notes
	told     map[string]object // id → all that was told of a call
	asked    []question
	calls    map[string]string // id → how it stands, in the dialect's word
	ends     []string          // how the turns ended
	noted    int               // how many facts there were before the last text or end
	title    string
	keep     bool // the text; else only its length
	length   int
	records  bool
	seen     []element // if it records: all of it, in order
}

type mark struct {
	at   time.Time
	size int
}

// question is an approval that is asked for.
type question struct {
	session, call string
	id            json.RawMessage   // of the request, where it is one
	options       map[string]string // kind → id of the first option of that kind, where there are options
}

func newView() *view { return &view{keep: true, calls: map[string]string{}, told: map[string]object{}} }

// show records an element. Text that follows text is one with it.
func (v *view) show(kind elementKind, id, text string) {
	if !v.records {
		return
	}
	if n := len(v.seen); n > 0 && v.seen[n-1].kind == kind && (kind == elemText || kind == elemThought) {
		v.seen[n-1].text += text
		return
	}
	v.seen = append(v.seen, element{kind, id, text})
}

// call records the state of a call.
func (v *view) call(id, state string) {
	v.calls[id] = state
	v.show(elemState, id, state)
}

// tell adds what is told of a call. A load tells it at once, where the call began.
func (v *view) tell(id string, update object, ended bool) {
	all := v.told[id]
	if all == nil {
		all = object{}
		v.told[id] = all
		v.facts = append(v.facts, "call "+id)
		v.show(elemCall, id, "")
	}
	for name, value := range update {
		all[name] = value
	}
	i := slices.IndexFunc(v.seen, func(e element) bool { return e.kind == elemCall && e.id == id })
	if !ended || i < 0 {
		return
	}
	b, _ := json.Marshal(all) // sorts the names; it came from JSON
	v.seen[i].text = string(b)
}

func (v *view) say(at time.Time, text string) {
	v.show(elemText, "", text)
	if v.length += len(text); v.keep {
		v.text = append(v.text, text...)
		v.marks = append(v.marks, mark{at, len(v.text)})
	}
}

// fact keeps a message for comparison: the same JSON is the same text.
func (v *view) fact(raw json.RawMessage) {
	var m any
	if err := json.Unmarshal(raw, &m); err != nil {
		v.facts = append(v.facts, string(raw))
		return
	}
	b, _ := json.Marshal(m) // sorts the names; it came from JSON
	v.facts = append(v.facts, string(b))
	v.show(elemFact, "", string(b))
}

// before is how much text there was at a time.
func (v *view) before(at time.Time) int {
	n := 0
	for _, m := range v.marks {
		if m.at.After(at) {
			break
		}
		n = m.size
	}
	return n
}

// edit starts the binary as an editor does and says hello.
func (p *place) edit(t testing.TB, d *dialect, l launch, flags ...string) *editor {
	t.Helper()
	e := &editor{
		peer: p.start(t, l, d.framed, append(flags, d.name)...), dialect: d, work: p.work,
		answers: map[string]message{}, prompts: map[string]string{}, views: map[string]*view{},
	}
	e.send(d.hello(e)...)
	if m := e.await("1"); m.Error != nil {
		t.Fatalf("initialize: %v", m.Error)
	}
	return e
}

// view is what is known of a session.
func (e *editor) view(id string) *view {
	v := e.views[id]
	if v == nil {
		v = newView()
		v.records = e.records
		e.views[id] = v
	}
	return v
}

func (e *editor) read(what string, holds func() bool) {
	e.t.Helper()
	e.until(what, func(m message) { e.dialect.take(e, m) }, holds)
}

// await reads until a request is answered.
func (e *editor) await(id string) message {
	e.t.Helper()
	e.read("the answer to request "+id, func() bool { _, ok := e.answers[id]; return ok })
	return e.answers[id]
}

// ask makes a request and reads until it is answered.
func (e *editor) ask(method string, params any) message {
	e.t.Helper()
	id, req := e.request(method, params)
	e.send(req)
	return e.await(id)
}

func (e *editor) begin() string { e.t.Helper(); return e.dialect.begin(e) }

// load shows a session anew.
func (e *editor) load(id string) *view {
	e.t.Helper()
	delete(e.views, id)
	e.view(id)
	req := e.dialect.load(e, id)
	e.send(req)
	if m := e.await(fmt.Sprint(req["id"])); m.Error != nil {
		e.t.Fatalf("load: %v", m.Error)
	}
	return e.views[id]
}

// prompt sends a prompt.
func (e *editor) prompt(id, text string) { e.t.Helper(); e.send(e.dialect.prompt(e, id, text)) }

// ended reads until a session has seen the ends of so many turns, and returns the
// last.
func (e *editor) ended(id string, n int) string {
	e.t.Helper()
	v := e.view(id)
	e.read(fmt.Sprintf("the end of turn %d", n), func() bool { return len(v.ends) >= n })
	return v.ends[n-1]
}

// run prompts and reads until the turn has ended.
func (e *editor) run(id, text string) string {
	e.t.Helper()
	n := len(e.view(id).ends)
	e.prompt(id, text)
	return e.ended(id, n+1)
}

// question reads until an approval is asked for.
func (e *editor) question(id string) question {
	e.t.Helper()
	v := e.view(id)
	e.read("an approval to be asked for", func() bool { return len(v.asked) > 0 })
	q := v.asked[0]
	v.asked = v.asked[1:]
	return q
}

func (e *editor) asked(q question) {
	if e.allow {
		e.send(e.dialect.decide(q, true))
		return
	}
	v := e.view(q.session)
	v.asked = append(v.asked, q)
}

// The dialects of editors.
func editors() []*dialect { return []*dialect{acpDialect(), ecaDialect()} }

// Words that both dialects' ends are told in.
const (
	endOK        = "ok"
	endCancelled = "cancelled"
)

func acpDialect() *dialect {
	folder := func(e *editor) object { return object{"cwd": e.work, "mcpServers": []any{}} }
	return &dialect{
		name: "acp",
		hello: func(e *editor) []any {
			_, req := e.request("initialize", object{"protocolVersion": 1, "clientCapabilities": object{}, "clientInfo": object{"name": "raw", "version": "1"}})
			return []any{req}
		},
		begin: func(e *editor) string {
			e.t.Helper()
			m := e.ask("session/new", folder(e))
			var res struct{ SessionID string }
			if err := json.Unmarshal(m.Result, &res); err != nil || res.SessionID == "" {
				e.t.Fatalf("session/new: %v %s", m.Error, m.Result)
			}
			return res.SessionID
		},
		load: func(e *editor, id string) object {
			params := folder(e)
			params["sessionId"] = id
			_, req := e.request("session/load", params)
			return req
		},
		prompt: func(e *editor, id, text string) object {
			n, req := e.request("session/prompt", object{"sessionId": id, "prompt": []any{object{"type": "text", "text": text}}})
			e.prompts[n] = id
			return req
		},
		cancel: func(id string) object { return notification("session/cancel", object{"sessionId": id}) },
		decide: func(q question, allow bool) object {
			option := "reject_once"
			if allow {
				option = "allow_once"
			}
			return object{"jsonrpc": "2.0", "id": q.id, "result": object{"outcome": object{"outcome": "selected", "optionId": q.options[option]}}}
		},
		take: takeACP,
	}
}

func takeACP(e *editor, m message) {
	switch m.Method {
	case "":
		id := string(m.ID)
		e.answers[id] = m
		session, ok := e.prompts[id]
		if !ok {
			return
		}
		var res struct{ StopReason string }
		_ = json.Unmarshal(m.Result, &res) // an error has none
		end := map[string]string{"end_turn": endOK, "cancelled": endCancelled}[res.StopReason]
		if m.Error != nil {
			end = m.Error.String()
		}
		e.view(session).ends = append(e.view(session).ends, end)
	case "session/update":
		var p struct {
			SessionID string
			Update    json.RawMessage
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			e.t.Fatalf("%s: %v", m.raw, err)
		}
		e.view(p.SessionID).acpUpdate(m.at, p.Update)
	case "session/request_permission":
		var p struct {
			SessionID string
			ToolCall  struct{ ToolCallID string }
			Options   []struct{ OptionID, Kind string }
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			e.t.Fatalf("%s: %v", m.raw, err)
		}
		q := question{session: p.SessionID, call: p.ToolCall.ToolCallID, id: slices.Clone(m.ID), options: map[string]string{}}
		for _, o := range slices.Backward(p.Options) {
			q.options[o.Kind] = o.OptionID
		}
		e.asked(q)
	}
}

func (v *view) acpUpdate(at time.Time, raw json.RawMessage) {
	var u struct {
		SessionUpdate, MessageID, ToolCallID, Title, Status string
		Content                                             json.RawMessage
	}
	_ = json.Unmarshal(raw, &u) // an array where an object was expected leaves the rest as it is
	var c struct{ Text string }
	_ = json.Unmarshal(u.Content, &c) // a call's content is no text
	switch u.SessionUpdate {
	case "agent_message_chunk":
		if u.MessageID == "" { // not the model's: how a turn failed, say
			v.facts = append(v.facts, "note: "+c.Text)
			return
		}
		v.say(at, c.Text)
	case "agent_thought_chunk":
		if u.MessageID == "" { // not the model's: that another client is there, say
			v.facts = append(v.facts, "note: "+c.Text)
			return
		}
		v.thoughts += c.Text
		v.show(elemThought, "", c.Text)
	case "user_message_chunk":
		v.said = append(v.said, c.Text)
		v.show(elemSaid, "", c.Text)
	case "session_info_update":
		v.title = u.Title
	case "tool_call", "tool_call_update":
		if u.Status != "" {
			v.call(u.ToolCallID, u.Status)
		}
		var update object
		_ = json.Unmarshal(raw, &update) // it is an object, as was seen
		delete(update, "sessionUpdate")
		v.tell(u.ToolCallID, update, u.Status == "completed" || u.Status == "failed")
	case "available_commands_update", "config_option_update", "current_mode_update": // what is offered now
	case "plan", "usage_update": // a load shows the last one
	default:
		v.fact(raw)
	}
}

func ecaDialect() *dialect {
	chat := func(id string) object { return object{"chatId": id} }
	return &dialect{
		name: "eca", framed: true,
		hello: func(e *editor) []any {
			_, req := e.request("initialize", object{
				"processId": os.Getpid(), "clientInfo": object{"name": "raw", "version": "1"}, "capabilities": object{"codeAssistant": object{"chat": true}},
				"workspaceFolders": []any{object{"uri": "file://" + e.work, "name": "work"}},
			})
			return []any{req, notification("initialized", object{})}
		},
		begin: func(e *editor) string { // the client names its chats
			e.ids++
			return fmt.Sprintf("chat-%d-%d", e.cmd.Process.Pid, e.ids)
		},
		load: func(e *editor, id string) object {
			_, req := e.request("chat/open", chat(id))
			return req
		},
		prompt: func(e *editor, id, text string) object {
			n, req := e.request("chat/prompt", object{"chatId": id, "message": text, "contexts": []any{}})
			e.prompts[n] = id
			return req
		},
		cancel: func(id string) object { return notification("chat/promptStop", chat(id)) },
		decide: func(q question, allow bool) object {
			method := "chat/toolCallReject"
			if allow {
				method = "chat/toolCallApprove"
			}
			return notification(method, object{"chatId": q.session, "toolCallId": q.call})
		},
		take: takeECA,
	}
}

func takeECA(e *editor, m message) {
	switch m.Method {
	case "":
		e.answers[string(m.ID)] = m
	case "chat/cleared": // what follows is all that there is
		var p struct{ ChatID string }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			e.t.Fatalf("%s: %v", m.raw, err)
		}
		v, anew := e.view(p.ChatID), newView()
		anew.ends, anew.records = v.ends, v.records
		*v = *anew
	case "chat/contentReceived":
		var p struct {
			ChatID, Role string
			Content      json.RawMessage
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			e.t.Fatalf("%s: %v", m.raw, err)
		}
		if q := e.view(p.ChatID).ecaContent(m.at, p.Role, p.Content); q != "" {
			e.asked(question{session: p.ChatID, call: q})
		}
	}
}

// ecaContent keeps a content and returns the call that it asks an approval for.
func (v *view) ecaContent(at time.Time, role string, raw json.RawMessage) (asks string) {
	var c struct {
		Type, ID, Text, State, Title string
		Name, Server                 string
		ManualApproval               bool
	}
	_ = json.Unmarshal(raw, &c)                // what is of another type is looked at as it is
	if c.Name == "task" && c.Server == "eca" { // the plan: a load shows the last one
		return ""
	}
	switch c.Type {
	case "text":
		switch role {
		case "user":
			said := strings.TrimSuffix(c.Text, "\n")
			v.said = append(v.said, said)
			v.show(elemSaid, "", said)
		case "assistant":
			v.say(at, c.Text)
			v.noted = len(v.facts)
		default:
			v.facts = append(v.facts, "note: "+c.Text)
		}
	case "reasonText":
		v.thoughts += c.Text
		v.show(elemThought, "", c.Text)
	case "progress": // live only
		if c.State == "finished" {
			end := endOK
			if n := len(v.facts); n > v.noted && strings.HasPrefix(v.facts[n-1], "note: ") {
				end = strings.TrimSpace(strings.TrimPrefix(v.facts[n-1], "note: "))
			}
			if end == "Prompt stopped" {
				end = endCancelled
			}
			v.ends, v.noted = append(v.ends, end), len(v.facts)
		}
	case "metadata":
		v.title = c.Title
	case "toolCallPrepare": // its arguments come in pieces that a replay joins
		if v.calls[c.ID] == "" {
			v.call(c.ID, c.Type)
			v.tell(c.ID, nil, false)
		}
	case "toolCallRun": // shown where it is asked; a replay shows what became of it
		v.call(c.ID, c.Type)
		if c.ManualApproval {
			return c.ID
		}
	case "toolCallRunning":
		v.call(c.ID, c.Type)
	case "toolCalled", "toolCallRejected":
		v.call(c.ID, c.Type)
		var end object
		_ = json.Unmarshal(raw, &end) // it is an object, as was seen
		v.tell(c.ID, end, true)
	case "reasonStarted", "reasonFinished":
		v.fact(raw)
	}
	return ""
}

func (e *editor) pid() string { return fmt.Sprint(e.cmd.Process.Pid) }

// refused prompts, reads until that has ended and returns what the user was told.
func (e *editor) refused(id, text string) string {
	e.t.Helper()
	v := e.view(id)
	n, facts := len(v.ends), len(v.facts)
	e.prompt(id, text)
	end := e.ended(id, n+1)
	return strings.Join(append(slices.Clone(v.facts[min(facts, len(v.facts)):]), end), "\n")
}
