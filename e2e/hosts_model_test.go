package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// hostModel is the model behind a host. It speaks the wire formats of four services, and plays the
// part of a model that is told to have dragoman do something. It is the host's proxy as well, one that
// lets nothing through.
type hostModel struct {
	url string
	// play returns what the model does next. results are what the tools have told it, in order.
	play func(results []string) step
	// marks is the end of the name of a tool that only requests of the agent itself have: others are for titles and the like.
	marks string

	mu      sync.Mutex
	played  int      // how often play was called
	results []string // of the newest request
	outside []string // the addresses that the host has tried to reach
}

// step is an answer of the model: a call of one of dragoman's tools, or a text.
type step struct {
	tool string
	args object
	text string
}

// hostTool is a tool as the host names it; Codex groups tools into namespaces.
type hostTool struct{ namespace, name string }

// wireFormat is the format of a service of models.
type wireFormat struct {
	path    string // the end of the URL's path
	tools   func(request object) []hostTool
	results func(request object) []string
	answer  func(w *events, s step, t hostTool) // t is the tool of s
}

var wireFormats = []wireFormat{
	{"/messages", anthropicTools, anthropicResults, anthropicAnswer},
	{"/responses", responsesTools, responsesResults, responsesAnswer},
	{":streamGenerateContent", geminiTools, geminiResults, geminiAnswer},
	{"/chat/completions", chatTools, chatResults, chatAnswer},
}

func newHostModel(t *testing.T, play func(results []string) step) *hostModel {
	t.Helper()
	m := &hostModel{play: play, marks: "agent_prompt"}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.url = s.URL
	return m
}

func (m *hostModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect || r.URL.IsAbs() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.outside = append(m.outside, r.Host)
		http.Error(w, "nothing is let through", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(r.Body)
	i := slices.IndexFunc(wireFormats, func(f wireFormat) bool { return strings.HasSuffix(r.URL.Path, f.path) })
	var request object
	if err != nil || i < 0 || json.Unmarshal(body, &request) != nil {
		http.NotFound(w, r) // hosts ask for much else, and go on without it
		return
	}
	f, s := wireFormats[i], step{text: "A title"}
	tools := f.tools(request)
	if offered(tools, m.marks) != (hostTool{}) {
		results := f.results(request)
		m.mu.Lock()
		m.results = results
		m.played++
		m.mu.Unlock()
		s = m.play(results)
	}
	f.answer(&events{w}, s, offered(tools, s.tool))
}

// offered returns the tool that a host has named after one of dragoman's.
func offered(tools []hostTool, name string) hostTool {
	i := slices.IndexFunc(tools, func(t hostTool) bool { return name != "" && strings.HasSuffix(t.name, name) })
	if i < 0 {
		return hostTool{}
	}
	return tools[i]
}

// seen returns what the tools have told the model, and the addresses that the host has tried to reach.
func (m *hostModel) seen() (results, outside []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.results, m.outside
}

// plays returns how often the model was asked with the tools that mark its requests.
func (m *hostModel) plays() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.played
}

// events is an answer as server-sent events.
type events struct{ w http.ResponseWriter }

// send writes an event with its type as its name, which some services want.
func (s *events) send(data object) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	if kind, ok := data["type"]; ok {
		fmt.Fprintf(s.w, "event: %s\n", kind)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", asJSON(data))
}

// objectsAt lists the objects at a path of a JSON value. Arrays on the way are entered.
func objectsAt(at any, path ...string) (found []object) {
	switch at := at.(type) {
	case []any:
		for _, item := range at {
			found = append(found, objectsAt(item, path...)...)
		}
	case object:
		if len(path) == 0 {
			return []object{at}
		}
		return objectsAt(at[path[0]], path[1:]...)
	}
	return found
}

// named lists the tools of declarations.
func named(namespace string, declared []object) (tools []hostTool) {
	for _, d := range declared {
		tools = append(tools, hostTool{namespace, fmt.Sprint(d["name"])})
	}
	return tools
}

// asJSON returns a value as JSON, and a text as it is.
func asJSON(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it consists of maps, lists and texts
	}
	return string(text)
}

// Anthropic's messages.

func anthropicTools(req object) []hostTool { return named("", objectsAt(req, "tools")) }

func anthropicResults(req object) (results []string) {
	for _, block := range objectsAt(req, "messages", "content") {
		if block["type"] == "tool_result" {
			results = append(results, asJSON(block["content"]))
		}
	}
	return results
}

func anthropicAnswer(w *events, s step, t hostTool) {
	block, delta, stop := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": s.text}, "end_turn"
	if s.tool != "" {
		block, stop = object{"type": "tool_use", "id": "toolu_" + s.tool, "name": t.name, "input": object{}}, "tool_use"
		delta = object{"type": "input_json_delta", "partial_json": asJSON(s.args)}
	}
	usage := object{"input_tokens": 10, "output_tokens": 10}
	w.send(object{"type": "message_start", "message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": []any{}, "stop_reason": nil, "usage": usage,
	}})
	w.send(object{"type": "content_block_start", "index": 0, "content_block": block})
	w.send(object{"type": "content_block_delta", "index": 0, "delta": delta})
	w.send(object{"type": "content_block_stop", "index": 0})
	w.send(object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": usage})
	w.send(object{"type": "message_stop"})
}

// OpenAI's responses, with Codex's namespaces of tools.

func responsesTools(req object) (tools []hostTool) {
	for _, d := range objectsAt(req, "tools") {
		if d["type"] == "namespace" {
			tools = append(tools, named(fmt.Sprint(d["name"]), objectsAt(d, "tools"))...)
		} else {
			tools = append(tools, named("", []object{d})...)
		}
	}
	return tools
}

func responsesResults(req object) (results []string) {
	for _, item := range objectsAt(req, "input") {
		if item["type"] == "function_call_output" {
			results = append(results, asJSON(item["output"]))
		}
	}
	return results
}

func responsesAnswer(w *events, s step, t hostTool) {
	item := object{"type": "message", "id": "item_1", "role": "assistant", "content": []any{object{"type": "output_text", "text": s.text}}}
	if s.tool != "" {
		item = object{"type": "function_call", "id": "item_1", "call_id": "call_" + s.tool, "namespace": t.namespace, "name": t.name, "arguments": asJSON(s.args)}
	}
	usage := object{"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
	w.send(object{"type": "response.created", "response": object{"id": "resp_1"}})
	w.send(object{"type": "response.output_item.done", "output_index": 0, "item": item})
	w.send(object{"type": "response.completed", "response": object{"id": "resp_1", "output": []any{item}, "usage": usage}})
}

// Google's generateContent.

func geminiTools(req object) []hostTool {
	return named("", objectsAt(req, "tools", "functionDeclarations"))
}

func geminiResults(req object) (results []string) {
	for _, response := range objectsAt(req, "contents", "parts", "functionResponse", "response") {
		results = append(results, asJSON(response))
	}
	return results
}

func geminiAnswer(w *events, s step, t hostTool) {
	part := object{"text": s.text}
	if s.tool != "" {
		part = object{"functionCall": object{"name": t.name, "args": s.args}}
	}
	w.send(object{
		"candidates":    []any{object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
	})
}

// OpenAI's chat completions.

func chatTools(req object) []hostTool { return named("", objectsAt(req, "tools", "function")) }

func chatResults(req object) (results []string) {
	for _, message := range objectsAt(req, "messages") {
		if message["role"] == "tool" {
			results = append(results, asJSON(message["content"]))
		}
	}
	return results
}

func chatAnswer(w *events, s step, t hostTool) {
	delta, stop := object{"role": "assistant", "content": s.text}, "stop"
	if s.tool != "" {
		call := object{"index": 0, "id": "call_" + s.tool, "type": "function", "function": object{"name": t.name, "arguments": asJSON(s.args)}}
		delta, stop = object{"role": "assistant", "tool_calls": []any{call}}, "tool_calls"
	}
	for _, choice := range []object{{"index": 0, "delta": delta, "finish_reason": nil}, {"index": 0, "delta": object{}, "finish_reason": stop}} {
		w.send(object{"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "mock", "choices": []any{choice}})
	}
	fmt.Fprint(w.w, "data: [DONE]\n\n")
}
