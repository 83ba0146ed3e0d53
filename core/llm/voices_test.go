package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// voice writes a wire format like its service, for the cases of the suite.
type voice interface {
	begin(w http.ResponseWriter) stream
	text(s stream, pieces ...string) bool
	thought(s stream, pieces ...string)
	calls(s stream) // two, with interleaved pieces, after "Let me look."
	call(s stream, pieces ...string)
	// end ends the answer; u holds in, out, cached and reasoning.
	end(s stream, reason string, u [4]int)
	report(s stream) // that the service is overloaded
	alive(s stream) bool
	fail(w http.ResponseWriter, status int, message, kind string)
	image(body []byte) string // MIME:BASE64
	key(r *http.Request) string
}

// speaks is a service of the suite with a voice.
func speaks(v voice, c coretest.ModelCase, w http.ResponseWriter, r *http.Request, body []byte) {
	const stop, calls = "stop", "calls"
	u := [4]int{12, 3, 0, 0}
	switch c {
	case coretest.ModelText:
		s := v.begin(w)
		v.text(s, "Hello", ", ", "world.")
		v.end(s, stop, u)
	case coretest.ModelThought:
		s := v.begin(w)
		v.thought(s, "First ", "I think.")
		v.text(s, "42")
		v.end(s, stop, u)
	case coretest.ModelCall:
		s := v.begin(w)
		v.call(s, `{"city":`, `"Zürich"}`)
		v.end(s, calls, u)
	case coretest.ModelBadArgs:
		s := v.begin(w)
		v.call(s, `{"city":`)
		v.end(s, calls, u)
	case coretest.ModelParallel:
		s := v.begin(w)
		v.calls(s)
		v.end(s, calls, u)
	case coretest.ModelEndless:
		for s := v.begin(w); v.text(s, "word ", "word "); {
		}
	case coretest.ModelMute:
		<-r.Context().Done()
	case coretest.ModelRateLimit:
		w.Header().Set("Retry-After", "3")
		v.fail(w, 429, "slow down", "rate_limit_error")
	case coretest.ModelLongWait:
		w.Header().Set("Retry-After", "3600")
		v.fail(w, 429, "slow down", "rate_limit_error")
	case coretest.ModelFlaky, coretest.ModelDown:
		v.fail(w, 500, "boom", "api_error")
	case coretest.ModelReset:
		v.text(v.begin(w), "ab", "cd")
		breakOff(w)
	case coretest.ModelCut:
		v.text(v.begin(w), "ab", "cd")
	case coretest.ModelReports:
		s := v.begin(w)
		v.text(s, "ab", "cd")
		v.report(s)
	case coretest.ModelLongLine:
		s := v.begin(w)
		v.text(s, strings.Repeat("x", 100<<10))
		v.end(s, stop, u)
	case coretest.ModelSlow:
		s := v.begin(w)
		for _, p := range []string{"a", "b", "c"} {
			v.text(s, p)
			for range 15 {
				if sleep(r.Context(), 20e9) != nil || !v.alive(s) {
					return
				}
			}
		}
		v.end(s, stop, u)
	case coretest.ModelStalls:
		v.text(v.begin(w), "abcd")
		<-r.Context().Done()
	case coretest.ModelImage:
		s := v.begin(w)
		v.text(s, v.image(body))
		v.end(s, stop, u)
	case coretest.ModelCached:
		s := v.begin(w)
		v.text(s, "ok")
		v.end(s, stop, [4]int{100, 7, 80, 5})
	case coretest.ModelOverflow:
		v.fail(w, 400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error")
	case coretest.ModelNoKey:
		v.fail(w, 401, "invalid key "+v.key(r), "authentication_error")
	}
}

// TestSuite runs every wire format except chat completions, which has its own cases,
// through the suite of models.
func TestSuite(t *testing.T) {
	for _, k := range []struct {
		kind  string
		voice func() voice
		not   map[coretest.ModelCase]string
	}{
		{KindAnthropic, func() voice { return &messagesVoice{} }, map[coretest.ModelCase]string{
			coretest.ModelCached: "it does not count reasoning",
		}},
		{KindOpenAIResponses, func() voice { return &responsesVoice{} }, nil},
		{KindOllama, func() voice { return ollamaVoice{} }, map[coretest.ModelCase]string{
			coretest.ModelCall: "calls come whole", coretest.ModelBadArgs: "arguments are JSON", coretest.ModelCached: "it counts neither",
			coretest.ModelSlow: "it has no sign of life",
		}},
	} {
		t.Run(k.kind, func(t *testing.T) {
			coretest.Model(t, func(t *testing.T, c coretest.ModelCase) inference.Model {
				if why := k.not[c]; why != "" {
					t.Skip(why)
				}
				var n atomic.Int32
				key := func(context.Context) (string, error) { return coretest.ModelSecret, nil }
				return model(t, serveAll(t, Provider{Kind: k.kind, Key: key, KeyHint: "Set SVC_KEY"}, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					say := c
					if n.Add(1) > 1 && c != coretest.ModelEndless && c != coretest.ModelMute && c != coretest.ModelDown && c != coretest.ModelCall {
						say = coretest.ModelText
					}
					speaks(k.voice(), say, w, r, body)
				}))
			})
		})
	}
}

// messagesVoice is Anthropic's.
type messagesVoice struct{ n int }

func (v *messagesVoice) say(s stream, name, data string) bool {
	return s.raw("event: " + name + "\ndata: " + data + "\n\n")
}

func (v *messagesVoice) begin(w http.ResponseWriter) stream {
	s := newStream(w)
	v.say(s, "message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"output_tokens":1}}}`)
	v.say(s, "ping", `{"type":"ping"}`)
	return s
}

func (v *messagesVoice) part(s stream, index int, head string, kind, field string, pieces []string) bool {
	v.say(s, "content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, head))
	ok := true
	for _, p := range pieces {
		ok = v.say(s, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, index, kind, field, quote(p)))
	}
	return ok
}

func (v *messagesVoice) stop(s stream, index int) {
	v.say(s, "content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

func (v *messagesVoice) text(s stream, pieces ...string) bool {
	ok := v.part(s, v.n, `{"type":"text","text":""}`, "text_delta", "text", pieces)
	v.stop(s, v.n)
	v.n++
	return ok
}

func (v *messagesVoice) thought(s stream, pieces ...string) {
	v.part(s, v.n, `{"type":"thinking","thinking":"","signature":""}`, "thinking_delta", "thinking", pieces)
	v.say(s, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":"sig"}}`, v.n))
	v.stop(s, v.n)
	v.n++
}

func (v *messagesVoice) tool(id, name string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, id, name)
}

func (v *messagesVoice) call(s stream, pieces ...string) {
	v.part(s, v.n, v.tool("call_1", "get_weather"), "input_json_delta", "partial_json", append([]string{""}, pieces...))
	v.stop(s, v.n)
}

func (v *messagesVoice) calls(s stream) {
	v.text(s, "Let me ", "look.")
	v.part(s, 1, v.tool("call_a", "get_weather"), "input_json_delta", "partial_json", []string{`{"city"`})
	v.part(s, 2, v.tool("call_b", "get_time"), "input_json_delta", "partial_json", []string{`{"tz":`})
	for i, p := range []string{`:"Bern"}`, `"CET"}`} {
		v.say(s, "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, i+1, quote(p)))
		v.stop(s, i+1)
	}
}

func (v *messagesVoice) end(s stream, reason string, u [4]int) {
	reason = map[string]string{"stop": "end_turn", "calls": "tool_use"}[reason]
	v.say(s, "message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}}`, reason, u[1]))
	v.say(s, "message_stop", `{"type":"message_stop"}`)
}

func (v *messagesVoice) report(s stream) {
	v.say(s, "error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
}

func (v *messagesVoice) alive(s stream) bool { return v.say(s, "ping", `{"type":"ping"}`) }

func (v *messagesVoice) fail(w http.ResponseWriter, status int, message, kind string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%s,"message":%s}}`, quote(kind), quote(message))
}

func (v *messagesVoice) key(r *http.Request) string { return r.Header.Get("X-Api-Key") }

func (v *messagesVoice) image(body []byte) string {
	var req struct{ Messages []messagesMessage }
	if json.Unmarshal(body, &req) != nil || len(req.Messages) != 1 || len(req.Messages[0].Content) != 2 {
		return "not as expected: " + string(body)
	}
	src := req.Messages[0].Content[1].Source
	return src.MediaType + ":" + src.Data
}

// responsesVoice is OpenAI's for responses.
type responsesVoice struct{ n int }

func (v *responsesVoice) begin(w http.ResponseWriter) stream {
	s := newStream(w)
	s.data(`{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}`)
	return s
}

func (v *responsesVoice) text(s stream, pieces ...string) bool {
	s.data(fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`, v.n))
	ok := true
	for _, p := range pieces {
		ok = s.data(fmt.Sprintf(`{"type":"response.output_text.delta","output_index":%d,"content_index":0,"delta":%s}`, v.n, quote(p)))
	}
	s.data(fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":%s}]}}`,
		v.n, quote(strings.Join(pieces, ""))))
	v.n++
	return ok
}

func (v *responsesVoice) thought(s stream, pieces ...string) {
	s.data(fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`, v.n))
	for _, p := range pieces {
		s.data(fmt.Sprintf(`{"type":"response.reasoning_summary_text.delta","output_index":%d,"summary_index":0,"delta":%s}`, v.n, quote(p)))
	}
	s.data(fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"abc"}}`, v.n))
	v.n++
}

func (v *responsesVoice) open(s stream, index int, id, name string) {
	s.data(fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":%q,"name":%q,"arguments":""}}`, index, index, id, name))
}

func (v *responsesVoice) args(s stream, index int, piece string) {
	s.data(fmt.Sprintf(`{"type":"response.function_call_arguments.delta","output_index":%d,"delta":%s}`, index, quote(piece)))
}

func (v *responsesVoice) close(s stream, index int, id, name, args string) {
	s.data(fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"function_call","call_id":%q,"name":%q,"arguments":%s}}`, index, id, name, quote(args)))
}

func (v *responsesVoice) call(s stream, pieces ...string) {
	v.open(s, v.n, "call_1", "get_weather")
	for _, p := range pieces {
		v.args(s, v.n, p)
	}
	v.close(s, v.n, "call_1", "get_weather", strings.Join(pieces, ""))
}

func (v *responsesVoice) calls(s stream) {
	v.text(s, "Let me ", "look.")
	v.open(s, 1, "call_a", "get_weather")
	v.open(s, 2, "call_b", "get_time")
	v.args(s, 1, `{"city"`)
	v.args(s, 2, `{"tz":`)
	v.args(s, 1, `:"Bern"}`)
	v.args(s, 2, `"CET"}`)
	v.close(s, 1, "call_a", "get_weather", `{"city":"Bern"}`)
	v.close(s, 2, "call_b", "get_time", `{"tz":"CET"}`)
}

func (v *responsesVoice) end(s stream, _ string, u [4]int) {
	s.data(fmt.Sprintf(`{"type":"response.completed","response":{"object":"response","status":"completed","usage":{"input_tokens":%d,"output_tokens":%d,`+
		`"input_tokens_details":{"cached_tokens":%d},"output_tokens_details":{"reasoning_tokens":%d}}}}`, u[0], u[1], u[2], u[3]))
}

func (v *responsesVoice) report(s stream) {
	s.data(`{"type":"response.failed","response":{"object":"response","status":"failed","error":{"code":"server_is_overloaded","message":"Overloaded"}}}`)
}

func (v *responsesVoice) alive(s stream) bool { return s.raw(": ping\n\n") }

func (v *responsesVoice) fail(w http.ResponseWriter, status int, message, kind string) {
	fail(w, status, message, kind)
}

func (v *responsesVoice) key(r *http.Request) string { return r.Header.Get("Authorization") }

func (v *responsesVoice) image(body []byte) string {
	_, rest, _ := strings.Cut(string(body), `"image_url":"data:`)
	url, _, _ := strings.Cut(rest, `"`)
	return strings.Replace(url, ";base64,", ":", 1)
}

// ollamaVoice is Ollama's.
type ollamaVoice struct{}

func (ollamaVoice) begin(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	s := stream{w}
	s.flush()
	return s
}

func (ollamaVoice) line(s stream, message string) bool {
	return s.raw(`{"model":"m","message":{"role":"assistant",` + message + `},"done":false}` + "\n")
}

func (v ollamaVoice) text(s stream, pieces ...string) bool {
	ok := true
	for _, p := range pieces {
		ok = v.line(s, `"content":`+quote(p))
	}
	return ok
}

func (v ollamaVoice) thought(s stream, pieces ...string) {
	for _, p := range pieces {
		v.line(s, `"content":"","thinking":`+quote(p))
	}
}

func (v ollamaVoice) call(stream, ...string) {}

func (v ollamaVoice) calls(s stream) {
	v.text(s, "Let me ", "look.")
	v.line(s, `"content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Bern"}}},{"function":{"name":"get_time","arguments":{"tz":"CET"}}}]`)
}

func (ollamaVoice) end(s stream, _ string, u [4]int) {
	s.raw(fmt.Sprintf(`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":%d,"eval_count":%d}`+"\n", u[0], u[1]))
}

func (ollamaVoice) report(s stream) { s.raw(`{"error":"the model is overloaded"}` + "\n") }

func (ollamaVoice) alive(stream) bool { return true }

func (ollamaVoice) fail(w http.ResponseWriter, status int, message, _ string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%s}`, quote(message))
}

func (ollamaVoice) key(r *http.Request) string { return r.Header.Get("Authorization") }

func (ollamaVoice) image(body []byte) string {
	var req struct{ Messages []ollamaMessage }
	if json.Unmarshal(body, &req) != nil || len(req.Messages) != 2 || len(req.Messages[1].Images) != 1 {
		return "not as expected: " + string(body)
	}
	return "image/png:" + req.Messages[1].Images[0]
}
