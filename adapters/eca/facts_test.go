package eca_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// clientState is the state of a client in a conversation so far, with respect to the known causes
// of failures.
type clientState struct {
	t       *testing.T
	where   string
	met     map[string]int // the number of checks of each fact
	client  string
	early   bool
	asked   map[string]string // requests → methods
	chats   map[string]bool   // known to the client
	calls   map[string]*callText
	ready   bool // the server has sent more than initialize
	unnamed int  // number of prompts without a chat: the server creates one
	started int  // number of running tasks of the start
	ended   int
	running map[string]bool // chats that the client shows as running
}

// callText is the received part of a call: the text of its arguments.
type callText struct{ text string }

// fact records a check of a fact, and its result.
func (h *clientState) fact(name string, holds bool, line string) {
	h.t.Helper()
	h.met[name]++
	if !holds {
		h.t.Errorf("%s: %s: %.300s", h.where, name, line)
	}
}

// Known causes of clients' failures, in the words of the failure.
const (
	factWelcome    = "the answer to initialize has a welcome message"
	factNoNull     = "a success has no member error, a notification no id, an answer no method"
	factKnownChat  = "nothing is said of a chat that the client does not know"
	factPrepared   = "a call begins with toolCallPrepare"
	factNames      = "toolCallPrepare has id, name and server"
	factDelta      = "the text of arguments is said once"
	factObject     = "arguments are an object"
	factFinished   = "every turn ends with progress finished"
	factStatus     = "statusChanged idle stands in front of progress finished"
	factProgress   = "progress has a text"
	factOutputs    = "a result has at least one output, with its text once, or under both names for an early document"
	factUsage      = "usage has sessionTokens as a number, and costs as texts"
	factURL        = "url has a title"
	factDiff       = "a change has its diff as a text"
	factPercent    = "a message has no % for Emacs"
	factProviders  = "a provider has a status and models with capabilities"
	factSuperset   = "config/updated has both families, and what is selected"
	factBehaviors  = "behaviors begin with agent and plan"
	factTask       = "eca, task is the plan"
	factQuiet      = "nothing is said before the client has heard the answer to initialize"
	factTasks      = "all tasks start before one ends"
	factServer     = "an early client is told a server's command, arguments and one of five states"
	factEarlyOrder = "an early turn begins with progress running, the user's text, the answer"
	factReject     = "a call that is rejected tells why in the document's word"
)

func (h *clientState) line(side, text string) {
	var m wireMessage
	if json.Unmarshal([]byte(text), &m) != nil {
		return
	}
	params, _ := m.Params.(map[string]any)
	if side == ">" {
		h.said(m, params, text)
		return
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		h.t.Errorf("%s: %v: %.300s", h.where, err, text)
		return
	}
	_, id := raw["id"]
	unread := bytes.Equal(raw["id"], []byte("null")) && // JSON-RPC requires it
		(strings.Contains(text, `"code":-32700`) || strings.Contains(text, `"code":-32600`))
	_, method := raw["method"]
	_, result := raw["result"]
	_, failed := raw["error"]
	switch {
	case method && !id:
		h.fact(factNoNull, !result && !failed, text)
		h.notified(m.Method, params, text)
	case method:
		h.fact(factNoNull, string(raw["id"]) != "null" && !result && !failed, text)
	default:
		h.fact(factNoNull, id && result != failed && (unread || string(raw["id"]) != "null"), text)
		h.answered(m, text)
	}
}

// said handles a message of the client.
func (h *clientState) said(m wireMessage, params map[string]any, text string) {
	if m.ID != nil && m.Method != "" {
		h.asked[string(m.ID)] = m.Method
	}
	if id, ok := params["chatId"].(string); ok {
		h.chats[id] = true
	}
	if id, ok := params["chat-id"].(string); ok {
		h.chats[id] = true
	}
	switch m.Method {
	case "initialize":
		if h.client == "" {
			info, _ := params["clientInfo"].(map[string]any)
			h.client, _ = info["name"].(string)
			h.early = documentOf("\n"+text+"\n") != "now"
		}
	case "chat/prompt":
		if _, named := params["chatId"].(string); !named && params["chat-id"] == nil {
			h.unnamed++
		}
	}
	h.ready = h.ready || m.Method != "initialize"
}

func (h *clientState) answered(m wireMessage, text string) {
	result, _ := m.Result.(map[string]any)
	switch h.asked[string(m.ID)] {
	case "initialize":
		if m.Error == nil {
			welcome, _ := result["chatWelcomeMessage"].(string)
			h.fact(factWelcome, welcome != "", text)
			h.behaviors(result["chatBehaviors"], text)
		}
	case "chat/prompt":
		if id, ok := result["chatId"].(string); ok {
			h.chats[id] = true
		}
	case "providers/list":
		for _, p := range list(result["providers"]) {
			auth, _ := p["auth"].(map[string]any)
			status, _ := auth["status"].(string)
			models, ok := p["models"].([]any)
			for _, model := range list(p["models"]) {
				_, is := model["capabilities"].(map[string]any)
				ok = ok && is
			}
			h.fact(factProviders, status != "" && ok && models != nil, text)
		}
	}
}

func list(v any) (out []map[string]any) {
	all, _ := v.([]any)
	for _, e := range all {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

func (h *clientState) behaviors(v any, text string) {
	all, _ := v.([]any)
	h.fact(factBehaviors, len(all) > 1 && all[0] == "agent" && all[1] == "plan", text)
}

func (h *clientState) notified(method string, params map[string]any, text string) {
	h.fact(factQuiet, h.ready, text)
	chat, _ := params["chatId"].(string)
	switch method {
	case "chat/opened":
		h.chats[chat] = true
	case "chat/cleared":
		for id := range h.calls {
			if strings.HasPrefix(id, chat+"\n") {
				delete(h.calls, id)
			}
		}
	case "chat/statusChanged":
		h.running[chat] = params["status"] == "running"
		h.fact(factStatus, true, text)
	case "chat/contentReceived":
		parent, child := params["parentChatId"].(string)
		if !h.chats[chat] && h.unnamed > 0 {
			h.unnamed--
			h.chats[chat] = true
		}
		h.fact(factKnownChat, h.chats[chat] || child && h.chats[parent] || h.early, text)
		content, _ := params["content"].(map[string]any)
		h.content(chat, content, text)
	case "$/progress":
		if params["type"] == "start" {
			h.fact(factTasks, h.ended == 0, text)
			h.started++
		} else {
			h.ended++
		}
	case "$/showMessage":
		if h.client == "emacs" {
			said, _ := params["message"].(string)
			h.fact(factPercent, !strings.Contains(strings.ReplaceAll(said, "%%", ""), "%"), text)
		}
	case "config/updated":
		c, _ := params["chat"].(map[string]any)
		for _, name := range []string{"models", "selectModel", "agents", "selectAgent", "behaviors", "selectBehavior", "variants", "selectVariant", "selectTrust"} {
			_, there := c[name]
			h.fact(factSuperset, there, text)
		}
		h.behaviors(c["behaviors"], text)
	case "tool/serverUpdated":
		if h.early && params["type"] == "mcp" {
			_, command := params["command"].(string)
			_, args := params["args"].([]any)
			h.fact(factServer, command && args && slices.Contains([]any{"running", "starting", "stopped", "failed", "disabled"}, params["status"]), text)
		}
	}
}

func (h *clientState) content(chat string, content map[string]any, text string) {
	kind, _ := content["type"].(string)
	details, _ := content["details"].(map[string]any)
	switch kind {
	case "progress":
		_, ok := content["text"].(string)
		h.fact(factProgress, ok, text)
		if content["state"] == "finished" {
			h.fact(factFinished, !h.running[chat], text) // idle was reported before
		}
	case "usage":
		_, total := content["sessionTokens"].(float64)
		for _, name := range []string{"messageCost", "lastMessageCost", "sessionCost"} {
			_, ok := content[name].(string)
			total = total && (ok || content[name] == nil)
		}
		h.fact(factUsage, total, text)
	case "url":
		title, _ := content["title"].(string)
		h.fact(factURL, title != "", text)
	case "toolCallPrepare", "toolCallRun", "toolCallRunning", "toolCalled", "toolCallRejected":
		h.call(chat, kind, content, details, text)
	}
	if details["type"] == "fileChange" {
		_, ok := details["diff"].(string)
		h.fact(factDiff, ok, text)
	}
}

func (h *clientState) call(chat, kind string, content, details map[string]any, text string) {
	id, _ := content["id"].(string)
	key := chat + "\n" + id
	c := h.calls[key]
	if kind == "toolCallPrepare" {
		name, _ := content["name"].(string)
		server, _ := content["server"].(string)
		h.fact(factNames, id != "" && name != "" && server != "", text)
		if c == nil {
			c = &callText{}
			h.calls[key] = c
		}
		part, _ := content["argumentsText"].(string)
		c.text += part
	} else {
		h.fact(factPrepared, c != nil, text)
		args, ok := content["arguments"].(map[string]any)
		h.fact(factObject, ok, text)
		if c != nil {
			var said map[string]any
			if json.Unmarshal([]byte(c.text), &said) == nil { // a model may write something other than an object
				h.fact(factDelta, reflect.DeepEqual(said, args), text)
			}
		}
	}
	switch kind {
	case "toolCalled":
		outputs := list(content["outputs"])
		ok := len(outputs) > 0
		for _, o := range outputs {
			ok = ok && o["text"] != nil && (h.early && o["text"] == o["content"] || !h.early && o["content"] == nil)
		}
		h.fact(factOutputs, ok, text)
	case "toolCallRejected":
		reason, _ := content["reason"].(string)
		h.fact(factReject, reason != "", text)
	}
	if content["server"] == "eca" && content["name"] == "task" && kind != "toolCallPrepare" {
		h.fact(factTask, (details["type"] == "task") == !h.early && content["manualApproval"] != true, text)
	}
}

// order checks the beginnings of an early client's turns.
func (h *clientState) order(talk string) {
	if !h.early {
		return
	}
	lines := strings.Split(talk, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "<- ") && strings.Contains(line, `"status":"`+map[bool]string{true: "success", false: "prompting"}[documentOf(talk) == "001"]) && strings.Contains(line, `"result":{"chatId"`) && i > 1 {
			h.fact(factEarlyOrder, strings.Contains(lines[i-2], `"state":"running"`) && strings.Contains(lines[i-1], `"role":"user"`) ||
				strings.Contains(lines[i-1], `"state":"running"`), line) // the user has sent nothing
		}
	}
}

// No recorded conversation contains a known cause of a client's failure, and each cause could
// occur in one.
func TestNoConversationBreaksAClient(t *testing.T) {
	met := map[string]int{}
	conversations(t, func(file, name, talk string) {
		h := &clientState{
			t: t, where: file + ", " + name, met: met, asked: map[string]string{}, chats: map[string]bool{},
			calls: map[string]*callText{}, running: map[string]bool{},
		}
		for line := range strings.Lines(talk) {
			if text, ok := strings.CutPrefix(line, "<- "); ok {
				h.line("<", text)
			} else if text, ok := strings.CutPrefix(line, "-> "); ok {
				h.line(">", text)
			}
		}
		h.order(talk)
	})
	for _, fact := range []string{
		factWelcome, factNoNull, factKnownChat, factPrepared, factNames, factDelta, factObject, factFinished, factStatus, factProgress, factOutputs,
		factUsage, factURL, factDiff, factPercent, factProviders, factSuperset, factBehaviors, factTask, factQuiet, factTasks, factServer, factEarlyOrder, factReject,
	} {
		if met[fact] == 0 {
			t.Errorf("no conversation could show that %s", fact)
		}
	}
}

// Every other need of clients is in a conversation, by its text, or has a test of its own.
func TestNeedsOfClientsAreTested(t *testing.T) {
	for fact, where := range map[string]string{
		"the client names the chat, at its first prompt":       `plain_text: "method":"chat/opened","params":{"chatId":"c1"}`,
		"without a name one is made":                           `document_000: "chatId":"minted-1"`,
		"names with hyphens are taken":                         `bad_input: "chat-id":"c2","request-id":7`,
		"params may be null":                                   `bad_input: "method":"jobs/list","params":null`,
		"params may be absent":                                 `bad_input: "method":"providers/list"}`,
		"requestId is no more than an unknown field":           `document_001: "requestId":"r"`,
		"a model may be null":                                  "func TestHostileMessages",
		"all is stored before shutdown is answered":            "func TestShutdownStoresFirst",
		"shutdown is answered soon":                            "func TestShutdownDoesNotHang",
		"the working directory is not the workspace":           "func TestFoldersChange",
		"folders are percent-decoded, with or without a slash": "func TestRoots",
		"an unknown chat is not found":                         `reload: "found":false`,
		"a stop is heard at once":                              "func TestStopIsNeverLost",
		"a stop with nothing to stop ends the loading":         "stop: \"progress\",\"state\":\"finished\"",
		"Emacs has a rest behind an answer":                    "func TestGapForEmacs",
		"deltas are joined":                                    "func TestDeltasAreJoined",
		"a client that does not read loses nothing":            "func TestClientThatDoesNotRead",
		"the process of the client is watched":                 "func TestProcess",
		"one that is not there is not":                         `document_000: "processId":99999`,
		"didChangeWorkspaceFolders is heard":                   `bad_input: "method":"workspace/didChangeWorkspaceFolders"`,
		"serverInfo tells the version":                         `plain_text: "serverInfo":{"name":"dragoman","version":"1.2.3"}`,
		"a removed server is told of":                          `document_now: "method":"tool/serverRemoved"`,
		"contents of a subagent name their parent":             `subagent: "parentChatId"`,
		"an editor that answers nonsense breaks nothing":       `editor: "result":"ECA :: Unknown server request"`,
		"approvals of what does not wait are nothing":          "func TestHostileMessages",
		"a pending steer is dropped with its turn":             `steer: "method":"chat/promptSteerRemove"`,
		"the exit code tells whether shutdown was asked for":   "func TestResultOfServe",
		"a log that cannot be written is told":                 "func TestShutdownReportsAFailedStore",
		"an open turn is told of in a replay":                  "func TestTwoClients",
		"a history is paged":                                   `pages: "beforeCursor"`,
		"a cursor that is none is cursor_expired":              `pages: "code":"cursor_expired"`,
	} {
		if name, ok := strings.CutPrefix(where, "func "); ok {
			if !inTests(t, "func "+name+"(t *testing.T)") {
				t.Errorf("%s: there is no test %s", fact, name)
			}
			continue
		}
		file, part, _ := strings.Cut(where, ": ")
		text, err := os.ReadFile(filepath.Join("testdata", file+".txtar"))
		if err != nil || !bytes.Contains(text, []byte(part)) {
			t.Errorf("%s: not in %s (%v)", fact, file, err)
		}
	}
}

func inTests(t *testing.T, text string) bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	below, err2 := filepath.Glob("*/*_test.go")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, below...) {
		if source, err := os.ReadFile(filepath.Clean(file)); err == nil && bytes.Contains(source, []byte(text)) {
			return true
		}
	}
	return false
}
