package eca

import (
	"bytes"
	"encoding/json"
	"maps"
	"sync"

	"go.uber.org/zap"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
)

// The protocol has two documents older than today's, and their clients are served as well. The
// handlers and the encoder know only today's document. An edge in the connection of an early
// client translates their messages into those of its document: names that it lacks are dropped,
// and words that differ are replaced. A turn begins with a progress in place of
// chat/statusChanged. In 001 a call is prepared once: the parts of its arguments are held back
// until the next message about it.
//
// If the server must act differently, it looks at the names that the client's document lacks: a
// chat that cannot be emptied is not shown again. Members that clients of all documents accept
// (both names of a tool's output, the fields of usage) are left as they are.

// Dialect is the document of the protocol that a client speaks.
type Dialect uint8

const (
	Now    Dialect = iota // today's
	Doc000                // the later of the two early documents
	Doc001                // the earlier one
)

// String names the dialect in logs and tests.
func (d Dialect) String() string { return [...]string{"now", "000", "001"}[d] }

// dialectOf recognizes a document by members that only it has.
func dialectOf(caps *eca.CodeAssistant, opts eca.InitOptions) Dialect {
	if caps == nil {
		caps = &eca.CodeAssistant{}
	}
	switch {
	case caps.Doc != nil || caps.Edit != nil || caps.Fix != nil:
		return Doc001
	case caps.ChatCapabilities != nil || caps.Rewrite != nil || said(opts.ChatAgent) != "":
		return Now
	case said(opts.ChatBehavior) != "":
		return Doc000
	}
	return Now
}

// early puts an edge into the connection of a client of an early document, and removes from p the
// capabilities that its document does not have. It returns the names that the document lacks; nil
// for today's.
func early(conn *wire.Conn, log *zap.Logger, p *eca.InitializeParams) nameSet {
	d := dialectOf(p.Capabilities.CodeAssistant, optionsOf(p.InitializationOptions))
	if d == Now {
		return nil
	}
	log.Info("the client speaks an early document", zap.Stringer("dialect", d))
	caps := &eca.CodeAssistant{Rewrite: json.RawMessage("false")}
	if said := p.Capabilities.CodeAssistant; d == Doc000 && said != nil && said.Editor != nil {
		caps.Editor = &eca.EditorCaps{Diagnostics: said.Editor.Diagnostics}
	}
	p.Capabilities.CodeAssistant = caps
	conn.SetEdge(newEarlyEdge(d))
	return earlyDocuments[d].lacks
}

// earlyDocument describes an early document: the names it lacks, and its own words for names of
// today.
type earlyDocument struct {
	lacks nameSet
	words map[string]string
}

var earlyDocuments = [...]earlyDocument{
	Doc000: {earlyLacks(), map[string]string{
		string(eca.StatusFailed): string(eca.StatusPrompting), string(eca.RejectUser): string(eca.RejectUser000),
		string(eca.RejectConfig): string(eca.RejectConfig000), string(eca.RejectStop): string(eca.RejectUser000),
		"mcpPrompt": "mcp-prompt", "customPrompt": "native", "skill": "native", statusLogin: statusFailed,
	}},
	Doc001: {earlyLacks(eca.MethodConfigUpdated, eca.TypeMetadata, eca.TypeToolCallRunning, eca.ContextCursor), map[string]string{
		string(eca.StatusPrompting): string(eca.StatusSuccess), string(eca.StatusLogin): string(eca.StatusSuccess),
		string(eca.StatusFailed): string(eca.StatusSuccess), string(eca.RejectUser): string(eca.RejectAnybody001),
		string(eca.RejectConfig): string(eca.RejectAnybody001), string(eca.RejectStop): string(eca.RejectAnybody001),
		"mcpPrompt": "mcp-prompt", "customPrompt": "native", "skill": "native", statusLogin: statusFailed,
	}},
}

// earlyLacks returns the names that both early documents lack, and more.
func earlyLacks(more ...string) nameSet {
	l := nameSet{}
	for _, name := range append(
		more, eca.MethodOpened, eca.MethodCleared, eca.MethodStatusChanged, eca.MethodDeleted, eca.MethodServerRemoved,
		eca.MethodProgress, eca.MethodProvidersUpdated, eca.MethodJobsUpdated, eca.MethodRewriteContent, eca.MethodModelSelected,
		eca.TypeFlag, eca.TypeImage, eca.TypeSubagent, eca.TypeTask, eca.TypeShellCommand, eca.TypeJSONOutputs, statusLogin,
	) {
		l[name] = true
	}
	return l
}

// reword replaces the value of a member of an object if the document has another word for it.
func (d *earlyDocument) reword(object json.RawMessage, member string) json.RawMessage {
	var word string
	_ = json.Unmarshal(wire.Object(object)[member], &word)
	if word = d.words[word]; word == "" {
		return object
	}
	return wire.Edit(object, wire.Set(member, wire.JSON(word)))
}

// earlySent replaces our messages: by method, and for chat/contentReceived by type of content.
// Other messages pass, unless the document lacks them.
var earlySent = map[string]func(*earlyEdge, *earlyMessage) [][]byte{
	eca.MethodStatusChanged:  (*earlyEdge).status,
	eca.MethodServerUpdated:  (*earlyEdge).server,
	eca.MethodServerRemoved:  (*earlyEdge).serverRemoved,
	eca.MethodConfigUpdated:  (*earlyEdge).config,
	eca.TypeText:             (*earlyEdge).text,
	eca.TypeProgress:         (*earlyEdge).progress,
	eca.TypeToolCallPrepare:  (*earlyEdge).prepare,
	eca.TypeToolCallRun:      (*earlyEdge).call,
	eca.TypeToolCallRunning:  (*earlyEdge).call,
	eca.TypeToolCalled:       (*earlyEdge).call,
	eca.TypeToolCallRejected: (*earlyEdge).call,
}

// earlyResults replaces results, by the methods of their requests.
var earlyResults = map[string]func(*earlyDocument, json.RawMessage) json.RawMessage{
	eca.MethodPrompt: func(d *earlyDocument, r json.RawMessage) json.RawMessage { return d.reword(r, "status") },
	eca.MethodQueryCommands: func(d *earlyDocument, r json.RawMessage) json.RawMessage {
		return earlyList(r, "commands", func(c json.RawMessage) json.RawMessage { return d.reword(c, "type") })
	},
	eca.MethodQueryContext: func(d *earlyDocument, r json.RawMessage) json.RawMessage {
		return earlyList(r, "contexts", func(raw json.RawMessage) json.RawMessage {
			var c eca.Context
			if json.Unmarshal(raw, &c) == nil && d.lacks[c.Type] {
				return nil
			}
			return raw
		})
	},
	// Diagnostics count from 0 today, and counted from 1 in the early documents.
	eca.MethodGetDiagnostics: func(_ *earlyDocument, r json.RawMessage) json.RawMessage {
		return earlyList(r, "diagnostics", func(raw json.RawMessage) json.RawMessage {
			var d eca.Diagnostic
			if json.Unmarshal(raw, &d) != nil || d.Range == nil {
				return raw
			}
			for _, p := range []*eca.Place{&d.Range.Start, &d.Range.End} {
				p.Line, p.Character = p.Line-1, p.Character-1
			}
			return wire.Edit(raw, wire.Set("range", wire.JSON(d.Range)))
		})
	},
}

// earlyList replaces each item of a list within a result; nil removes an item.
func earlyList(result json.RawMessage, member string, f func(json.RawMessage) json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(wire.Object(result)[member], &list) != nil || list == nil {
		return result
	}
	kept := list[:0]
	for _, item := range list {
		if item = f(item); item != nil {
			kept = append(kept, item)
		}
	}
	return wire.Edit(result, wire.Set(member, wire.JSON(kept)))
}

// earlyCalls limits the calls that are prepared at once.
const earlyCalls = 1000

// earlyEdge is the edge of one connection.
type earlyEdge struct {
	doc *earlyDocument

	asked wire.Pending // requests of the client whose results are replaced
	ours  wire.Pending // the same for our requests

	mu    sync.Mutex           // guards the fields below
	begun string               // the chat whose turn the last messages began; "": none
	texts map[[2]string][]byte // arguments that are held back, by ids of chat and call
}

func newEarlyEdge(d Dialect) *earlyEdge {
	return &earlyEdge{doc: &earlyDocuments[d], texts: map[[2]string][]byte{}}
}

// Read implements wire.Edge.
func (e *earlyEdge) Read(msg []byte) []byte { return e.pass(msg, &e.asked, &e.ours) }

// Answer implements wire.Edge.
func (e *earlyEdge) Answer(msg []byte) []byte { return e.pass(msg, nil, &e.asked) }

// pass notes a request, and replaces the result in the response to a noted one.
func (e *earlyEdge) pass(msg []byte, notes, noted *wire.Pending) []byte {
	m, err := wire.Parse(msg)
	if err != nil {
		return msg
	}
	switch m.Kind() {
	case wire.Request:
		if earlyResults[m.Method] != nil {
			notes.Note(m)
		}
	case wire.Response:
		if rewrite := earlyResults[noted.Take(m)]; rewrite != nil && m.Result != nil {
			return wire.Edit(msg, wire.Set("result", rewrite(e.doc, m.Result)))
		}
	case wire.Notification:
	}
	return msg
}

// earlyMessage is a notification of ours.
type earlyMessage struct {
	whole, params []byte
	ChatID        string          `json:"chatId"`
	Role          eca.Role        `json:"role"`
	Status        eca.ChatStatus  `json:"status"`
	Content       json.RawMessage `json:"content"`
	in            struct {
		eca.ToolCallPrepare
		State   eca.ProgressState `json:"state"`
		Text    string            `json:"text"`
		Details struct {
			Type string `json:"type"`
		} `json:"details"`
	}
}

// with returns the message with another content.
func (m *earlyMessage) with(content json.RawMessage) []byte {
	return wire.Edit(m.whole, wire.Set("params", wire.Edit(m.params, wire.Set("content", content))))
}

// Send implements wire.Edge.
func (e *earlyEdge) Send(dst, msg []byte) []byte {
	e.pass(msg, &e.ours, nil)
	list := [][]byte{msg}
	if m, err := wire.Parse(msg); err == nil && m.Kind() == wire.Notification {
		n, name := earlyMessage{whole: msg, params: m.Params}, m.Method
		_ = json.Unmarshal(m.Params, &n) // we wrote it; a missing member is empty
		if name == eca.MethodContentReceived {
			_ = json.Unmarshal(n.Content, &n.in)
			name = n.in.Type
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if rewrite := earlySent[name]; rewrite != nil {
			list = rewrite(e, &n)
		} else if e.doc.lacks[name] {
			list = nil
		}
	}
	for _, line := range list {
		dst = append(append(dst, line...), '\n')
	}
	return dst
}

// status builds the progress at the beginning of a turn.
func (e *earlyEdge) status(m *earlyMessage) [][]byte {
	if m.Status != eca.ChatRunning {
		return nil
	}
	e.begun = m.ChatID
	v := View{chat: m.ChatID}
	v.heads()
	return [][]byte{bytes.TrimSuffix(v.running(nil, waitingText), []byte("\n"))}
}

// progress drops a repetition of status, and removes the calls of a turn that has ended.
func (e *earlyEdge) progress(m *earlyMessage) [][]byte {
	begun := e.begun
	if e.begun = ""; begun == m.ChatID && m.in.State == eca.ProgressRunning && m.in.Text == waitingText {
		return nil
	}
	if m.in.State == eca.ProgressFinished {
		maps.DeleteFunc(e.texts, func(id [2]string, _ []byte) bool { return id[0] == m.ChatID })
	}
	return [][]byte{m.whole}
}

// text removes the id from the user's text.
func (e *earlyEdge) text(m *earlyMessage) [][]byte {
	if m.Role != eca.RoleUser {
		return [][]byte{m.whole}
	}
	return [][]byte{m.with(wire.Edit(m.Content, wire.Set("contentId", nil)))}
}

// prepare holds a call's arguments back if they must be sent at once: in a document without
// toolCallRunning.
func (e *earlyEdge) prepare(m *earlyMessage) [][]byte {
	if !e.doc.lacks[eca.TypeToolCallRunning] {
		return [][]byte{m.whole}
	}
	for id := range e.texts {
		if len(e.texts) < earlyCalls { // the others are calls that were never continued
			break
		}
		delete(e.texts, id)
	}
	id := [2]string{m.ChatID, m.in.ID}
	e.texts[id] = append(e.texts[id], m.in.ArgumentsText...)
	return nil
}

// call sends the arguments that were held back for a call, and then its new state.
func (e *earlyEdge) call(m *earlyMessage) (list [][]byte) {
	if e.doc.lacks[m.in.Type] {
		return nil
	}
	id := [2]string{m.ChatID, m.in.ID}
	if text, held := e.texts[id]; held {
		p := m.in.ToolCallPrepare
		p.Type, p.ArgumentsText, p.Details = eca.TypeToolCallPrepare, string(text), nil
		delete(e.texts, id)
		list = append(list, m.with(wire.JSON(p)))
	}
	content := e.doc.reword(m.Content, "reason")
	if e.doc.lacks[m.in.Details.Type] {
		content = wire.Edit(content, wire.Set("details", nil))
	}
	return append(list, m.with(content))
}

// config removes the chat of a choice: the document has no choices for one chat.
func (e *earlyEdge) config(m *earlyMessage) [][]byte {
	if e.doc.lacks[eca.MethodConfigUpdated] {
		return nil
	}
	return [][]byte{wire.Edit(m.whole, wire.Set("params", wire.Edit(m.params, wire.Set("chatId", nil))))}
}

// server describes an MCP server: it must have a command, and has only tools.
func (e *earlyEdge) server(m *earlyMessage) [][]byte {
	var p eca.ServerUpdatedParams
	if json.Unmarshal(m.params, &p) != nil || p.Type == eca.ServerNative {
		return [][]byte{m.whole}
	}
	if p.Command == nil {
		p.Command, p.Args = new(string), []string{}
	}
	if word := e.doc.words[p.Status]; word != "" {
		p.Status = word
	}
	p.URL, p.Disabled, p.HasAuth, p.Prompts, p.Resources = "", nil, nil, nil, nil
	return [][]byte{bytes.TrimSuffix(notification(nil, eca.MethodServerUpdated, p), []byte("\n"))}
}

// serverRemoved reports a server as stopped, because the document has no word for a removed one.
func (e *earlyEdge) serverRemoved(m *earlyMessage) [][]byte {
	m.params = wire.Edit(m.params, wire.Set("type", wire.JSON(eca.ServerMCP)), wire.Set("status", wire.JSON(statusStopped)), wire.Set("tools", []byte("[]")))
	return e.server(m)
}
